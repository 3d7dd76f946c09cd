#pragma once
#include <string>

#include "onnx/emitter.h"

namespace t2o::op_mappers {

// The product of two tensors by a MatMul, summed over the letters that the result lacks. Each letter names an axis. Each letter
// of a or b is a letter of the result, or of both a and b.
Value* product_by_matmul(Emitter&, Value* a, const std::string& in_a, Value* b, const std::string& in_b, const std::string& out);

}  // namespace t2o::op_mappers
