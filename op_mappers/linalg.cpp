#include "op_mappers/linalg.h"
#include "onnx/schema.h"
#include "op_mappers/all.h"
#include "op_mappers/loop.h"
#include "op_mappers/numbers.h"

// Matrices are the last two axes. The work on each row or column is a round of a Loop, so sizes need not be
// known. A round picks rows and columns by gathers that keep the axis, so the rank need not be known either.
namespace t2o::op_mappers {
namespace {

// Without a rank: [product of the batch, rows, columns], whose axes can be counted from the front.
Value* with_rank(MapperContext& c, Value* x) {
  if (x->shape().ranked()) return x;
  Value* batch = c.product(c.dims(x, 0, -2));
  Value* sizes = c.dims(x, -2, onnx::kToEnd);
  Value* y = c.reshape_to(x, c.concat({batch, sizes}, 0));
  c.graph().set_type(y, x->dtype(), Shape({kUnknownDim, kUnknownDim, kUnknownDim}));
  return y;
}
Value* with_batch(MapperContext& c, Value* flat, Value* x) {  // [batch, 1, 1] in the batch of x
  if (x->shape().ranked()) return c.squeeze(flat, {-2, -1});
  return c.reshape_to(flat, c.dims(x, 0, -2));
}

// ---- elimination with row exchanges

struct Pivot {
  Value *rows, *is_k;  // [n, 1]: row numbers, and which is row k
  Value* x;            // after the exchange of row k and the one with the largest element of column k
  Value *row, *element, *exchanged;  // row k, its element k, whether there was an exchange
};

Pivot exchange_rows(Emitter& e, Value* x, Value* k, Value* n) {
  Pivot p{};
  p.rows = row_numbers(e, n);
  p.is_k = e.equal(p.rows, k);
  Value* size = e.abs(e.gather(x, k, -1));
  Value* candidates = e.where(e.less(p.rows, k), e.scalar_like(x, -1), size);
  Value* best = e.emit("ArgMax", {candidates}, {{"axis", -2}, {"keepdims", 1}});
  Value* is_best = e.equal(p.rows, best);
  p.row = e.reduce("ReduceSum", e.where(is_best, x, e.scalar_like(x, 0)), Ints{-2}, true);
  Value* other = e.where(is_best, e.gather(x, k, -2), x);
  p.x = e.where(p.is_k, p.row, other);
  p.element = e.gather(p.row, k, -1);
  p.exchanged = e.logical_not(e.equal(best, k));
  return p;
}

// Gauss-Jordan: [A | B] becomes [1 | A^-1 B]
Value* eliminated(Emitter& c, Value* a, Value* b) {
  Value* n = c.dim(a, -2);
  Value* both = c.concat({a, b}, -1);
  const Values out = counted_loop(c, n, {both}, [n](Emitter& e, Value* k, const Values& state) -> Values {
    const Pivot p = exchange_rows(e, state[0], k, n);
    Value* row = e.div(p.row, p.element);
    Value* rest = e.sub(p.x, e.mul(e.gather(p.x, k, -1), row));
    return {e.where(p.is_k, row, rest)};
  });
  return columns_from(c, out[0], n);
}

Values map_inverse(MapperContext& c) {
  Value* inverse = inverted(c, matrix(c, 0));
  if (c.flag("adjoint")) inverse = transposed(c, inverse);
  return {c.cast_like(inverse, c.in(0))};
}

Values map_solve(MapperContext& c) {
  Value* a = matrix(c, 0);
  if (c.flag("adjoint")) a = transposed(c, a);
  return {c.cast_like(eliminated(c, a, matrix(c, 1)), c.in(1))};
}

// What is below the diagonal of an upper triangle is 0; a column without a pivot leaves the rows below as
// they are.
Value* eliminated_below(Emitter& e, const Pivot& p, Value* k) {
  Value* zero = e.scalar_like(p.x, 0);
  Value* factor = e.div(e.gather(p.x, k, -1), p.element);
  Value* is_below = e.logical_and(e.greater(p.rows, k), e.logical_not(e.equal(p.element, zero)));
  return e.where(is_below, e.sub(p.x, e.mul(factor, p.row)), p.x);
}

// det = the product of the pivots, with another sign for each exchange
Values map_log_determinant(MapperContext& c) {
  Value* whole = matrix(c, 0);
  Value* a = with_rank(c, whole);
  Value* n = c.dim(a, -2);
  Value* batch = c.concat({c.dims(a, 0, -2), c.ints({1, 1})}, 0);
  Value* one = c.expand(c.scalar_like(a, 1), batch);
  Value* zero = c.expand(c.scalar_like(a, 0), batch);
  const Values out =
      counted_loop(c, n, {a, one, zero}, [n](Emitter& e, Value* k, const Values& state) -> Values {
        const Pivot p = exchange_rows(e, state[0], k, n);
        Value* sign = e.mul(state[1], e.sign(p.element));
        Value* turned = e.where(p.exchanged, e.neg(sign), sign);
        Value* size = e.log(e.abs(p.element));
        return {eliminated_below(e, p, k), turned, e.add(state[2], size)};
      });
  Value* sign = with_batch(c, out[1], whole);
  Value* size = with_batch(c, out[2], whole);
  return {c.cast_like(sign, c.in(0)), c.cast_like(size, c.in(0))};
}

Value* determinant(MapperContext& c, Value* whole) {
  Value* a = with_rank(c, whole);
  Value* n = c.dim(a, -2);
  Value* one = c.expand(c.scalar_like(a, 1), c.concat({c.dims(a, 0, -2), c.ints({1, 1})}, 0));
  const Values out = counted_loop(c, n, {a, one}, [n](Emitter& e, Value* k, const Values& state) -> Values {
    const Pivot p = exchange_rows(e, state[0], k, n);
    Value* product = e.mul(state[1], p.element);
    Value* turned = e.where(p.exchanged, e.neg(product), product);
    return {eliminated_below(e, p, k), turned};
  });
  return with_batch(c, out[1], whole);
}

Values map_determinant(MapperContext& c) {
  Value* a = matrix(c, 0);
  const bool loses_digits =
      a->dtype() == DType::f64 && !onnx::kernel_types("Det", c.target()).has(DType::f64);
  if (loses_digits) return {determinant(c, a)};
  return {c.emit("Det", {c.in(0)})};
}

// Doolittle: the factors stand where the zeros would, rows of L included in the exchanges.
Values map_lu(MapperContext& c) {
  Value* a = matrix(c, 0);
  Value* n = c.dim(a, -2);
  Value* order =
      c.expand(c.cast(row_numbers(c, n), a->dtype()), c.concat({c.dims(a, 0, -2), c.ints({1, 1})}, 0));
  Value* both = c.concat({a, order}, -1);
  const Values out = counted_loop(c, n, {both}, [n](Emitter& e, Value* k, const Values& state) -> Values {
    const Pivot p = exchange_rows(e, state[0], k, n);
    Value* factor = e.div(e.gather(p.x, k, -1), p.element);
    Value* column = e.range(e.i64(0), e.add(n, e.i64(1)), e.i64(1));
    Value* beyond = e.logical_and(e.greater(column, k), e.less(column, n));
    Value* below = e.greater(p.rows, k);
    Value* rest = e.where(e.logical_and(below, beyond), e.sub(p.x, e.mul(factor, p.row)), p.x);
    Value* here = e.logical_and(below, e.equal(column, k));
    return {e.where(here, factor, rest)};
  });
  Value* permutation = c.squeeze(columns_from(c, out[0], n), {-1});
  return {c.cast_like(columns_before(c, out[0], n), c.in(0)), c.cast(permutation, c.output_dtype(1))};
}

// ---- triangles

// The rows of the result one after the other, each taken out of the rows still to come. Only the triangle is
// read.
Value* substituted(MapperContext& c, Value* a, Value* b, bool lower) {
  Value* n = c.dim(a, -2);
  return counted_loop(c, n, {b}, [a, n, lower](Emitter& e, Value* step, const Values& state) -> Values {
    Value* x = state[0];
    Value* k = step;
    if (!lower) k = e.sub(e.sub(n, e.i64(1)), step);
    Value* rows = row_numbers(e, n);
    Value* column = e.gather(a, k, -1);
    Value* row = e.div(e.gather(x, k, -2), e.gather(column, k, -2));
    Value* rest = e.sub(x, e.mul(column, row));
    Value* to_come = lower ? e.greater(rows, k) : e.less(rows, k);
    Value* is_k = e.equal(rows, k);
    return {e.where(is_k, row, e.where(to_come, rest, x))};
  })[0];
}

bool have_same_batch(const Value* a, const Value* b) {
  const Shape &x = a->shape(), &y = b->shape();
  if (!x.ranked() || !y.ranked() || x.rank() != y.rank()) return false;
  for (int i = 0; i + 2 < x.rank(); ++i)
    if (x[i] != y[i] || x[i] == kUnknownDim) return false;
  return true;
}

Values map_triangular_solve(MapperContext& c) {
  Value* a = matrix(c, 0);
  Value* b = matrix(c, 1);
  if (!have_same_batch(a, b)) b = c.expand(b, c.concat({c.dims(a, 0, -2), c.ints({1, 1})}, 0));
  const bool lower = c.attr_or<std::int64_t>("lower", 1) != 0, adjoint = c.flag("adjoint");
  if (adjoint) a = transposed(c, a);
  return {c.cast_like(substituted(c, a, b, lower != adjoint), c.in(1))};
}

Values map_banded_triangular_solve(MapperContext& c) {
  Value* bands = matrix(c, 0);
  Value* b = matrix(c, 1);
  const bool lower = c.attr_or<std::int64_t>("lower", 1) != 0, adjoint = c.flag("adjoint");
  Value* dense = matrix_of_bands(c, bands, lower);
  if (adjoint) dense = transposed(c, dense);
  if (!have_same_batch(dense, b)) b = c.expand(b, c.concat({c.dims(dense, 0, -2), c.ints({1, 1})}, 0));
  return {c.cast_like(substituted(c, dense, b, lower != adjoint), c.in(1))};
}

// Column k of L is that of A / sqrt(A[k, k]); L[:, k] L[:, k]^T is taken away from A. The upper triangle is
// not read.
Values map_cholesky(MapperContext& c) {
  Value* a = matrix(c, 0);
  Value* n = c.dim(a, -2);
  Value* zeros = c.expand(c.scalar_like(a, 0), c.shape_of(a));
  const Values out = counted_loop(c, n, {a, zeros}, [n](Emitter& e, Value* k, const Values& state) -> Values {
    Value* column = e.gather(state[0], k, -1);
    Value* scaled = e.div(column, e.sqrt(e.gather(column, k, -2)));
    Value* above = e.less(row_numbers(e, n), k);
    Value* l = e.where(above, e.scalar_like(column, 0), scaled);
    Value* rest = e.sub(state[0], e.mul(l, transposed(e, l)));
    Value* here = e.equal(iota(e, n), k);
    return {rest, e.where(here, l, state[1])};
  });
  return {c.cast_like(out[1], c.in(0))};
}

// ---- Qr

Values map_qr(MapperContext& c) {
  Value* a = matrix(c, 0);
  Value* m = c.dim(a, -2);
  Value* n = c.dim(a, -1);
  Value* least = c.minimum(m, n);
  Value* both = c.concat({a, eye_like(c, a, m)}, -1);
  Value* x = counted_loop(c, least, {both}, [m](Emitter& e, Value* k, const Values& state) -> Values {
    return {reflected(e, state[0], reflector(e, state[0], k, m))};
  })[0];
  Value* below = c.greater(row_numbers(c, m), iota(c, n));
  Value* r = c.where(below, c.scalar_like(x, 0), columns_before(c, x, n));
  Value* q = transposed(c, columns_from(c, x, n));
  if (!c.flag("full_matrices")) {
    r = rows_before(c, r, least);
    q = columns_before(c, q, least);
  }
  return {c.cast_like(q, c.in(0)), c.cast_like(r, c.in(0))};
}

// ---- three diagonals

Values map_tridiagonal_solve(MapperContext& c) {
  Value* dense = matrix_of_diagonals(c, matrix(c, 0));
  return {c.cast_like(eliminated(c, dense, matrix(c, 1)), c.in(1))};
}

// above[i] x[i + 1] + main[i] x[i] + below[i] x[i - 1]
Values map_tridiagonal_mat_mul(MapperContext& c) {
  Value* x = c.in(3);
  Value* n = c.dim(x, -2);
  Value* one = c.i64(1);
  Value* zero = c.i64(0);
  Value* last = c.sub(n, one);
  Value* places = iota(c, n);
  Value* rows = row_numbers(c, n);
  Value* next = c.gather(x, c.minimum(c.add(places, one), last), -2);
  Value* previous = c.gather(x, c.maximum(c.sub(places, one), zero), -2);
  Value* none = c.scalar_like(x, 0);
  Value* above = c.where(c.less(rows, last), c.mul(transposed(c, c.in(0)), next), none);
  Value* on = c.mul(transposed(c, c.in(1)), x);
  Value* below = c.where(c.greater(rows, zero), c.mul(transposed(c, c.in(2)), previous), none);
  return {c.add(c.add(above, on), below)};
}

}  // namespace

Value* inverted(Emitter& e, Value* a) { return eliminated(e, a, eye_like(e, a, e.dim(a, -2))); }

void register_linalg(OpRegistry& r) {
  const std::string singular = "a singular matrix gives infinities or NaN instead of an error";
  r.op("MatrixInverse", "BatchMatrixInverse").note(singular).by(map_inverse);
  r.op("MatrixSolve", "BatchMatrixSolve").note(singular).by(map_solve);
  r.op("MatrixTriangularSolve", "BatchMatrixTriangularSolve").note(singular).by(map_triangular_solve);
  r.op("MatrixDeterminant", "BatchMatrixDeterminant").by(map_determinant);
  r.op("LogMatrixDeterminant").by(map_log_determinant);
  r.op("Lu").note(singular).by(map_lu);
  r.op("Cholesky", "BatchCholesky")
      .note("a matrix that is not positive definite gives NaN instead of an error")
      .by(map_cholesky);
  r.op("Qr").by(map_qr);
  r.op("TridiagonalSolve").note(singular + "; by a dense matrix").by(map_tridiagonal_solve);
  r.op("TridiagonalMatMul").by(map_tridiagonal_mat_mul);
  r.op("BandedTriangularSolve").note(singular + "; by a dense matrix").by(map_banded_triangular_solve);
  register_linalg_jacobi(r);
  register_linalg_functions(r);
}

}  // namespace t2o::op_mappers
