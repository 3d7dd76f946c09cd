#pragma once
#include "op_mappers/registry.h"

namespace t2o::op_mappers {

void register_filter_gradients(OpRegistry&);

}  // namespace t2o::op_mappers
