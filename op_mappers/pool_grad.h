#pragma once
#include "op_mappers/registry.h"
#include "op_mappers/weighted_sums.h"
#include "op_mappers/window.h"

namespace t2o::op_mappers {

void register_pool_gradients(OpRegistry&);
void register_fractional_pools(OpRegistry&);

// Multiplies each spatial axis of a channels-first y by its matrix [size, new size].
Value* spatial_products(Emitter&, Value* y, const std::vector<Weights>& matrices);

}  // namespace t2o::op_mappers
