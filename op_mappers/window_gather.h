#pragma once
#include "op_mappers/window.h"

namespace t2o::op_mappers {

// Windows by gathering, for what ONNX's own operators with windows cannot do. The spatial axes are those from
// `first_axis` on.

// With SAME and explicit padding as elements of value `fill`, a scalar.
Value* pad_for_windows(Emitter&, Value* x, const Window&, int first_axis, Value* fill);
// An axis of a padded x, by its number, becomes two: the windows, and the elements of each.
Value* gather_windows(Emitter&, Value* padded, const Window&, std::size_t spatial_axis, int axis);

// A convolution of integers, for which ONNX has no operator, as a product of matrices. x: [N, C, ...], padded;
// kernel: [O, C / groups, ...], of a known size.
Value* integer_convolution(Emitter&, Value* x, Value* kernel, const Window&, std::int64_t groups);

}  // namespace t2o::op_mappers
