#pragma once
#include "ir/graph.h"

namespace t2o::tf {

// A frozen variable's handle is its value: so is what Enter, Switch and Merge hand on of it, and reading it
// is no node.
void resolve_handles(ir::Graph&);

}  // namespace t2o::tf
