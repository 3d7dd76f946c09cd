#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/tensor.h"
#include "support/mapped_file.h"
#include "tf/checkpoint_slices.h"

namespace t2o::tf {

struct CheckpointEntry {
  std::string key;
  DType dtype;
  Ints dims;
};

// A TensorFlow checkpoint of the V2 format (a "tensor bundle"): prefix.index and prefix.data-0000i-of-0000n.
// Tensors are views of the mapped data files; only strings, 4-bit integers and partitioned variables are put
// together on demand.
class Checkpoint {
 public:
  // A prefix ("model.ckpt-10"), one of its files, or a directory that holds one checkpoint or a `checkpoint`
  // state file.
  static std::shared_ptr<const Checkpoint> open(const std::string& path);

  const std::string& prefix() const { return prefix_; }
  bool contains(std::string_view key) const { return entries_.find(key) != entries_.end(); }
  TensorPtr read(std::string_view key) const;  // fails when there is no such entry
  TensorPtr read_slice(std::string_view key, const Extents&) const;
  std::vector<CheckpointEntry> entries() const;  // by key

 private:
  struct Entry {
    std::uint64_t dtype = 0;  // TensorFlow's number
    Ints dims;
    std::int64_t shard = 0, offset = 0, size = 0;
    std::uint32_t crc = 0;
    std::vector<Extents> slices;
  };

  explicit Checkpoint(std::string prefix) : prefix_(std::move(prefix)) {}
  void read_index();
  void read_header(Bytes bundle_header);
  void read_entry(const std::string& key, Bytes bundle_entry);
  static Entry decode_entry(Bytes bundle_entry);
  [[noreturn]] void fail_index(const std::string& why) const;
  [[noreturn]] void fail_missing(std::string_view key, const std::string& part) const;
  const MappedFilePtr& shard(std::int64_t i) const;
  StoragePtr data_of(const std::string& key, const Entry&) const;
  TensorPtr read_plain(const std::string& key, const Entry&) const;
  TensorPtr read_strings(const std::string& key, const Entry&) const;
  TensorPtr read_slices(const std::string& key, const Entry&) const;

  std::string prefix_;
  int shard_count_ = 0;
  std::map<std::string, Entry, std::less<>> entries_;
  mutable std::map<std::int64_t, MappedFilePtr> shards_;
};
using CheckpointPtr = std::shared_ptr<const Checkpoint>;

}  // namespace t2o::tf
