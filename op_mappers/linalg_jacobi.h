#pragma once
#include "op_mappers/linalg.h"

// Functions that Jacobi's rotations of real and of complex columns share.
namespace t2o::op_mappers {

struct Rounds {
  Value *half, *count;
  Value* order;  // the permutation of the columns before the next round
};
Rounds rounds(MapperContext&, Value* columns, DType);

struct Rotation {
  Value *cosine, *sine;
};
Rotation rotation(Emitter&, Value* p, Value* q, Value* x);  // the one that makes [p, x; x, q] diagonal

Value* turned(Emitter&, Value* left, Value* right, const Rotation&, Value* order);
Value* evened(MapperContext&, Value* x, Value* columns);  // adds a column if their number is odd

// The columns of x in the order `order`, [.., 1, n]; as many as a tensor with the shape of `like` has.
Value* picked_columns(MapperContext&, Value* x, Value* order, Value* like);

bool is_wide(const Value* a);  // surely more columns than rows
// The number to divide columns by, so that the squares of the smallest columns are not 0.
Value* column_sizes(Emitter&, Value* absolute);
// The signs of the first `count` entries of a diagonal matrix w, and 0 elsewhere. full: 1 on the diagonal of more columns, up to
// the number of rows.
Value* first_of_basis(MapperContext&, Value* w, Value* rows, Value* count, bool full);

Value* symmetric(MapperContext&, Value* a, Value* n);  // from the lower triangle; with an even number of rows
Value* diagonal(Emitter&, Value* x, Value* n);         // [.., 1, n]

}  // namespace t2o::op_mappers
