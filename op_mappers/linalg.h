#pragma once
#include "op_mappers/registry.h"

// Matrices are the last two axes of a tensor.
namespace t2o::op_mappers {

Value* matrix(MapperContext&, std::size_t input);  // in f32 or f64

Value* row_numbers(Emitter&, Value* n);  // [n, 1]
Value* transposed(Emitter&, Value*);
Value* eye_like(Emitter&, Value* x, Value* n);  // with the batch of x

Value* columns_from(Emitter&, Value* x, Value* first);
Value* columns_before(Emitter&, Value* x, Value* end);
Value* rows_from(Emitter&, Value* x, Value* first);
Value* rows_before(Emitter&, Value* x, Value* end);

// A decomposition's values, and in place of vectors that an attribute does not ask for a number, as in
// TensorFlow, whose number is any.
Values with_vectors(MapperContext&, const std::string& attr, Value* values, std::size_t count);

void register_linalg_jacobi(OpRegistry&);

}  // namespace t2o::op_mappers
