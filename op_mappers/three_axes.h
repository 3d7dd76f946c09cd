#pragma once
#include "onnx/emitter.h"

// Reshapes x to three axes: the axes before a given axis as one, the axis, and the axes after it as one. So neither
// the position of the axis nor the rank of x need be known at conversion time.
namespace t2o::op_mappers {

struct Sides {
  Value *before, *size, *after;  // dims of x before the axis, of the axis, and after it; 1-D
};
Sides sides(Emitter&, Value* x, Value* axis);  // axis: [1], counted from the front
Value* as_three(Emitter&, Value* x, const Sides&);
Value* from_three(Emitter&, Value* y, const Sides&);  // the inverse; the axis has the size that it has in y

Value* counted_from_front(Emitter&, Value* axes, Value* x);  // 1-D i64

}  // namespace t2o::op_mappers
