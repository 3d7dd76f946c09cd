#pragma once
#include "onnx/opset_table.h"
#include "rewriters/onnx/layout_form.h"

namespace t2o::rewriters {

// Chooses, for one form, which nodes work on permuted tensors, so that the fewest bytes are transposed in the whole graph: a
// minimum cut between what is bound to one form and what is bound to the other. Then rebuilds the graph so; the result is how many
// nodes have changed. At the interface, transposing costs nothing when asked so.
int fold_into(ir::Graph&, const Form&, const onnx::Target&, bool at_interface);

}  // namespace t2o::rewriters
