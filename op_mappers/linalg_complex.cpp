
#include "op_mappers/linalg_complex.h"
#include "op_mappers/all.h"
#include "op_mappers/apply.h"
#include "op_mappers/loop.h"
#include "op_mappers/numbers.h"

// Matrices of complex numbers. A sum of products, or a solution of such, equals that of the real matrix [[re,
// -im], [im, re]] of twice the size, whose transpose is the adjoint.
namespace t2o::op_mappers {
namespace {

Values map_inverse(MapperContext& c) {
  const Complex z = parts(c, c.in(0));
  Value* inverse = apply_one(c, "MatrixInverse", {doubled(c, z)});
  return {pairs(c, halves(c, columns_before(c, inverse, c.dim(z.re, -1))))};
}

Complex solved(MapperContext& c, Complex a, Complex b) {
  return halves(c, apply_one(c, "MatrixSolve", {doubled(c, a), c.concat({b.re, b.im}, -2)}));
}

Values map_solve(MapperContext& c) {
  const Complex a = parts(c, c.in(0));
  return {pairs(c, solved(c, a, parts(c, c.in(1))))};
}

Complex expanded(MapperContext& c, Complex z, Value* batch_of) {
  Value* dims = c.concat({c.dims(batch_of, 0, -2), c.ints({1, 1})}, 0);
  return {c.expand(z.re, dims), c.expand(z.im, dims)};
}

// With the batch of both.
Complex solved_of_any_batch(MapperContext& c, Complex a, Complex b) {
  const auto is_matrix = [](const Value* v) { return v->shape().ranked() && v->shape().rank() == 2; };
  if (!is_matrix(a.re) || !is_matrix(b.re)) {
    b = expanded(c, b, a.re);
    a = expanded(c, a, b.re);
  }
  return solved(c, a, b);
}

Values map_triangular_solve(MapperContext& c) {
  Complex a = parts(c, c.in(0)), b = parts(c, c.in(1));
  Value* rows = row_numbers(c, c.dim(a.re, -1));
  Value* columns = iota(c, c.dim(a.re, -1));
  const bool lower = c.attr_or<std::int64_t>("lower", 1) != 0;
  Value* is_in = lower ? c.greater_equal(rows, columns) : c.less_equal(rows, columns);
  Value* zero = c.scalar_like(a.re, 0);
  a = {c.where(is_in, a.re, zero), c.where(is_in, a.im, zero)};
  return {pairs(c, solved_of_any_batch(c, a, b))};
}

Values map_banded_triangular_solve(MapperContext& c) {
  const Complex bands = parts(c, c.in(0)), b = parts(c, c.in(1));
  const bool lower = c.attr_or<std::int64_t>("lower", 1) != 0;
  Value* re = matrix_of_bands(c, bands.re, lower);
  return {pairs(c, solved_of_any_batch(c, {re, matrix_of_bands(c, bands.im, lower)}, b))};
}

Values map_tridiagonal_solve(MapperContext& c) {
  const Complex diagonals = parts(c, c.in(0)), b = parts(c, c.in(1));
  Value* re = matrix_of_diagonals(c, diagonals.re);
  return {pairs(c, solved(c, {re, matrix_of_diagonals(c, diagonals.im)}, b))};
}

Values map_least_squares(MapperContext& c) {
  const Complex a = parts(c, c.in(0)), b = parts(c, c.in(1));
  Value* both = doubled(c, a);
  return {pairs(c, halves(c, apply_one(c, "MatrixSolveLs", {both, c.concat({b.re, b.im}, -2), c.in(2)})))};
}

// ---- elimination with row exchanges, for determinants

struct Pivot {
  Complex rest;  // the matrix without what is below the pivot
  Complex element;
  Value *scale, *exchanged;  // of the element
};

Pivot eliminated(Emitter& e, Complex x, Value* k, Value* n) {
  Value* zero = e.scalar_like(x.re, 0);
  Value* rows = row_numbers(e, n);
  const Complex column = at(e, x, k, -1);
  Value* above = e.less(rows, k);
  Value* scale = scale_from(e, column, above);
  Value* sizes = square_of(e, scaled(e, column, scale));
  Value* candidates = e.where(above, e.scalar_like(x.re, -1), sizes);
  Value* best = e.emit("ArgMax", {candidates}, {{"axis", -2}, {"keepdims", 1}});
  Value* is_best = e.equal(rows, best);
  const auto picked = [&](Value* v) {
    return e.reduce("ReduceSum", e.where(is_best, v, zero), Ints{-2}, true);
  };
  const Complex row{picked(x.re), picked(x.im)};
  x = taken(e, e.equal(rows, k), row, taken(e, is_best, at(e, x, k, -2), x));
  const Complex element = at(e, row, k, -1);
  const Complex pivot = scaled(e, element, scale);
  Value* square = square_of(e, pivot);
  Value* is_none = e.equal(square, zero);
  Value* divisor = e.where(is_none, e.scalar_like(x.re, 1), square);
  const Complex inverse{e.div(pivot.re, divisor), e.neg(e.div(pivot.im, divisor))};
  const Complex factor = product(e, scaled(e, at(e, x, k, -1), scale), inverse);
  const Complex taken_away = product(e, factor, row);
  Value* is_below = e.logical_and(e.greater(rows, k), e.logical_not(is_none));
  const Complex less{e.sub(x.re, taken_away.re), e.sub(x.im, taken_away.im)};
  return {taken(e, is_below, less, x), element, scale, e.logical_not(e.equal(best, k))};
}

// The product of the pivots, or that of their directions and the sum of the logarithms of their sizes.
Values map_determinant(MapperContext& c) {
  const Complex z = parts(c, c.in(0));
  const bool by_logarithm = c.node().op() == "LogMatrixDeterminant";
  Value* n = c.dim(z.re, -1);
  Value* batch = c.concat({c.dims(z.re, 0, -2), c.ints({1, 1})}, 0);
  Value* one = c.expand(c.scalar_like(z.re, 1), batch);
  Value* zero = c.expand(c.scalar_like(z.re, 0), batch);
  const auto step = [&](Emitter& e, Value* k, const Values& state) -> Values {
    const Pivot p = eliminated(e, {state[0], state[1]}, k, n);
    Complex factor = p.element;
    Value* size = nullptr;
    if (by_logarithm) {
      const Complex pivot = scaled(e, factor, p.scale);
      size = e.sqrt(square_of(e, pivot));
      factor = {e.div(pivot.re, size), e.div(pivot.im, size)};
      size = e.div(size, p.scale);
    }
    const Complex d = product(e, {state[2], state[3]}, factor);
    const Complex turned = taken(e, p.exchanged, {e.neg(d.re), e.neg(d.im)}, d);
    Value* sum = by_logarithm ? e.add(state[4], e.log(size)) : e.identity(state[4]);
    return {p.rest.re, p.rest.im, turned.re, turned.im, sum};
  };
  const Values out = counted_loop(c, n, {z.re, z.im, one, zero, zero}, step);
  const auto flat = [&](Value* v) { return c.reshape_to(v, c.dims(z.re, 0, -2)); };
  Value* re = flat(out[2]);
  Value* d = pairs(c, {re, flat(out[3])});
  if (!by_logarithm) return {d};
  Value* size = flat(out[4]);
  return {d, pairs(c, {size, apply_one(c, "ZerosLike", {size})})};
}

// Column k of L is that of A / sqrt(A[k, k]); its product with its adjoint is taken away from A.
Values map_cholesky(MapperContext& c) {
  const Complex z = parts(c, c.in(0));
  Value* n = c.dim(z.re, -1);
  Value* zeros = c.expand(c.scalar_like(z.re, 0), c.shape_of(z.re));
  const auto step = [n](Emitter& e, Value* k, const Values& state) -> Values {
    const Complex column = at(e, {state[0], state[1]}, k, -1);
    Value* root = e.sqrt(e.gather(column.re, k, -2));
    Value* zero = e.scalar_like(root, 0);
    Value* rows = row_numbers(e, n);
    Value* re = e.where(e.less(rows, k), zero, e.div(column.re, root));
    Value* im = e.where(e.greater(rows, k), e.div(column.im, root), zero);
    Value* re_across = transposed(e, re);
    Value* im_across = transposed(e, im);
    const Complex less = product(e, {re, im}, {re_across, e.neg(im_across)});
    Value* here = e.equal(iota(e, n), k);
    return {e.sub(state[0], less.re), e.sub(state[1], less.im), e.where(here, re, state[2]),
            e.where(here, im, state[3])};
  };
  const Values out = counted_loop(c, n, {z.re, z.im, zeros, zeros}, step);
  return {pairs(c, {out[2], out[3]})};
}

// Linear in the diagonals, and in what they are multiplied with.
Values map_tridiagonal_product(MapperContext& c) {
  Values re, im;
  for (std::size_t i = 0; i < 3; ++i) {
    const Complex z = parts(c, c.in(i));
    re.push_back(z.re);
    im.push_back(z.im);
  }
  const Complex x = parts(c, c.in(3));
  const auto times = [&](Values diagonals, Value* by) {
    diagonals.push_back(by);
    return apply_one(c, c.node().op(), diagonals);
  };
  Value* rr = times(re, x.re);
  Value* ii = times(im, x.im);
  Value* ri = times(re, x.im);
  Value* ir = times(im, x.re);
  return {pairs(c, {c.sub(rr, ii), c.add(ri, ir)})};
}

}  // namespace

void register_linalg_complex(OpRegistry& r) {
  const std::string singular = "a singular matrix gives infinities or NaN instead of an error";
  r.complex("MatrixInverse").note(singular).by(map_inverse);
  r.complex("MatrixSolve").note(singular).by(map_solve);
  r.complex("MatrixTriangularSolve").note(singular).by(map_triangular_solve);
  r.complex("MatrixDeterminant", "BatchMatrixDeterminant", "LogMatrixDeterminant").by(map_determinant);
  r.complex("Cholesky")
      .note("a matrix that is not positive definite gives NaN instead of an error")
      .by(map_cholesky);
  register_linalg_complex_vectors(r);
  r.complex("BandedTriangularSolve").note(singular + "; by a dense matrix").by(map_banded_triangular_solve);
  r.complex("TridiagonalSolve").note(singular + "; by a dense matrix").by(map_tridiagonal_solve);
  r.complex("MatrixSolveLs").by(map_least_squares);
  register_linalg_complex_factors(r);
  r.complex("TridiagonalMatMul").by(map_tridiagonal_product);
}

}  // namespace t2o::op_mappers
