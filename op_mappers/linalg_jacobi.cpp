#include <limits>
#include <utility>

#include "op_mappers/linalg_jacobi.h"
#include "op_mappers/loop.h"

// Jacobi's rotations. Each round turns all columns in pairs: the first of the left half with the first of the
// right half, and so on. After 2 h - 1 rounds of h pairs, a sweep, each column has met every other one.
namespace t2o::op_mappers {
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

// ---- singular values

// The first `count` columns of w are at right angles. Gives columns of length 1 in their directions, also
// where a column is (nearly) 0; with `full`, as many columns as rows. They are a product of the reflections
// that make the columns of w those of a diagonal matrix, so the right angles do not depend on how exact the
// columns are.
Value* basis(MapperContext& c, Value* w, Value* rows, Value* count, bool full) {
  w = c.div(w, column_sizes(c, c.abs(w)));
  const Values out = counted_loop(c, count, {w}, [rows](Emitter& e, Value* k, const Values& state) -> Values {
    const Reflector r = reflector(e, state[0], k, rows);
    return {reflected(e, state[0], r), e.mul(r.w, e.sqrt(r.tau))};
  });
  Value* start = first_of_basis(c, out[0], rows, count, full);
  Value* last = c.sub(count, c.i64(1));
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
  Value* scale = scale_of_matrix(c, c.abs(a));
  a = c.mul(a, scale);
  const auto restored = [&](Value* s) { return c.cast_like(c.div(s, c.squeeze(scale, {-1})), c.in(0)); };
  if (c.attr_or<std::int64_t>("compute_uv", 1) == 0 || !wants_vectors(c, {1, 2}))
    return with_vectors(c, "compute_uv", restored(singular_values(c, a)), 2);
  Svd d = with_singular_vectors(c, a, full);
  if (wide) std::swap(d.u, d.v);
  return {restored(d.s), c.cast_like(d.u, c.in(0)), c.cast_like(d.v, c.in(0))};
}

// ---- symmetric matrices

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
  Value* weights = c.matmul(transposed(c, c.div(kept, divisor)), b);
  return {c.cast_like(c.matmul(v, weights), c.in(0))};
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
