#pragma once
#include "ir/graph.h"
#include "onnx/number_rules.h"

// Bounds of what layers with constant weights compute.
namespace t2o::onnx {

bool can_read(const Tensor&, bool reads_weights);  // whether looking at all its elements costs little enough
Numbers of_constant(const Tensor&);

// A bound of the magnitude of the numbers that a Conv, MatMul, Gemm, normalization or recurrent layer gives; none is NaN. Infinity
// if there is no certain bound. What comes in is asked for first: behind an input of floats no weights are read.
double largest_of_layer(const ir::Node&, std::size_t output, const AskNumbers&, bool reads_weights);

}  // namespace t2o::onnx
