#pragma once
#include "onnx/limits.h"

// Small values that many families need.
namespace t2o::op_mappers {

bool is_half(DType);

Value* round_away(Emitter&, Value* x);  // rounds f32 to whole numbers, halves away from zero

// For sizes and indices, i64.
Value* iota(Emitter&, Value* count);                            // 0 .. count-1; count is a scalar
Value* as_vector(Emitter&, Value* scalar);                      // [1]
Value* with_ones_before(Emitter&, Value* dims, Value* length);  // prepends ones until there are `length` dims

// x[:count] and x[first:] along the axis; 1-D bounds
Value* head(Emitter&, Value* x, Value* count, std::int64_t axis = 0);
Value* after(Emitter&, Value* x, Value* first, std::int64_t axis = 0);

}  // namespace t2o::op_mappers
