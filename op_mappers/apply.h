#pragma once
#include <string>

#include "op_mappers/context.h"

namespace t2o::op_mappers {

// Applies the row of another op to these inputs, with the attributes of the current node. The attributes that the row
// reads count as read.
Values apply(MapperContext&, const std::string& op, Values inputs);
inline Value* apply_one(MapperContext& c, const std::string& op, Values inputs) { return apply(c, op, std::move(inputs))[0]; }

}  // namespace t2o::op_mappers
