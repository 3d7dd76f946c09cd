#include <algorithm>
#include <limits>
#include <utility>

#include "op_mappers/all.h"
#include "op_mappers/linalg.h"
#include "op_mappers/linalg_jacobi.h"
#include "op_mappers/loop.h"
#include "op_mappers/segments.h"

// Jacobi's rotations. In each round all columns are turned in pairs: the first of the left half with the
// first of the right half, and so on. After 2 h - 1 rounds of h pairs, a sweep, each column has met each
// other one.
namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kSweeps32 = 10, kSweeps64 = 14;  // the error of a sweep is the square of that before

Value* one(Emitter& e) { return e.constant<std::int64_t>(1); }

}  // namespace

// Those of a tournament: all places but the first take what is next to them, around both halves.
Rounds rounds(MapperContext& c, Value* columns, DType type) {
  Value* half = c.div(c.add(columns, one(c)), c.constant<std::int64_t>(2));
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
  return {half, c.maximum(c.mul(sweeps, last), c.constant<std::int64_t>(0)), order};
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
  Value* missing = c.reshape(c.emit("Mod", {columns, c.constant<std::int64_t>(2)}), {1});
  Value* zeros = c.expand(c.scalar_like(x, 0), c.concat({c.dims(x, 0, -1), missing}, 0));
  return c.concat({x, zeros}, -1);
}

// Columns in another order: [.., 1, as many as there are in a tensor with the shape of `like`].
Value* picked_columns(MapperContext& c, Value* x, Value* order, Value* like) {
  Value* at = c.expand(order, c.shape_of(like));
  return c.emit("GatherElements", {x, at}, {{"axis", std::int64_t{-1}}});
}

namespace {

// Turned until the columns, as far as their first `rows` go, are at right angles.
Value* orthogonal_columns(MapperContext& c, Value* x, Value* rows, Value* columns) {
  const Rounds r = rounds(c, columns, x->dtype());
  return counted_loop(c, r.count, {evened(c, x, columns)},
                      [&](Emitter& e, Value*, const Values& state) -> Values {
                        Value* left = columns_before(e, state[0], r.half);
                        Value* right = columns_from(e, state[0], r.half);
                        Value* upper_left = rows_before(e, left, rows);
                        Value* upper_right = rows_before(e, right, rows);
                        const auto product = [&](Value* a, Value* b) {
                          return e.reduce("ReduceSum", e.mul(a, b), Ints{-2}, true);
                        };
                        Value* p = product(upper_left, upper_left);
                        Value* q = product(upper_right, upper_right);
                        const Rotation rot = rotation(e, p, q, product(upper_left, upper_right));
                        return {turned(e, left, right, rot, r.order)};
                      })[0];
}

}  // namespace

bool is_wide(const Value* a) {
  if (!a->shape().ranked() || a->shape().rank() < 2) return false;
  const Shape& s = a->shape();
  return s[s.rank() - 2] >= 0 && s[s.rank() - 2] < s[s.rank() - 1];
}

bool wants_vectors(const MapperContext& c, std::initializer_list<std::size_t> outputs) {
  return std::any_of(outputs.begin(), outputs.end(), [&](std::size_t i) {
    return i < c.node().outputs().size() &&
           (c.node().output(i)->is_used() || c.node().output(i)->is_graph_output());
  });
}

Values with_vectors(MapperContext& c, const std::string& attr, Value* values, std::size_t count) {
  Values out{values};
  const bool none = c.attr_or<std::int64_t>(attr, 1) == 0;
  for (std::size_t i = 0; i < count; ++i) out.push_back(none ? c.scalar_like(values, 0) : nullptr);
  return out;
}

namespace {

// ---- singular values

}  // namespace

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

