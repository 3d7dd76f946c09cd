#pragma once
#include "op_mappers/segments.h"

namespace t2o::op_mappers {

// data with data[indices[i, ...], ...] combined with updates[i, ...]; indices (i64) may repeat. By::scatter: add and mul since opset 16,
// max and min since 18; a NaN among the updates counts for nothing, one of data stays.
Value* scatter_combined(MapperContext&, By, Reduction, Value* data, Value* indices, Value* updates);

}  // namespace t2o::op_mappers
