#pragma once
#include <initializer_list>

#include "op_mappers/complex.h"
#include "op_mappers/registry.h"

// A matrix is the last two axes of a tensor.
namespace t2o::op_mappers {

Value* matrix(MapperContext&, std::size_t input);  // in f32 or f64

Value* row_numbers(Emitter&, Value* n);  // [n, 1]
Value* transposed(Emitter&, Value*);
Value* eye_like(Emitter&, Value* x, Value* n);  // with the batch of x

Value* columns_from(Emitter&, Value* x, Value* first);
Value* columns_before(Emitter&, Value* x, Value* end);
Value* rows_from(Emitter&, Value* x, Value* first);
Value* rows_before(Emitter&, Value* x, Value* end);

Value* inverted(Emitter&, Value*);
Value* matrix_of_bands(Emitter&, Value* bands, bool lower);        // as BandedTriangularSolve has them
Value* matrix_of_diagonals(MapperContext&, Value* diagonals);      // as TridiagonalSolve has them
Value* doubled(Emitter&, Complex);  // [[re, -im], [im, re]]

// A power of two for scaling a number (or, as [.., 1, 1], a whole matrix). After it the square of the number neither overflows
// nor vanishes. A power of two rounds nothing.
Value* scale_of(Emitter&, Value* number);
Value* scale_of_matrix(Emitter&, Value* absolute);

Value* smallest(Emitter&, Value* like);  // the smallest normal number of the type

// x - tau w w^T x with w = (0 .. 0, 1, tail / (x[k, k] - beta)), which leaves beta at [k, k] of x, with m rows,
// and zeros below.
struct Reflector {
  Value *w, *tau;
};
Reflector reflector(Emitter&, Value* x, Value* k, Value* m);
Value* reflected(Emitter&, Value* x, const Reflector&);

bool wants_vectors(const MapperContext&, std::initializer_list<std::size_t> outputs);
// The values of a decomposition. If an attribute asks for no vectors, a single number takes their place, as in
// TensorFlow, which gives an arbitrary number there.
Values with_vectors(MapperContext&, const std::string& attr, Value* values, std::size_t count);

void register_linalg_jacobi(OpRegistry&);
void register_linalg_functions(OpRegistry&);

}  // namespace t2o::op_mappers
