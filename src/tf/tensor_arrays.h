#pragma once
#include "ir/graph.h"

namespace t2o::tf {

// TensorArrays become TensorLists: an array's flow is the list. Works on the graph with its loops as they
// were drawn.
void replace_tensor_arrays(ir::Graph&);

}  // namespace t2o::tf
