#pragma once
#include "op_mappers/context.h"

namespace t2o::op_mappers {

// Converts indices of elements between coordinates [n, rank] and row-major numbers [n]. All are i64; dims is 1-D.
Value* strides_of(Emitter&, Value* dims);
Value* ravel(Emitter&, Value* coordinates, Value* dims);
Value* unravel(Emitter&, Value* places, Value* dims);

Value* column(Emitter&, Value* coordinates, std::int64_t axis);  // [n]
Value* ascending_order(Emitter&, Value* keys);  // the permutation that sorts 1-D keys, stable

}  // namespace t2o::op_mappers
