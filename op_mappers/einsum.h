#pragma once
#include <string>

#include "onnx/emitter.h"

namespace t2o::op_mappers {

// The product of two tensors, summed over the letters that the result lacks, by a MatMul. Each letter names an axis; a and b have
// letters of the result, those that both share, or both.
Value* product_by_matmul(Emitter&, Value* a, const std::string& in_a, Value* b, const std::string& in_b, const std::string& out);

}  // namespace t2o::op_mappers
