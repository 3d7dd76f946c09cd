#pragma once
#include <string_view>

#include "onnx/emitter.h"

namespace t2o::onnx {

bool is_bitwise(std::string_view op);  // BitwiseAnd, BitwiseOr, BitwiseXor

// The bits of two integer tensors of one type, for opsets that have no operator for them: exact, of every width.
Value* bitwise_by_table(Emitter&, std::string_view op, Value* a, Value* b);

}  // namespace t2o::onnx
