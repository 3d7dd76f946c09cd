#pragma once
#include "onnx/emitter.h"

// One axis of x between two: what comes before it and what comes behind it, each as one axis. So the place of
// the axis, and the rank of x, need not be known before the model runs.
namespace t2o::op_mappers {

struct Sides {
  Value *before, *size, *after;  // dims of x: before the axis, its own, behind it; 1-D
};
Sides sides(Emitter&, Value* x, Value* axis);  // axis: [1], counted from the front
Value* as_three(Emitter&, Value* x, const Sides&);
Value* from_three(Emitter&, Value* y, const Sides&);  // back, with as many along the axis as y has

Value* counted_from_front(Emitter&, Value* axes, Value* x);  // 1-D i64

}  // namespace t2o::op_mappers
