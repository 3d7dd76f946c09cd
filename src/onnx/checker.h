#pragma once
#include "diagnostics.h"
#include "ir/graph.h"
#include "onnx/proto.h"

namespace t2o::onnx {

// Reports every node that violates the ONNX standard, with its origin, and every violation of the graph's invariants
// (ir/verify.h). Reads no weights.
Diagnostics check(const ir::Graph&, const WriteOptions&);

}  // namespace t2o::onnx
