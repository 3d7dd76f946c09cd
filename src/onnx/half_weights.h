#pragma once
#include "ir/graph.h"

namespace t2o::onnx {

// Whether the source keeps weights in half floats and computes with them in floats.
bool has_half_weights(const ir::Graph& source);

// Such weights as the file keeps them: a constant of floats that are half floats all of them becomes a constant of
// half floats behind a Cast, so that the file is half as large. Runtimes compute the Cast when they load the model.
void store_halves(ir::Graph& main);

}  // namespace t2o::onnx
