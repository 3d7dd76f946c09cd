#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "ir/graph.h"
#include "onnx/opset_table.h"

namespace onnx {
class FunctionProto;
}

// ONNX operators that work channels first, as functions of this program's domain whose images are channels last. A file
// that calls the functions contains them: Transpose, the operator, Transpose. See docs/layout.md.
namespace t2o::onnx {

constexpr std::string_view kChannelsLastDomain = "ai.tf2onnx.nhwc";
constexpr int kFunctionOpset = 15, kFunctionIrVersion = 8;  // below these, a model has no functions

// "ai.tf2onnx.nhwc::Conv", "...::Conv1D", "...::Conv3D" for an image with 2, 1 or 3 spatial axes; nullopt:
// there is none.
std::optional<std::string> channels_last_function(std::string_view onnx_op, int rank);

bool is_channels_last_function(std::string_view op);  // "ai.tf2onnx.nhwc::Conv"

// The function's own name, "Conv1D", gives its definition.
void define_channels_last(::onnx::FunctionProto&, std::string_view function, const Target&);

}  // namespace t2o::onnx
