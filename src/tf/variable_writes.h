#pragma once
#include <string_view>

#include "ir/graph.h"

namespace t2o::tf {

// Can the value that the operator leaves in its variable be computed by nodes?
bool has_written_value(std::string_view op);

// Replaces a node that writes a variable by nodes that compute the value that it leaves there. `before`: the variable's value up to then.
// Returns the new value. Null if has_written_value() is false; the node stays then.
Value* replace_write(ir::Node& write, Value* before);

}  // namespace t2o::tf
