#pragma once
#include "op_mappers/segments.h"

namespace t2o::op_mappers {

// data, with updates[i, ...] combined into data[indices[i, ...], ...]. indices (i64) may repeat. By::scatter needs opset 16 for
// add and mul, and opset 18 for max and min. It ignores a NaN in the updates and keeps a NaN in data.
Value* scatter_combined(MapperContext&, By, Reduction, Value* data, Value* indices, Value* updates);

}  // namespace t2o::op_mappers
