#pragma once
#include <string>

#include "op_mappers/context.h"

namespace t2o::op_mappers {

// Pads x with its mirrored borders. paddings: [rank, 2]. mode: "REFLECT" does not repeat the edge, "SYMMETRIC" does.
Value* mirror_pad(MapperContext&, Value* x, Value* paddings, const std::string& mode);

}  // namespace t2o::op_mappers
