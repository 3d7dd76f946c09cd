#include <limits>

#include "op_mappers/complex.h"
#include "op_mappers/linalg.h"
#include "op_mappers/loop.h"

// Functions of matrices, in f64: what is exact to the last digits of f32 takes more of them on the way.
namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kIterations =
    30;                             // of Newton's method; each halves the distance, near the root squares it
constexpr std::int64_t kRoots = 8;  // before a logarithm: its series is for numbers near 1
constexpr int kTerms = 10;          // of that series

Value* number(Emitter& e, double v) { return e.constant(v); }

Value* greatest_column(Emitter& e, Value* x) {  // the sum of its absolute values
  return e.reduce("ReduceMax", e.reduce("ReduceSum", e.abs(x), Ints{-2}, true), Ints{-1}, true);
}

// Denman and Beavers, in the form of products: M converges to 1, X to the root. Without a root (a negative
// eigenvalue) they do not converge. The square of X shows that; the result is then NaN, as in TensorFlow.
Value* square_root(Emitter& c, Value* a) {
  Value* eye = eye_like(c, a, c.dim(a, -1));
  Value* size = greatest_column(c, a);
  Value* x = c.div(a, size);
  const auto step = [&](Emitter& e, Value*, const Values& state) -> Values {
    Value* inverse = inverted(e, state[0]);
    Value* mean = e.mul(e.add(state[0], inverse), number(e, 0.5));
    Value* factor = e.mul(e.add(eye, inverse), number(e, 0.5));
    return {e.mul(e.add(eye, mean), number(e, 0.5)), e.matmul(state[1], factor)};
  };
  x = counted_loop(c, c.constant(kIterations), {x, x}, step)[1];
  x = c.mul(x, c.sqrt(size));
  Value* difference = greatest_column(c, c.sub(c.matmul(x, x), a));
  Value* is_root = c.less(difference, c.mul(size, number(c, 1e-6)));
  return c.where(is_root, x, number(c, std::numeric_limits<double>::quiet_NaN()));
}

// log A = 2^k log R, R = A^(1/2^k); log R = 2 (W + W^3 / 3 + W^5 / 5 ...), W = (R - 1) (R + 1)^-1
Value* logarithm(Emitter& c, Value* a) {
  const auto root = [](Emitter& e, Value*, const Values& state) -> Values {
    return {square_root(e, state[0])};
  };
  Value* r = counted_loop(c, c.constant(kRoots), {a}, root)[0];
  Value* eye = eye_like(c, a, c.dim(a, -1));
  Value* above = c.add(r, eye);
  Value* w = c.emit("MatMul", {c.sub(r, eye), inverted(c, above)});
  Value* square = c.matmul(w, w);
  Value* sum = c.mul(eye, number(c, 1.0 / (2 * kTerms + 1)));
  for (int i = kTerms - 1; i >= 0; --i) {
    Value* more = c.matmul(square, sum);
    sum = c.add(more, c.mul(eye, number(c, 1.0 / (2 * i + 1))));
  }
  return c.mul(c.matmul(w, sum), number(c, static_cast<double>(std::int64_t{2} << kRoots)));
}

using Function = Value* (*)(Emitter&, Value*);

Values map_square_root(MapperContext& c) {
  return {c.cast_like(square_root(c, c.cast(c.in(0), DType::f64)), c.in(0))};
}

// That of the real matrix [[re, -im], [im, re]] has the parts in the same places.
template <Function f>
Values map_of_complex(MapperContext& c) {
  const Complex z = parts(c, c.in(0));
  Value* re = c.cast(z.re, DType::f64);
  Value* y = columns_before(c, f(c, doubled(c, {re, c.cast(z.im, DType::f64)})), c.dim(z.re, -1));
  Value* n = c.dim(z.re, -2);
  Value* upper = c.cast_like(rows_before(c, y, n), z.re);
  return {pairs(c, {upper, c.cast_like(rows_from(c, y, n), z.re)})};
}

}  // namespace

void register_linalg_functions(OpRegistry& r) {
  const std::string limit = "a matrix with negative or zero eigenvalues gives NaN";
  r.op("MatrixSquareRoot").note(limit).by(map_square_root);
  r.complex("MatrixSquareRoot").note(limit).by(map_of_complex<square_root>);
  r.complex("MatrixLogarithm").note(limit).by(map_of_complex<logarithm>);
}

}  // namespace t2o::op_mappers
