#pragma once
#include <string>

#include "diagnostics.h"
#include "onnx/opset_table.h"

namespace t2o::golden {

// Does what the remedies of a refusal say, one after the other, and fails the test where the node is refused again.
// `text` is the graph.
void follow_remedies(const std::string& text, const onnx::Target&, const Diagnostics&);

}  // namespace t2o::golden
