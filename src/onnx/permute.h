#pragma once
#include <cstddef>
#include <string>

#include "ir/shape.h"

namespace t2o::onnx {

// Copies a tensor of `dims` with its axes permuted: axis i of the result is axis perm[i] of `in`. The width of an element is
// 1, 2, 4, 8 or 16 bytes. It permutes weights, so it must run at memory bandwidth.
class Permutation {
 public:
  Permutation(std::size_t width, Ints dims, Ints perm);

  std::string text() const;  // of equal permutations the same
  std::int64_t rows() const { return rows_; }  // the number of equal, consecutive parts of the result
  void copy(const std::byte* in, std::byte* out, std::int64_t first_row, std::int64_t last_row) const;  // out: where the first row begins
  void copy(const std::byte* in, std::byte* out) const { copy(in, out, 0, rows_); }

  // The same for floats, with each row multiplied by its factor.
  bool can_scale() const;
  void copy_scaled(const std::byte* in, std::byte* out, std::int64_t first_row, std::int64_t last_row,
                   const float* factors) const;

 private:
  std::size_t width_;
  Ints dims_, perm_;  // without axes of size 1; axes that stay neighbours are merged
  std::int64_t rows_ = 0;
};

}  // namespace t2o::onnx
