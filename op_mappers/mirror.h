#pragma once
#include <string>

#include "op_mappers/context.h"

namespace t2o::op_mappers {

// Mirrors the borders of x; paddings: [rank, 2]; mode: "REFLECT" leaves the edges single, "SYMMETRIC" doubles
// them.
Value* mirror_pad(MapperContext&, Value* x, Value* paddings, const std::string& mode);

}  // namespace t2o::op_mappers
