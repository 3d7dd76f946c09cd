#pragma once
#include "tf/region.h"

namespace t2o::tf {

// Makes one StatelessWhile of each outermost loop frame (Enter, Merge, LoopCond, Switch, NextIteration, Exit)
// of the graph. Frames inside of it go into its subgraphs as they are. True when there were any; the frames'
// own nodes are dead then.
bool functionalize_loops(ir::Graph&, Renames&);

}  // namespace t2o::tf