namespace {

// Of w, whose first `count` columns stand at right angles, columns of length 1 in their directions, also
// where those are (nearly) 0; full: as many as there are rows. They are a product of reflections, with which
// the columns of w become those of a diagonal matrix: right angles do not depend on how exact the columns
// are.
Value* basis(MapperContext& c, Value* w, Value* rows, Value* count, bool full) {
  w = c.div(w, column_sizes(c, c.abs(w)));
  const Values out = counted_loop(c, count, {w}, [rows](Emitter& e, Value* k, const Values& state) -> Values {
    const Reflector r = reflector(e, state[0], k, rows);
    return {reflected(e, state[0], r), e.mul(r.w, e.sqrt(r.tau))};
  });
  Value* start = first_of_basis(c, out[0], rows, count, full);
  Value* last = c.sub(count, one(c));
  return counted_loop(c, count, {start}, [&](Emitter& e, Value* step, const Values& state) -> Values {
    Value* k = e.squeeze(e.sub(last, step), {0});
    Value* root = e.gather(out[1], k, 0);
    Value* projection = e.reduce("ReduceSum", e.mul(root, state[0]), Ints{-2}, true);
    return {e.sub(state[0], e.mul(root, projection))};
  })[0];
}

struct Svd {
  Value *s, *u, *v;
};

// A V = W with columns at right angles, longest first: their lengths are s, their directions U.
Svd with_singular_vectors(MapperContext& c, Value* a, bool full) {
  Value* rows = c.dim(a, -2);
  Value* columns = c.dim(a, -1);
  Value* count = c.minimum(rows, columns);
  Value* eye = eye_like(c, a, columns);
  Value* x = orthogonal_columns(c, c.concat({a, eye}, -2), rows, columns);
  Value* w = rows_before(c, x, rows);
  Value* sizes = c.sqrt(c.reduce("ReduceSum", c.mul(w, w), Ints{-2}, true));
  const Values sorted = c.topk(sizes, c.reshape(columns, {1}), -1, true);
  Value* v = picked_columns(c, rows_from(c, x, rows), sorted[1], eye);
  Value* u = basis(c, picked_columns(c, w, sorted[1], a), rows, count, full);
  Value* s = c.squeeze(columns_before(c, sorted[0], count), {-2});
  return {s, u, full ? v : columns_before(c, v, count)};
}

Value* singular_values(MapperContext& c, Value* a) {
  Value* rows = c.dim(a, -2);
  Value* columns = c.dim(a, -1);
  Value* x = orthogonal_columns(c, a, rows, columns);
  Value* sizes = c.sqrt(c.reduce("ReduceSum", c.mul(x, x), Ints{-2}, false));
  Value* count = c.reshape(c.minimum(rows, columns), {1});
  return c.topk(sizes, count, -1, true)[0];
}

Values map_svd(MapperContext& c) {
  Value* a = matrix(c, 0);
  const bool wide = is_wide(a), full = c.flag("full_matrices");
  if (wide) a = transposed(c, a);  // fewer columns, the same values
  if (c.attr_or<std::int64_t>("compute_uv", 1) == 0 || !wants_vectors(c, {1, 2}))
    return with_vectors(c, "compute_uv", c.cast_like(singular_values(c, a), c.in(0)), 2);
  Svd d = with_singular_vectors(c, a, full);
  if (wide) std::swap(d.u, d.v);
  return {c.cast_like(d.s, c.in(0)), c.cast_like(d.u, c.in(0)), c.cast_like(d.v, c.in(0))};
}

// ---- symmetric matrices

}  // namespace

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

