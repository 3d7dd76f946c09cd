#pragma once
#include "op_mappers/registry.h"

namespace t2o::op_mappers {

void register_sparse_cross(OpRegistry&);

}  // namespace t2o::op_mappers
