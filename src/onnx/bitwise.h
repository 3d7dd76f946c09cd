#pragma once
#include <string_view>

#include "onnx/emitter.h"

namespace t2o::onnx {

bool is_bitwise(std::string_view op);  // BitwiseAnd, BitwiseOr, BitwiseXor

// Bitwise operations on two integer tensors of one type, for opsets without operators for them. Exact for every width.
Value* bitwise_by_table(Emitter&, std::string_view op, Value* a, Value* b);

}  // namespace t2o::onnx
