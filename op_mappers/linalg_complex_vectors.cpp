#include <limits>
#include <utility>

#include "op_mappers/apply.h"
#include "op_mappers/linalg_complex.h"
#include "op_mappers/linalg_jacobi.h"
#include "op_mappers/loop.h"
#include "op_mappers/numbers.h"

// Svd and SelfAdjointEigV2 of complex numbers. The values are those of the real matrix [[re, -im], [im, re]],
// which has each of them twice. Its vectors do not help where values are equal. So with vectors, Jacobi's
// rotations turn complex columns: the second column is multiplied by a phase first, then the rotation is
// real.
namespace t2o::op_mappers {
namespace {

struct Turn {
  Value *half, *order;
  Rotation rotation;
  Complex phase;
};

// Of the columns of which [p, x; conj x, q] are the products.
Turn turn(Emitter& e, const Rounds& r, Value* p, Value* q, Complex x) {
  Value* re_size = e.abs(x.re);
  Value* most = e.maximum(re_size, e.abs(x.im));  // the squares of small numbers would be 0
  Value* one = e.scalar_like(most, 1);
  Value* is_none = e.equal(most, e.scalar_like(most, 0));
  Value* divisor = e.where(is_none, one, most);
  Value* scaled_re = e.where(is_none, one, e.div(x.re, divisor));
  const Complex scaled{scaled_re, e.div(x.im, divisor)};
  Value* length = e.sqrt(square_of(e, scaled));
  Value* re = e.div(scaled.re, length);
  const Complex phase{re, e.div(scaled.im, length)};
  Value* size = e.mul(most, length);
  return {r.half, r.order, rotation(e, p, q, size), phase};
}

Complex side(Emitter& e, Complex z, Value* half, bool right) {
  const auto part = [&](Value* v) { return right ? columns_from(e, v, half) : columns_before(e, v, half); };
  Value* re = part(z.re);
  return {re, part(z.im)};
}

Complex turned(Emitter& e, Complex z, const Turn& t) {
  const Complex left = side(e, z, t.half, false);
  const Complex right = product(e, side(e, z, t.half, true), conjugated(e, t.phase));
  Value* re = turned(e, left.re, right.re, t.rotation, t.order);
  return {re, turned(e, left.im, right.im, t.rotation, t.order)};
}

Complex rows_of(Emitter& e, Complex z, Value* rows, bool below) {
  Value* re = below ? rows_from(e, z.re, rows) : rows_before(e, z.re, rows);
  return {re, below ? rows_from(e, z.im, rows) : rows_before(e, z.im, rows)};
}

Complex picked(MapperContext& c, Complex z, Value* order, Value* like) {
  Value* re = picked_columns(c, z.re, order, like);
  return {re, picked_columns(c, z.im, order, like)};
}

Value* zeros_like(Emitter& e, Value* x) { return e.mul(x, e.scalar_like(x, 0)); }

Value* as_complex(MapperContext& c, Value* re) { return pairs(c, {re, apply_one(c, "ZerosLike", {re})}); }

Value* every_second(MapperContext& c, Value* sorted) {
  return as_complex(c, c.slice(sorted, {0}, {std::numeric_limits<std::int64_t>::max()}, {-1}, {2}));
}

Values without_vectors(MapperContext& c, const std::string& attr, Value* values, std::size_t count) {
  Values out = with_vectors(c, attr, parts(c, values).re, count);
  out[0] = values;
  for (std::size_t i = 1; i < out.size(); ++i)
    if (out[i]) out[i] = pairs(c, {out[i], out[i]});
  return out;
}

// ---- singular values

// As basis() of linalg_jacobi.cpp: the reflections' product, one after the other.
Complex basis(MapperContext& c, Complex w, Value* rows, Value* count, bool full) {
  Value* absolute = c.abs(w.re);
  Value* sizes = column_sizes(c, c.add(absolute, c.abs(w.im)));
  Value* re = c.div(w.re, sizes);
  w = {re, c.div(w.im, sizes)};
  const auto reflect = [rows](Emitter& e, Value* k, const Values& state) -> Values {
    const ComplexReflector r = reflector(e, {state[0], state[1]}, k, rows);
    const Complex x = reflected(e, {state[0], state[1]}, r);
    return {x.re, x.im, r.w.re, r.w.im, r.tau.re, r.tau.im};
  };
  const Values out = counted_loop(c, count, {w.re, w.im}, reflect);
  Value* start = first_of_basis(c, out[0], rows, count, full);
  Value* last = c.sub(count, c.i64(1));
  const auto back = [&](Emitter& e, Value* step, const Values& state) -> Values {
    Value* k = e.squeeze(e.sub(last, step), {0});
    const Complex root = at(e, {out[2], out[3]}, k, 0), tau = at(e, {out[4], out[5]}, k, 0);
    const Complex x = reflected(e, {state[0], state[1]}, {root, conjugated(e, tau)});
    return {x.re, x.im};
  };
  const Values u = counted_loop(c, count, {start, zeros_like(c, start)}, back);
  return {u[0], u[1]};
}

struct ComplexSvd {
  Value* s;
  Complex u, v;
};

ComplexSvd with_singular_vectors(MapperContext& c, Complex a, bool full) {
  Value* rows = c.dim(a.re, -2);
  Value* columns = c.dim(a.re, -1);
  Value* count = c.minimum(rows, columns);
  Value* eye = eye_like(c, a.re, columns);
  const Rounds r = rounds(c, columns, a.re->dtype());
  Value* re = evened(c, c.concat({a.re, eye}, -2), columns);
  Value* im = evened(c, c.concat({a.im, zeros_like(c, eye)}, -2), columns);
  const auto step = [&](Emitter& e, Value*, const Values& state) -> Values {
    const Complex both{state[0], state[1]}, upper = rows_of(e, both, rows, false);
    const Complex left = side(e, upper, r.half, false), right = side(e, upper, r.half, true);
    Value* p = e.reduce("ReduceSum", square_of(e, left), Ints{-2}, true);
    Value* q = e.reduce("ReduceSum", square_of(e, right), Ints{-2}, true);
    const Complex x = sum_of_rows(e, product(e, conjugated(e, left), right));
    const Complex y = turned(e, both, turn(e, r, p, q, x));
    return {y.re, y.im};
  };
  const Values out = counted_loop(c, r.count, {re, im}, step);
  const Complex w = rows_of(c, {out[0], out[1]}, rows, false);
  Value* sizes = c.sqrt(c.reduce("ReduceSum", square_of(c, w), Ints{-2}, true));
  const Values sorted = c.topk(sizes, c.reshape(columns, {1}), -1, true);
  Complex v = picked(c, rows_of(c, {out[0], out[1]}, rows, true), sorted[1], eye);
  const Complex u = basis(c, picked(c, w, sorted[1], a.re), rows, count, full);
  Value* s = c.squeeze(columns_before(c, sorted[0], count), {-2});
  if (!full) v = side(c, v, count, false);
  return {s, u, v};
}

Values map_svd(MapperContext& c) {
  const Complex z = parts(c, c.in(0));
  const bool full = c.flag("full_matrices");
  if (c.attr_or<std::int64_t>("compute_uv", 1) == 0 || !wants_vectors(c, {1, 2}))
    return without_vectors(c, "compute_uv", every_second(c, apply_one(c, "Svd", {doubled(c, z)})), 2);
  const bool wide = is_wide(z.re);
  Value* re = c.abs(z.re);
  Value* scale = scale_of_matrix(c, c.add(re, c.abs(z.im)));
  const Complex moderate = scaled(c, z, scale);
  ComplexSvd d = with_singular_vectors(c, wide ? adjoint(c, moderate) : moderate, full);
  if (wide) std::swap(d.u, d.v);
  Value* s = as_complex(c, c.div(d.s, c.squeeze(scale, {-1})));
  Value* u = pairs(c, d.u);
  return {s, u, pairs(c, d.v)};
}

// ---- self-adjoint matrices

// Only the lower triangle tells, and of the diagonal the real parts.
Value* imaginary_part(MapperContext& c, Value* im) {
  Value* rows = row_numbers(c, c.dim(im, -1));
  Value* columns = iota(c, c.dim(im, -1));
  Value* mirrored = c.neg(transposed(c, im));
  Value* upper = c.where(c.less(rows, columns), mirrored, c.scalar_like(im, 0));
  return c.where(c.greater(rows, columns), im, upper);
}

Values with_eigenvectors(MapperContext& c, Complex z) {
  Value* n = c.dim(z.re, -1);
  const Rounds r = rounds(c, n, z.re->dtype());
  const auto step = [&](Emitter& e, Value*, const Values& state) -> Values {
    const Complex a{state[0], state[1]};
    const Complex left = side(e, a, r.half, false), right = side(e, a, r.half, true);
    Value* p = diagonal(e, rows_before(e, left.re, r.half), r.half);
    Value* q = diagonal(e, rows_from(e, right.re, r.half), r.half);
    const Complex corner = rows_of(e, right, r.half, false);
    Value* re = diagonal(e, corner.re, r.half);
    const Turn t = turn(e, r, p, q, {re, diagonal(e, corner.im, r.half)});
    const Complex y = turned(e, adjoint(e, turned(e, a, t)), t);
    const Complex v = turned(e, {state[2], state[3]}, t);
    return {y.re, y.im, v.re, v.im};
  };
  Value* im = transposed(c, evened(c, imaginary_part(c, z.im), n));
  Value* eye = evened(c, eye_like(c, z.re, n), n);
  const Values initial{symmetric(c, z.re, n), evened(c, c.neg(im), n), eye, zeros_like(c, eye)};
  const Values out = counted_loop(c, r.count, initial, step);
  Value* values = diagonal(c, out[0], c.add(r.half, r.half));
  const Values sorted = c.topk(values, c.reshape(n, {1}), -1, false);
  Value* e = as_complex(c, c.squeeze(sorted[0], {-2}));
  return {e, pairs(c, picked(c, {out[2], out[3]}, sorted[1], z.re))};
}

Values map_self_adjoint_eig(MapperContext& c) {
  const Complex z = parts(c, c.in(0));
  if (c.attr_or<std::int64_t>("compute_v", 1) != 0 && wants_vectors(c, {1})) return with_eigenvectors(c, z);
  Value* both = doubled(c, {z.re, imaginary_part(c, z.im)});
  return without_vectors(c, "compute_v", every_second(c, apply_one(c, "SelfAdjointEigV2", {both})), 1);
}

}  // namespace

void register_linalg_complex_vectors(OpRegistry& r) {
  const std::string any = "vectors have any phases, where values are equal any directions";
  r.complex("Svd", "BatchSvd").note(any).ignores({"full_matrices"}).by(map_svd);
  r.complex("SelfAdjointEigV2").note(any).by(map_self_adjoint_eig);
}

}  // namespace t2o::op_mappers
