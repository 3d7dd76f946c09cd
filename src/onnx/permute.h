#pragma once
#include <cstddef>

#include "ir/shape.h"

namespace t2o::onnx {

// Copies a tensor of `dims` with its axes permuted: axis i of the result is axis perm[i] of `in`. The width of an element is
// 1, 2, 4, 8 or 16 bytes. Weights pass here, so it goes at the memory's pace.
void permute_axes(const std::byte* in, std::byte* out, std::size_t width, Ints dims, Ints perm);

}  // namespace t2o::onnx
