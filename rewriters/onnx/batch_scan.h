#pragma once
#include "onnx/opset_table.h"
#include "rewriters/pattern.h"

namespace t2o::rewriters {

// The part of batch_steps that takes a Scan: without it, its body works on all rows at once. Returns whether it did.
bool batch_scan(ir::Graph&, const onnx::Target&, ir::Node& scan);

}  // namespace t2o::rewriters
