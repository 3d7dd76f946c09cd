#pragma once
#include "op_mappers/window.h"

namespace t2o::op_mappers {

// Windows by Gather, for computations that ONNX's operators with windows cannot express. The spatial axes begin at
// `first_axis`.

// Pads x for SAME and EXPLICIT padding with the scalar `fill`.
Value* pad_for_windows(Emitter&, Value* x, const Window&, int first_axis, Value* fill);
// Splits one axis of a padded x, given by its number, into two: the windows, and the elements of each window.
Value* gather_windows(Emitter&, Value* padded, const Window&, std::size_t spatial_axis, int axis);

// A convolution of integers as a matrix product, because ONNX has no operator for it. x: [N, C, ...], padded;
// kernel: [O, C / groups, ...], of known size.
Value* integer_convolution(Emitter&, Value* x, Value* kernel, const Window&, std::int64_t groups);

}  // namespace t2o::op_mappers
