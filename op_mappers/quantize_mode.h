#pragma once
#include "op_mappers/registry.h"
#include "tf2onnx/options.h"

namespace t2o {

// The rows of --quantize-mode for TensorFlow's fake quantization, in place of the dialect's. None for `exact`.
OpRegistry quantize_mode_rows(tf2onnx::QuantizeMode);

}  // namespace t2o
