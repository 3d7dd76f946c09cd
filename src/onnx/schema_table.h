#pragma once
#include <string_view>

namespace onnx {
class OpSchema;
}

namespace t2o::onnx {

// onnx's schema of the operator at the opset of its domain ("" or "ai.onnx.ml"); null if there is none. The schema is made at the
// first request and kept. onnx's own registry makes all schemas at the first request, which takes longer than most conversions.
const ::onnx::OpSchema* find_schema(std::string_view domain, std::string_view op, int opset);

}  // namespace t2o::onnx
