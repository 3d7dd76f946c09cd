#pragma once
#include <string_view>

namespace onnx {
class OpSchema;
}

namespace t2o::onnx {

// onnx's schema of the operator at the opset of its domain ("" or "ai.onnx.ml"), made when it is first asked for and kept; null
// when there is none. onnx's own registry makes them all at the first question, which takes longer than most conversions.
const ::onnx::OpSchema* find_schema(std::string_view domain, std::string_view op, int opset);

}  // namespace t2o::onnx
