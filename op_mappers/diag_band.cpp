#include "op_mappers/diag_band.h"
#include "op_mappers/numbers.h"

#include <string>

// A band of diagonals is [..., diagonals, length], the uppermost first; a single one is [..., length]. A
// diagonal d (column - row) that is shorter than the longest is at the left or right end of its row.
namespace t2o::op_mappers {
namespace {

Value* number(MapperContext& c, std::int64_t n) { return c.constant(n); }

Value* vector(MapperContext& c, Value* scalar) { return c.reshape(scalar, {1}); }

Value* scalar_of(MapperContext& c, Value* v) {
  Value* wide = c.cast(v, DType::i64);
  return wide->shape().is_scalar() ? wide : c.emit("Reshape", {wide, c.ints({})});
}

struct Band {
  Value *lower, *upper, *count;  // rank 0
  bool left_above = true, left_below = true;
};

Band band(MapperContext& c, std::size_t input) {
  Value* k = c.reshape(c.cast(c.in(input), DType::i64), {-1});
  Band b{};
  b.lower = c.gather(k, number(c, 0), 0);
  b.upper = c.gather(k, number(c, -1), 0);
  b.count = c.add(c.sub(b.upper, b.lower), number(c, 1));
  if (k->shape()[0] == 1) b.count = number(c, 1);
  const auto align = c.attr_or<std::string>("align", "LEFT_LEFT");
  b.left_above = align.starts_with("LEFT");
  b.left_below = align.ends_with("LEFT");
  return b;
}

Value* negative_part(MapperContext& c, Value* x) { return c.minimum(x, number(c, 0)); }
Value* positive_part(MapperContext& c, Value* x) { return c.maximum(x, number(c, 0)); }

// How far from the left end of its row diagonal d begins.
Value* offset_of(MapperContext& c, const Band& b, Value* d, Value* length, Value* longest) {
  if (b.left_above && b.left_below) return number(c, 0);
  Value* right = c.sub(longest, length);
  if (!b.left_above && !b.left_below) return right;
  Value* zero = number(c, 0);
  Value* is_left = b.left_above ? c.greater_equal(d, zero) : c.less_equal(d, zero);
  return c.where(is_left, zero, right);
}

// min(rows + min(d, 0), columns - max(d, 0))
Value* length_of(MapperContext& c, Value* d, Value* rows, Value* columns) {
  Value* down = c.add(rows, negative_part(c, d));
  return c.minimum(down, c.sub(columns, positive_part(c, d)));
}

// The axes of x before its last one, and before the diagonals where there are several.
Value* batch_of(MapperContext& c, const Band& b, Value* x) {
  if (const TensorPtr& n = b.count->constant()) return c.dims(x, 0, n->int_at(0) == 1 ? -1 : -2);
  Value* several = c.cast(c.greater(b.count, number(c, 1)), DType::i64);
  Value* end = vector(c, c.sub(number(c, -1), several));
  Value* from = c.ints({0});
  return c.slice(c.shape_of(x), from, end, c.ints({0}));
}

// [batch, rows, columns]: what the diagonals say of each element; `inside` tells where they say anything.
struct Spread {
  Value *values, *inside;
};
Spread spread(MapperContext& c, const Band& b, Value* diagonals, Value* batch, Value* rows, Value* columns) {
  Value* longest = c.dim(diagonals, -1);
  Value* row = c.unsqueeze(iota(c, rows), {1});
  Value* column = iota(c, columns);
  Value* d = c.sub(column, row);
  Value* not_below = c.greater_equal(d, b.lower);
  Value* inside = c.logical_and(not_below, c.less_equal(d, b.upper));
  Value* offset = offset_of(c, b, d, length_of(c, d, rows, columns), longest);
  Value* place = c.add(c.minimum(row, column), offset);
  Value* at = c.add(c.mul(c.sub(b.upper, d), longest), place);
  Value* flat = c.reshape_to(diagonals, c.concat({c.product(batch), vector(c, c.mul(b.count, longest))}, 0));
  Value* safe = c.where(inside, at, number(c, 0));
  return {c.gather(flat, safe, 1), inside};
}

}  // namespace

Value* band_to_matrix(MapperContext& c) {
  const Band b = band(c, 1);
  Value* diagonals = c.in(0);
  Value* longest = c.dim(diagonals, -1);
  Value* rows = scalar_of(c, c.in(2));
  Value* columns = scalar_of(c, c.in(3));
  Value* zero = number(c, 0);
  // what is not given is as small as can be, and square where neither is given
  Value* least_rows = c.sub(longest, negative_part(c, b.upper));
  Value* least_columns = c.add(longest, positive_part(c, b.lower));
  Value* side = c.maximum(least_rows, least_columns);
  Value* no_rows = c.less(rows, zero);
  Value* no_columns = c.less(columns, zero);
  Value* free_rows = c.where(no_columns, side, least_rows);
  Value* free_columns = c.where(no_rows, side, least_columns);
  Value* height = c.where(no_rows, free_rows, rows);
  Value* width = c.where(no_columns, free_columns, columns);
  Value* batch = batch_of(c, b, diagonals);
  const Spread s = spread(c, b, diagonals, batch, height, width);
  Value* matrices = c.where(s.inside, s.values, c.in(4));
  return c.reshape_to(matrices, c.concat({batch, vector(c, height), vector(c, width)}, 0));
}

Value* matrix_with_band(MapperContext& c) {
  const Band b = band(c, 2);
  Value* x = c.in(0);
  const Spread s = spread(c, b, c.in(1), c.dims(x, 0, -2), c.dim(x, -2), c.dim(x, -1));
  return c.where(s.inside, c.reshape_to(s.values, c.shape_of(x)), x);
}

Value* band_of_matrix(MapperContext& c) {
  const Band b = band(c, 1);
  Value* x = c.in(0);
  Value* rows = c.dim(x, -2);
  Value* columns = c.dim(x, -1);
  Value* longest =
      c.minimum(c.add(rows, negative_part(c, b.upper)), c.sub(columns, positive_part(c, b.lower)));
  Value* d = c.sub(b.upper, c.unsqueeze(iota(c, b.count), {1}));
  Value* length = length_of(c, d, rows, columns);
  Value* place = c.sub(iota(c, longest), offset_of(c, b, d, length, longest));
  Value* not_before = c.greater_equal(place, number(c, 0));
  Value* inside = c.logical_and(not_before, c.less(place, length));
  Value* row = c.add(place, positive_part(c, c.neg(d)));
  Value* column = c.add(place, positive_part(c, d));
  Value* at = c.add(c.mul(row, columns), column);
  Value* batch = c.dims(x, 0, -2);
  Value* flat = c.reshape_to(x, c.concat({c.product(batch), vector(c, c.mul(rows, columns))}, 0));
  Value* values = c.gather(flat, c.where(inside, at, number(c, 0)), 1);
  Value* padded = c.where(inside, values, c.in(2));
  Value* count = vector(c, b.count);  // an axis only where it is not 1
  if (const TensorPtr& n = b.count->constant()) {
    if (n->int_at(0) == 1) count = c.ints({});
  } else {
    Value* several = vector(c, c.cast(c.greater(b.count, number(c, 1)), DType::i64));
    Value* from = c.ints({0});
    count = c.slice(count, from, several, c.ints({0}));
  }
  return c.reshape_to(padded, c.concat({batch, count, vector(c, longest)}, 0));
}

}  // namespace t2o::op_mappers
