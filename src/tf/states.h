#pragma once
#include <vector>

#include "tf/lift_variables.h"

namespace t2o::tf {

// Makes an output of what the run leaves in each variable that is an input.
std::vector<State> add_states(ir::Graph& main, const std::vector<Variable>&, Diagnostics&);

}  // namespace t2o::tf