namespace {

struct Eigen {
  Value *values, *vectors;  // [.., 1, n], and null where nobody wants them
};

Eigen decomposed(MapperContext& c, bool vectors) {
  Value* a = matrix(c, 0);
  Value* n = c.dim(a, -1);
  const Rounds r = rounds(c, n, a->dtype());
  const auto step = [&](Emitter& e, Value*, const Values& state) -> Values {
    Value* left = columns_before(e, state[0], r.half);
    Value* right = columns_from(e, state[0], r.half);
    Value* p = diagonal(e, rows_before(e, left, r.half), r.half);
    Value* q = diagonal(e, rows_from(e, right, r.half), r.half);
    Value* x = diagonal(e, rows_before(e, right, r.half), r.half);
    const Rotation rot = rotation(e, p, q, x);
    Value* y = transposed(e, turned(e, left, right, rot, r.order));
    const auto columns_turned = [&](Value* m) {
      Value* first = columns_before(e, m, r.half);
      return turned(e, first, columns_from(e, m, r.half), rot, r.order);
    };
    Values after{columns_turned(y)};
    if (vectors) after.push_back(columns_turned(state[1]));
    return after;
  };
  Values initial{symmetric(c, a, n)};
  if (vectors) initial.push_back(evened(c, eye_like(c, a, n), n));
  const Values out = counted_loop(c, r.count, initial, step);
  Value* values = diagonal(c, out[0], c.add(r.half, r.half));
  const Values sorted = c.topk(values, c.reshape(n, {1}), -1, false);
  return {sorted[0], vectors ? picked_columns(c, out[1], sorted[1], a) : nullptr};
}

Values map_self_adjoint_eig(MapperContext& c) {
  const bool vectors = c.attr_or<std::int64_t>("compute_v", 1) != 0 && wants_vectors(c, {1});
  const Eigen d = decomposed(c, vectors);
  Value* e = c.cast_like(c.squeeze(d.values, {-2}), c.in(0));
  if (!vectors) return with_vectors(c, "compute_v", e, 1);
  return {e, c.cast_like(d.vectors, c.in(0))};
}

// The vectors below the values.
Values map_old_self_adjoint_eig(MapperContext& c) {
  const Eigen d = decomposed(c, true);
  return {c.cast_like(c.concat({d.values, d.vectors}, -2), c.in(0))};
}

// ---- least squares

// A V = W with columns at right angles: x = V (W^T W + l)^-1 W^T b. Columns of W that are as good as zero
// count for nothing, so that x is the shortest of those that do.
Values map_least_squares(MapperContext& c) {
  Value* a = matrix(c, 0);
  Value* b = matrix(c, 1);
  Value* rows = c.dim(a, -2);
  Value* columns = c.dim(a, -1);
  Value* both = c.concat({a, eye_like(c, a, columns)}, -2);
  Value* turned = orthogonal_columns(c, both, rows, columns);
  Value* w = rows_before(c, turned, rows);
  Value* squares = c.reduce("ReduceSum", c.mul(w, w), Ints{-2}, true);
  const double epsilon = c.in(0)->dtype() == DType::f64
                             ? std::numeric_limits<double>::epsilon()
                             : static_cast<double>(std::numeric_limits<float>::epsilon());
  Value* longest = c.cast_like(c.maximum(rows, columns), a);
  Value* share = c.mul(longest, c.scalar_like(a, epsilon));
  Value* greatest = c.reduce("ReduceMax", squares, Ints{-1}, true);
  Value* least = c.mul(greatest, c.mul(share, share));
  Value* counts = c.greater(squares, least);
  Value* divisor = squares;
  if (c.attr_or<std::int64_t>("fast", 1) != 0)
    divisor = c.add(squares, c.cast_like(c.reshape(c.in(2), {}), a));
  divisor = c.where(counts, divisor, c.scalar_like(a, 1));
  Value* kept = c.where(counts, w, c.scalar_like(a, 0));
  Value* v = rows_from(c, turned, rows);
  Value* weights = c.emit("MatMul", {transposed(c, c.div(kept, divisor)), b});
  return {c.cast_like(c.emit("MatMul", {v, weights}), c.in(0))};
}

}  // namespace

void register_linalg_jacobi(OpRegistry& r) {
  const std::string signs = "vectors have any signs, where values are equal any directions";
  r.op("SelfAdjointEigV2", "BatchSelfAdjointEigV2").note(signs).by(map_self_adjoint_eig);
  r.op("SelfAdjointEig", "BatchSelfAdjointEig").note(signs).by(map_old_self_adjoint_eig);
  r.op("Svd", "BatchSvd").note(signs).ignores({"full_matrices"}).by(map_svd);
  r.op("MatrixSolveLs", "BatchMatrixSolveLs").by(map_least_squares);
}

}  // namespace t2o::op_mappers
