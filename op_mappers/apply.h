#pragma once
#include <string>

#include "op_mappers/context.h"

namespace t2o::op_mappers {

// What another op's row makes of these inputs, with the attributes of the node at hand; what it reads of them counts as read.
Values apply(MapperContext&, const std::string& op, Values inputs);
inline Value* apply_one(MapperContext& c, const std::string& op, Values inputs) { return apply(c, op, std::move(inputs))[0]; }

}  // namespace t2o::op_mappers
