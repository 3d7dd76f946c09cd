#pragma once
#include "ir/graph.h"

namespace t2o::tf {

// Loops and conditionals of TensorFlow 1 become StatelessWhile, StatelessIf and StatelessCase, TensorArrays
// become TensorLists, and conditionals by a constant become the branch that is taken: here and in all
// subgraphs.
void functionalize(ir::Graph&);

}  // namespace t2o::tf
