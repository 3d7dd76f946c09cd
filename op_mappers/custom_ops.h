#pragma once
#include <string>
#include <vector>

#include "op_mappers/registry.h"

namespace t2o {

// The rows of --custom-ops, each "Op" or "Op:domain": such a node keeps its op, under that domain, for a runtime that has it.
// Reports items that are malformed.
OpRegistry custom_rows(const std::vector<std::string>& items, Diagnostics&);

void warn_of_idle(const std::vector<std::string>& items, ir::Graph& source, Diagnostics&);  // warns of ops that no node of the graph has

// Whether the node makes a handle (of a table, a queue, an iterator ...). Other operations fill its contents; the outputs do
// not need these operations, so a converted graph would have the handle without the contents.
bool has_contents_elsewhere(const ir::Node&);

// Whether the node can be kept as a custom op: the types of its outputs are known, and no input or output is a handle.
bool may_be_custom(const ir::Node&);

}  // namespace t2o
