#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "ir/tensor.h"

namespace t2o::tf {

// A serialized message in parts, so that weights stay where they are until they are written.
class Pieces {
 public:
  void add(std::string_view text);
  void view(Bytes);                              // as text, without a copy where it is big; must outlive this
  void weights(TensorPtr);                       // its bytes
  void field(std::uint32_t number, Pieces content);
  std::uint64_t size() const { return size_; }
  void stream(const Sink&) const;

 private:
  struct Piece {
    std::string text;  // stands before the others
    Bytes bytes = {};
    TensorPtr tensor = {};
  };
  std::vector<Piece> list_;
  std::uint64_t size_ = 0;
};

}  // namespace t2o::tf
