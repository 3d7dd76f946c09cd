#pragma once
#include <string_view>

#include "ir/graph.h"

namespace t2o::onnx {

// The dims of Conv, ConvTranspose, MaxPool, AveragePool, Pad, Resize and Concat that follow from symbolic ones of their inputs,
// which onnx's inference leaves open.
Shape windowed_shape(std::string_view op, const Values& inputs, const Attrs&, const Shape& inferred, Symbols&);

}  // namespace t2o::onnx
