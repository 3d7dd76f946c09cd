#include <limits>

#include "op_mappers/linalg_jacobi.h"
#include "op_mappers/numbers.h"

namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kSweeps32 = 10, kSweeps64 = 14;  // the error of a sweep is the square of that before

Value* one(Emitter& e) { return e.i64(1); }

}  // namespace

// Those of a tournament: all places but the first take what is next to them, around both halves.
Rounds rounds(MapperContext& c, Value* columns, DType type) {
  Value* half = c.div(c.add(columns, one(c)), c.i64(2));
  Value* both = c.add(half, half);
  Value* last = c.sub(both, one(c));
  Value* place = iota(c, both);
  Value* before = c.sub(place, one(c));
  Value* next = c.add(place, one(c));
  Value* turn = c.sub(half, one(c));
  Value* right = c.where(c.less(place, last), next, turn);
  Value* order = c.where(c.less(place, half), before, right);
  order = c.where(c.equal(place, one(c)), half, order);
  order = c.where(c.less(place, one(c)), place, order);
  Value* sweeps = c.constant(type == DType::f64 ? kSweeps64 : kSweeps32);
  return {half, c.maximum(c.mul(sweeps, last), c.i64(0)), order};
}

// The one that makes [p, x; x, q] diagonal.
Rotation rotation(Emitter& e, Value* p, Value* q, Value* x) {
  Value* unit = e.scalar_like(x, 1);
  Value* is_done = e.equal(x, e.scalar_like(x, 0));
  Value* twice = e.where(is_done, unit, e.mul(x, e.scalar_like(x, 2)));
  Value* zeta = e.div(e.sub(q, p), twice);
  Value* sign = e.where(e.less(zeta, e.scalar_like(x, 0)), e.scalar_like(x, -1), unit);
  Value* root = e.sqrt(e.add(e.mul(zeta, zeta), unit));
  Value* tangent = e.div(sign, e.add(e.abs(zeta), root));
  tangent = e.where(is_done, e.scalar_like(x, 0), tangent);
  Value* cosine = e.div(unit, e.sqrt(e.add(e.mul(tangent, tangent), unit)));
  return {cosine, e.mul(cosine, tangent)};
}

// The columns of both halves turned, and in the order of the next round.
Value* turned(Emitter& e, Value* left, Value* right, const Rotation& r, Value* order) {
  Value* first = e.mul(left, r.cosine);
  first = e.sub(first, e.mul(right, r.sine));
  Value* second = e.mul(left, r.sine);
  second = e.add(second, e.mul(right, r.cosine));
  return e.gather(e.concat({first, second}, -1), order, -1);
}

// As many columns more as make their number even.
Value* evened(MapperContext& c, Value* x, Value* columns) {
  if (const auto n = constant_ints(columns); n && n->front() % 2 == 0) return x;
  Value* missing = c.reshape(c.mod(columns, c.i64(2)), {1});
  Value* zeros = c.expand(c.scalar_like(x, 0), c.concat({c.dims(x, 0, -1), missing}, 0));
  return c.concat({x, zeros}, -1);
}

// Columns in another order: [.., 1, as many as there are in a tensor with the shape of `like`].
Value* picked_columns(MapperContext& c, Value* x, Value* order, Value* like) {
  Value* at = c.expand(order, c.shape_of(like));
  return c.emit("GatherElements", {x, at}, {{"axis", -1}});
}

bool is_wide(const Value* a) {
  if (!a->shape().ranked() || a->shape().rank() < 2) return false;
  const Shape& s = a->shape();
  return s[s.rank() - 2] >= 0 && s[s.rank() - 2] < s[s.rank() - 1];
}

Value* column_sizes(Emitter& e, Value* absolute) {
  Value* size = e.reduce("ReduceSum", absolute, Ints{-2}, true);
  return e.where(e.equal(size, e.scalar_like(size, 0)), e.scalar_like(size, 1), size);
}

Value* first_of_basis(MapperContext& c, Value* w, Value* rows, Value* count, bool full) {
  Value* row = row_numbers(c, rows);
  Value* is_on = c.equal(row, iota(c, count));
  Value* zero = c.scalar_like(w, 0);
  Value* unit = c.scalar_like(w, 1);
  Value* on = c.where(is_on, columns_before(c, w, count), zero);
  on = c.reduce("ReduceSum", on, Ints{-2}, true);
  Value* signs = c.where(c.less(on, zero), c.scalar_like(w, -1), unit);
  if (full) {
    Value* more = c.reshape(c.sub(rows, count), {1});
    Value* ones = c.expand(unit, c.concat({c.dims(w, 0, -2), c.ints({1}), more}, 0));
    signs = c.concat({signs, ones}, -1);
    is_on = c.equal(row, iota(c, rows));
  }
  return c.where(is_on, signs, zero);
}

// The lower triangle tells the whole matrix. Where there is one row too few, one more has the greatest number
// on the diagonal: the last of the eigenvalues then.
Value* symmetric(MapperContext& c, Value* a, Value* n) {
  Value* rows = row_numbers(c, n);
  Value* columns = iota(c, n);
  Value* mirrored = transposed(c, a);
  Value* whole = c.where(c.less(rows, columns), mirrored, a);
  if (const auto known = constant_ints(n); known && known->front() % 2 == 0) return whole;
  Value* wide = evened(c, whole, n);
  Value* size = c.dims(wide, -1, std::numeric_limits<int>::max());
  Value* missing = c.sub(size, c.reshape(n, {1}));
  Value* greatest =
      c.scalar(a->dtype(), a->dtype() == DType::f64 ? std::numeric_limits<double>::max()
                                                    : static_cast<double>(std::numeric_limits<float>::max()));
  Value* is_last = c.equal(iota(c, c.reshape(size, {})), n);
  Value* row = c.where(is_last, greatest, c.scalar_like(a, 0));
  Value* more = c.expand(row, c.concat({c.dims(wide, 0, -2), missing, size}, 0));
  return c.concat({wide, more}, -2);
}

Value* diagonal(Emitter& e, Value* x, Value* n) {  // [.., 1, n]
  Value* rows = row_numbers(e, n);
  Value* is_on = e.equal(rows, iota(e, n));
  return e.reduce("ReduceSum", e.where(is_on, x, e.scalar_like(x, 0)), Ints{-2}, true);
}

}  // namespace t2o::op_mappers
