#pragma once
#include "op_mappers/registry.h"
#include "tf2onnx/options.h"

namespace t2o {

// The rows of --quantize-mode for TensorFlow's fake quantization and its Uniform* ops, in place of the dialect's. None for `exact`.
OpRegistry quantize_mode_rows(tf2onnx::QuantizeMode);
void add_uniform_rows(OpRegistry&, tf2onnx::QuantizeMode);

// Warns where the mode changes nothing. Names the Uniform* ops of a source graph that stay exact nevertheless, and says why.
void warn_of_exact(tf2onnx::QuantizeMode, const ir::Graph& source, const Target&, Diagnostics&);

}  // namespace t2o
