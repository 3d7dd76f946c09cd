#pragma once
#include <cstddef>

#include "ir/shape.h"

namespace t2o::onnx {

// Copies a tensor of `dims` with its axes permuted: axis i of the result is axis perm[i] of `in`. The width of an element is
// 1, 2, 4, 8 or 16 bytes. Weights pass here, so it goes at the memory's pace.
class Permutation {
 public:
  Permutation(std::size_t width, Ints dims, Ints perm);

  std::int64_t rows() const { return rows_; }  // the result in equal parts, one behind the other
  void copy(const std::byte* in, std::byte* out, std::int64_t first_row, std::int64_t last_row) const;  // out: of the first row
  void copy(const std::byte* in, std::byte* out) const { copy(in, out, 0, rows_); }

  // Floats, each row times its factor, on the way.
  bool can_scale() const;
  void copy_scaled(const std::byte* in, std::byte* out, std::int64_t first_row, std::int64_t last_row,
                   const float* factors) const;

 private:
  std::size_t width_;
  Ints dims_, perm_;  // without axes of one, and merged where axes stay neighbours
  std::int64_t rows_ = 0;
};

}  // namespace t2o::onnx
