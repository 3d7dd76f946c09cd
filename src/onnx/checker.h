#pragma once
#include "diagnostics.h"
#include "ir/graph.h"
#include "onnx/proto.h"

namespace t2o::onnx {

// Every violation of the ONNX standard by a node, with its origin, and of the graph's own invariants (ir/verify.h). Reads no
// weights.
Diagnostics check(const ir::Graph&, const ModelInfo&);

}  // namespace t2o::onnx
