#pragma once
#include "op_mappers/complex.h"
#include "op_mappers/linalg.h"

// Complex arithmetic on the real and imaginary parts.
namespace t2o::op_mappers {

inline Complex taken(Emitter& e, Value* here, Complex a, Complex b) {
  return {e.where(here, a.re, b.re), e.where(here, a.im, b.im)};
}
inline Complex product(Emitter& e, Complex a, Complex b) {
  Value* re = e.mul(a.re, b.re);
  re = e.sub(re, e.mul(a.im, b.im));
  Value* im = e.mul(a.re, b.im);
  return {re, e.add(im, e.mul(a.im, b.re))};
}
inline Complex difference(Emitter& e, Complex a, Complex b) {
  return {e.sub(a.re, b.re), e.sub(a.im, b.im)};
}
inline Complex conjugated(Emitter& e, Complex a) { return {a.re, e.neg(a.im)}; }
inline Value* square_of(Emitter& e, Complex z) {
  Value* re = e.mul(z.re, z.re);
  return e.add(re, e.mul(z.im, z.im));
}
inline Complex scaled(Emitter& e, Complex z, Value* scale) {
  Value* re = e.mul(z.re, scale);
  return {re, e.mul(z.im, scale)};
}
// A power of two for scaling a column. After it the square of the column's largest number at or below the pivot
// neither overflows nor vanishes. A power of two rounds nothing.
Value* scale_from(Emitter&, Complex column, Value* above);
// b has a square that is neither zero nor infinite.
inline Complex quotient(Emitter& e, Complex a, Complex b) {
  Value* square = square_of(e, b);
  const Complex y = product(e, a, conjugated(e, b));
  return {e.div(y.re, square), e.div(y.im, square)};
}

inline Complex halves(Emitter& e, Value* x) {  // of rows: [re; im]
  Value* n = e.div(e.dim(x, -2), e.i64(2));
  Value* re = rows_before(e, x, n);
  return {re, rows_from(e, x, n)};
}
inline Complex at(Emitter& e, Complex z, Value* k, std::int64_t axis) {
  return {e.gather(z.re, k, axis), e.gather(z.im, k, axis)};
}
inline Complex sum_of_rows(Emitter& e, Complex z) {
  Value* re = e.reduce("ReduceSum", z.re, Ints{-2}, true);
  return {re, e.reduce("ReduceSum", z.im, Ints{-2}, true)};
}
inline Complex adjoint(Emitter& e, Complex z) {
  Value* re = transposed(e, z.re);
  return {re, e.neg(transposed(e, z.im))};
}

// x - tau w w^H x with w = (0 .. 0, 1, tail / (x[k, k] - beta)), which leaves beta, a real number, at [k, k]
// of x, with m rows, and zeros below.
struct ComplexReflector {
  Complex w, tau;
};
ComplexReflector reflector(Emitter&, Complex x, Value* k, Value* m);
Complex reflected(Emitter&, Complex x, const ComplexReflector&);

void register_linalg_complex_factors(OpRegistry&);  // Lu, Qr
void register_linalg_complex_vectors(OpRegistry&);  // Svd, SelfAdjointEigV2

}  // namespace t2o::op_mappers
