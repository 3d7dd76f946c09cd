#pragma once
#include <unordered_set>
#include <vector>

#include "op_mappers/subgraphs.h"

// What conditionals and loops share.
namespace t2o::op_mappers {

using Wanted = std::vector<bool>;
Wanted used_outputs(const ir::Node&);

// A graph's output is a node's of its own, and each another: v, or an Identity of it in g.
Value* own(SubgraphContext&, ir::Graph& g, Value* v, std::unordered_set<const Value*>& taken);

Shape common(const Shape&, const Shape&);  // what is true of both

// A number is true when it is not zero, a text when it is not empty; a tensor that is no scalar when it has elements.
Value* as_condition(Emitter&, Value*);

Values map_if(MapperContext&);    // conditionals.cpp
Values map_case(MapperContext&);

}  // namespace t2o::op_mappers
