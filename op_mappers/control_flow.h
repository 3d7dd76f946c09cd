#pragma once
#include <unordered_set>
#include <vector>

#include "op_mappers/graph_context.h"

// Functions that the mappers of conditionals and of loops share.
namespace t2o::op_mappers {

using Wanted = std::vector<bool>;
Wanted used_outputs(const ir::Node&);

// Each output of a subgraph must come from a node of that subgraph, and no two may be one value: returns v, or an Identity
// of v in g.
Value* own(GraphContext&, ir::Graph& g, Value* v, std::unordered_set<const Value*>& taken);

// A scalar number is true if it is not zero, a scalar string if it is not empty, any other tensor if it has elements.
Value* as_condition(Emitter&, Value*);

MappedValues map_if(GraphContext&);  // conditionals.cpp
MappedValues map_case(GraphContext&);

}  // namespace t2o::op_mappers
