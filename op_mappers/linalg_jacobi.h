#pragma once
#include "op_mappers/linalg.h"

// What Jacobi's rotations of real and of complex columns share.
namespace t2o::op_mappers {

struct Rounds {
  Value *half, *count;
  Value* order;  // which column comes to which place before the next round
};
Rounds rounds(MapperContext&, Value* columns, DType);

struct Rotation {
  Value *cosine, *sine;
};
Rotation rotation(Emitter&, Value* p, Value* q, Value* x);  // the one that makes [p, x; x, q] diagonal

Value* turned(Emitter&, Value* left, Value* right, const Rotation&, Value* order);
Value* evened(MapperContext&, Value* x, Value* columns);  // with as many columns more as make their number even

// Of x the columns that `order`, [.., 1, n], says, as many as there are in a tensor with the shape of `like`.
Value* picked_columns(MapperContext&, Value* x, Value* order, Value* like);

bool is_wide(const Value* a);  // surely more columns than rows
// What to divide columns by, so that squares of the smallest are not 0 either.
Value* column_sizes(Emitter&, Value* absolute);
// Of a diagonal matrix w the signs where it has its first `count` entries, and 0 elsewhere; full: 1 in more
// columns, as many as there are rows.
Value* first_of_basis(MapperContext&, Value* w, Value* rows, Value* count, bool full);

Value* symmetric(MapperContext&, Value* a, Value* n);  // with an even number of rows, told by the lower triangle
Value* diagonal(Emitter&, Value* x, Value* n);         // [.., 1, n]

}  // namespace t2o::op_mappers
