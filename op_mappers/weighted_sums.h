#pragma once
#include <functional>
#include <vector>

#include "onnx/emitter.h"

namespace t2o::op_mappers {

// A matrix of weights, of which most are 0, and where an infinity counts (a number above 0 there): as it is, and
// with its sign turned. A weight of 0 that is multiplied nevertheless is both.
struct Weights {
  Value* matrix;
  Value* keeps = nullptr;  // null: where the weight is positive
  Value* turns = nullptr;  // null: nowhere
};

// The product of x and the matrix: kernels that sum the few weights that count never read the others, so that not
// even an infinity or a NaN of what those belong to reaches the sum. product: of the two, in whatever order.
Value* weighted_sums(Emitter&, Value* x, const Weights&,
                     const std::function<Value*(Value* x, Value* matrix)>& product);

}  // namespace t2o::op_mappers
