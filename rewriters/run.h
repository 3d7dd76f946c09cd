#pragma once
#include <functional>
#include <string>
#include <vector>

#include "rewriters/pattern.h"

namespace t2o {

// Runs those that have something to do there, one after the other, on the graph and on all that are inside of it, the inner ones
// first. `after` is told the name of each one that has had its turn.
void run_rewriters(const std::vector<Rewriter>&, ir::Graph&, const std::function<void(const std::string& name)>& after);

}  // namespace t2o
