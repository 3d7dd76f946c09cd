#pragma once
#include "onnx/opset_table.h"
#include "rewriters/onnx/layout_form.h"

namespace t2o::rewriters {

// Chooses, for one form, the nodes that work on permuted tensors, so that the whole graph transposes the fewest bytes. This is a
// minimum cut between the nodes that need one form and the nodes that need the other. Then rebuilds the graph, and returns
// how many nodes changed. With `at_interface`, a Transpose of a graph input or output costs nothing.
int fold_into(ir::Graph&, const Form&, const onnx::Target&, bool at_interface);

}  // namespace t2o::rewriters
