#pragma once
#include <functional>

#include "onnx/emitter.h"

namespace t2o::op_mappers {

enum class Weights : std::uint8_t { not_negative, any };

// The product of x and a matrix of weights, of which most are 0: kernels that sum the few others never read what
// counts for nothing, so that not even an infinity or a NaN of it reaches the sum. product: of the two, in
// whatever order.
Value* weighted_sums(Emitter&, Value* x, Value* matrix, Weights,
                     const std::function<Value*(Value* x, Value* matrix)>& product);

}  // namespace t2o::op_mappers
