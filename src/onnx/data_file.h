#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "support/write_behind.h"

namespace t2o::onnx {

// The weights that a model, or several, have in one file beside them, and where.
class DataFile {
 public:
  explicit DataFile(std::string location = "") : location_(std::move(location)) {}
  const std::string& location() const { return location_; }  // its name, as models refer to it
  void add(const Value& weight);
  void add_same(const Value& weight, const Value& as) { offsets_[&weight] = offsets_.at(&as); }
  std::optional<std::uint64_t> offset(const Value& weight) const;  // none: the weight is in the model
  std::uint64_t size() const { return size_; }
  bool empty() const { return order_.empty(); }
  void write(AtomicFile&) const;

 private:
  std::string location_;
  std::unordered_map<const Value*, std::uint64_t> offsets_;
  std::vector<const Value*> order_;
  std::uint64_t size_ = 0;
};

void stream_weight(const Value&, const Sink&);       // fails if the storage gives another number of bytes
void write_weight(const Value&, WriteBehind&);

}  // namespace t2o::onnx
