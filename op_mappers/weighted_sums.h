#pragma once
#include <functional>

#include "onnx/emitter.h"

namespace t2o::op_mappers {

// A matrix of weights that are mostly 0. keeps and turns are matrices that are above 0 where an infinity of x reaches the sum:
// keeps with its sign, turns with the opposite sign. If a kernel multiplies by a weight of 0, both are above 0 there, because
// the product is NaN.
struct Weights {
  Value* matrix;
  Value* keeps = nullptr;  // null: where the weight is positive
  Value* turns = nullptr;  // null: nowhere
};

// The product of x and the matrix, as in kernels that sum only the elements with a weight. An infinity or a NaN of any other
// element does not reach the sum. `product` multiplies the two, in either order.
Value* weighted_sums(Emitter&, Value* x, const Weights&,
                     const std::function<Value*(Value* x, Value* matrix)>& product);

}  // namespace t2o::op_mappers
