#pragma once
#include <vector>

#include "tf/lift_variables.h"
#include "tf/state_effects.h"

namespace t2o::tf {

// Warns of the changes that the imported graph does not make, and of random numbers that it repeats in each run.
void tell_lost_changes(const ir::Graph&, const std::vector<Variable>&, std::vector<LostChange>, const ImportRequest&,
                       Diagnostics&);

}  // namespace t2o::tf
