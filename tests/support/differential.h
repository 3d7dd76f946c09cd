#pragma once
#include <string>

#include "engines/tensorflow.h"
#include "ir/graph.h"

// What tests share that compare TensorFlow's results with those of the exported model.
namespace t2o::test {

// What is unknown of the shapes of inputs: nothing, each first dim, all dims, the rank.
enum class Mode : std::uint8_t { fixed, batch, dims, rank };
std::string_view name(Mode);
Shape shape_in(Mode, const Ints& dims);

Bytes as_bytes(const std::string&);

// ONNX has no complex and no quantized tensors: pairs of floats, plain integers.
TensorPtr as_onnx(const TensorPtr&);

// ONNX Runtime lacks the f64 kernels of convolutions, pools, Atan ... A result in f64 that was computed in f32 on the way
// is as good as f32.
bool has_f32(const ir::Graph&);

// In words, what the exported graph declares of an output and does not keep; else empty.
std::string declared_problem(const Value& declared, const Tensor& got);

}  // namespace t2o::test
