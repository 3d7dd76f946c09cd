#pragma once
#include "onnx/emitter.h"

// Small values that many families need.
namespace t2o::op_mappers {

bool is_half(DType);

// Scalars.
Value* zero_of(Emitter&, DType);  // of strings the empty one
Value* lowest(Emitter&, DType);   // the ends of the finite numbers
Value* highest(Emitter&, DType);

Value* round_away(Emitter&, Value* x);  // f32 to whole numbers, halves away from zero

// Of sizes and places, i64.
Value* iota(Emitter&, Value* count);                            // 0 .. count-1, of a scalar
Value* as_vector(Emitter&, Value* scalar);                      // [1]
Value* with_ones_before(Emitter&, Value* dims, Value* length);  // dims as so many

// x[:count] and x[first:] along the axis; 1-D bounds
Value* head(Emitter&, Value* x, Value* count, std::int64_t axis = 0);
Value* after(Emitter&, Value* x, Value* first, std::int64_t axis = 0);

}  // namespace t2o::op_mappers
