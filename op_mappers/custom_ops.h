#pragma once
#include <optional>
#include <string>
#include <vector>

#include "op_mappers/registry.h"

namespace t2o {

// The rows of --custom-ops, each "Op" or "Op:domain": such a node keeps its op, under that domain, for a runtime that has it.
// What is wrong with an item is reported.
OpRegistry custom_rows(const std::vector<std::string>& items, Diagnostics&);

void warn_of_idle(const std::vector<std::string>& items, ir::Graph& source, Diagnostics&);  // of ops that no node has

// Does the node make a handle (of a table, a queue, an iterator ...), whose contents other operations put there? The
// outputs do not need those operations, so that a converted graph has the handle alone.
bool has_contents_elsewhere(const ir::Node&);

// Can the node be kept as a custom op: are the types of its outputs known, and does it take and give no handle?
bool may_be_custom(const ir::Node&);

}  // namespace t2o
