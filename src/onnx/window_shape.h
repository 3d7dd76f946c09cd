#pragma once
#include <string_view>

#include "ir/graph.h"

namespace t2o::onnx {

// The dims of Conv, ConvTranspose, MaxPool, AveragePool, Pad, Resize and Concat that follow from symbolic dims of their inputs.
// onnx's inference leaves them open.
Shape windowed_shape(std::string_view op, const Values& inputs, const Attrs&, const Shape& inferred, Symbols&);

}  // namespace t2o::onnx
