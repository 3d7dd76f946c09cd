#include "op_mappers/all.h"
#include "op_mappers/apply.h"
#include "op_mappers/complex.h"

namespace t2o::op_mappers {
namespace {

// ---- arithmetic; a and b broadcast

// a b + x y
Value* two_products(MapperContext& c, Value* a, Value* b, Value* x, Value* y) {
  Value* left = c.mul(a, b);
  return c.add(left, c.mul(x, y));
}

Complex times(MapperContext& c, Complex a, Complex b) {
  if (surely_zero(b.im)) return {c.mul(a.re, b.re), c.mul(a.im, b.re)};
  if (surely_zero(a.im)) return {c.mul(a.re, b.re), c.mul(a.re, b.im)};
  Value* square = c.mul(a.re, b.re);
  Value* re = c.sub(square, c.mul(a.im, b.im));
  return {re, two_products(c, a.re, b.im, a.im, b.re)};
}

Complex scaled(MapperContext& c, Complex z, Value* factor) {
  return {c.mul(z.re, factor), c.mul(z.im, factor)};
}

// d = z scaled by its larger part, and |z|^2 in the same scale, which does not overflow
Value* norm_by_scale(MapperContext& c, Complex z, Complex& d) {
  Value* re = c.abs(z.re);
  Value* larger = c.maximum(re, c.abs(z.im));
  d = {c.div(z.re, larger), c.div(z.im, larger)};
  return two_products(c, z.re, d.re, z.im, d.im);
}

Complex divided(MapperContext& c, Complex a, Complex b) {
  if (surely_zero(b.im)) return {c.div(a.re, b.re), c.div(a.im, b.re)};
  Complex d{};
  Value* norm = norm_by_scale(c, b, d);
  const Complex n = times(c, a, {d.re, c.neg(d.im)});
  return {c.div(n.re, norm), c.div(n.im, norm)};
}

Complex reciprocal(MapperContext& c, Complex z) {
  Complex d{};
  Value* norm = norm_by_scale(c, z, d);
  return {c.div(d.re, norm), c.neg(c.div(d.im, norm))};
}

Complex square(MapperContext& c, Complex z) {
  Value* left = c.mul(z.re, z.re);
  Value* re = c.sub(left, c.mul(z.im, z.im));
  Value* product = c.mul(z.re, z.im);
  return {re, c.add(product, product)};
}

Value* is_zero(MapperContext& c, Complex z) {
  Value* zero = c.scalar_like(z.re, 0);
  Value* re = c.equal(z.re, zero);
  return c.logical_and(re, c.equal(z.im, zero));
}

Complex zero_where(MapperContext& c, Value* condition, Complex z) {
  Value* zero = c.scalar_like(z.re, 0);
  return {c.where(condition, zero, z.re), c.where(condition, zero, z.im)};
}

Complex divided_no_nan(MapperContext& c, Complex a, Complex b) {
  const Complex quotient = divided(c, a, b);
  return zero_where(c, is_zero(c, b), quotient);
}

Complex times_no_nan(MapperContext& c, Complex a, Complex b) {
  const Complex product = times(c, a, b);
  return zero_where(c, is_zero(c, b), product);
}

// ---- functions

Value* magnitude(MapperContext& c, Complex z) { return c.sqrt(two_products(c, z.re, z.re, z.im, z.im)); }

Complex exponential(MapperContext& c, Complex z) {  // exp(re) (cos(im) + i sin(im))
  Value* size = c.exp(z.re);
  Value* cosine = c.cos(z.im);
  return scaled(c, {cosine, c.sin(z.im)}, size);
}

Complex logarithm(MapperContext& c, Complex z) {  // log|z| + i arg(z)
  Value* re = c.log(magnitude(c, z));
  return {re, apply_one(c, "Atan2", {z.im, z.re})};
}

// With t = sqrt((|z| + |re|) / 2): t + i im / 2t where re >= 0, else |im| / 2t +- i t. No digits cancel.
Complex square_root(MapperContext& c, Complex z) {
  Value* zero = c.scalar_like(z.re, 0);
  Value* half = c.scalar_like(z.re, 0.5);
  Value* size = magnitude(c, z);
  Value* t = c.sqrt(c.mul(c.add(size, c.abs(z.re)), half));
  Value* quotient = c.div(c.mul(z.im, half), t);
  Value* other = c.where(c.equal(t, zero), zero, quotient);
  Value* left = c.less(z.re, zero);
  Value* minus_t = c.neg(t);
  Value* signed_t = c.where(c.less(z.im, zero), minus_t, t);
  Value* re = c.where(left, c.abs(other), t);
  return {re, c.where(left, signed_t, other)};
}

Complex reciprocal_root(MapperContext& c, Complex z) { return reciprocal(c, square_root(c, z)); }

// exp(y log(x)); 0 where x is and the real part of y is above 0
Complex power(MapperContext& c, Complex x, Complex y) {
  const Complex general = exponential(c, times(c, y, logarithm(c, x)));
  Value* x_is_zero = is_zero(c, x);
  return zero_where(c, c.logical_and(x_is_zero, c.greater(y.re, c.scalar_like(y.re, 0))), general);
}

Complex logarithm_1p(MapperContext& c, Complex z) {
  return logarithm(c, {c.add(z.re, c.scalar_like(z.re, 1)), z.im});
}

Complex exponential_m1(MapperContext& c, Complex z) {
  const Complex e = exponential(c, z);
  return {c.sub(e.re, c.scalar_like(e.re, 1)), e.im};
}

// f(re) g(im)
Value* product_of(MapperContext& c, const char* f, const char* g, Complex z) {
  Value* left = c.emit(f, {z.re});
  return c.mul(left, apply_one(c, g, {z.im}));
}

Complex sine(MapperContext& c, Complex z) {  // sin(re) cosh(im) + i cos(re) sinh(im)
  return {product_of(c, "Sin", "Cosh", z), product_of(c, "Cos", "Sinh", z)};
}

Complex cosine(MapperContext& c, Complex z) {  // cos(re) cosh(im) - i sin(re) sinh(im)
  return {product_of(c, "Cos", "Cosh", z), c.neg(product_of(c, "Sin", "Sinh", z))};
}

Complex hyperbolic_sine(MapperContext& c, Complex z) {  // -i sin(i z)
  const Complex s = sine(c, {c.neg(z.im), z.re});
  return {s.im, c.neg(s.re)};
}
Complex hyperbolic_cosine(MapperContext& c, Complex z) { return cosine(c, {c.neg(z.im), z.re}); }

// tanh(z) = (T (1 + tan^2) + i tan (1 - T^2)) / (1 + T^2 tan^2), T = tanh(re), tan = tan(im): T cannot
// overflow
Complex hyperbolic_tangent(MapperContext& c, Complex z) {
  Value* one = c.scalar_like(z.re, 1);
  Value* t = c.emit("Tanh", {z.re});
  Value* sin = c.sin(z.im);
  Value* cos = c.cos(z.im);
  // both sides times cos^2
  Value* t2 = c.mul(t, t);
  Value* sin2 = c.mul(sin, sin);
  Value* denominator = two_products(c, cos, cos, t2, sin2);
  Value* im = c.mul(sin, cos);
  im = c.mul(im, c.sub(one, t2));
  return {c.div(t, denominator), c.div(im, denominator)};
}

Complex tangent(MapperContext& c, Complex z) {  // -i tanh(i z)
  const Complex t = hyperbolic_tangent(c, {c.neg(z.im), z.re});
  return {t.im, c.neg(t.re)};
}

Complex sigmoid(MapperContext& c, Complex z) {  // 1 / (1 + exp(-z))
  const Complex e = exponential(c, {c.neg(z.re), c.neg(z.im)});
  return reciprocal(c, {c.add(e.re, c.scalar_like(e.re, 1)), e.im});
}

Complex sign(MapperContext& c, Complex z) {  // z / |z|
  Value* size = magnitude(c, z);
  const Complex direction = {c.div(z.re, size), c.div(z.im, size)};
  return zero_where(c, is_zero(c, z), direction);
}

// ---- inverse functions, after Kahan: no digits cancel, and the signs of the parts are those of the
// argument's

// |x| with the sign of y, which -0 has too
Value* with_sign_of(MapperContext& c, Value* x, Value* y) {
  Value* zero = c.scalar_like(y, 0);
  Value* is_below = c.less(c.div(c.scalar_like(y, 1), y), zero);
  Value* size = c.abs(x);
  Value* negative = c.neg(size);
  return c.where(c.logical_or(is_below, c.less(y, zero)), negative, size);
}

struct Roots {
  Complex minus, plus;  // sqrt(1 - z), sqrt(1 + z)
};
Roots roots_around(MapperContext& c, Complex z) {
  Value* one = c.scalar_like(z.re, 1);
  const Complex minus = square_root(c, {c.sub(one, z.re), c.neg(z.im)});
  return {minus, square_root(c, {c.add(one, z.re), z.im})};
}

Value* crossed(MapperContext& c, Roots r) {  // asinh(Im(conj(minus) plus))
  Value* left = c.mul(r.minus.re, r.plus.im);
  return c.emit("Asinh", {c.sub(left, c.mul(r.minus.im, r.plus.re))});
}

Complex arc_sine(MapperContext& c, Complex z) {
  const Roots r = roots_around(c, z);
  Value* square = c.mul(r.minus.re, r.plus.re);
  Value* product = c.abs(c.sub(square, c.mul(r.minus.im, r.plus.im)));
  Value* re = apply_one(c, "Atan2", {z.re, product});
  return {re, with_sign_of(c, crossed(c, r), z.im)};
}

Complex arc_cosine(MapperContext& c, Complex z) {
  const Roots r = roots_around(c, z);
  Value* angle = apply_one(c, "Atan2", {r.minus.re, r.plus.re});
  return {c.add(angle, angle), c.neg(with_sign_of(c, crossed(c, r), z.im))};
}

Complex inverse_hyperbolic_sine(MapperContext& c, Complex z) {  // -i asin(i z)
  const Complex s = arc_sine(c, {c.neg(z.im), z.re});
  return {s.im, c.neg(s.re)};
}

Complex inverse_hyperbolic_cosine(MapperContext& c, Complex z) {  // +- i acos(z), with a real part above 0
  const Complex a = arc_cosine(c, z);
  return {c.abs(a.im), with_sign_of(c, a.re, z.im)};
}

// log((1 + z) / (1 - z)) / 2
Complex inverse_hyperbolic_tangent(MapperContext& c, Complex z) {
  Value* one = c.scalar_like(z.re, 1);
  Value* left = c.sub(one, z.re);
  Value* im2 = c.mul(z.im, z.im);
  Value* distance = c.add(c.mul(left, left), im2);
  Value* ratio = c.div(c.mul(z.re, c.scalar_like(z.re, 4)), distance);
  Value* re = c.mul(apply_one(c, "Log1p", {ratio}), c.scalar_like(z.re, 0.25));
  Value* along = c.sub(c.mul(left, c.add(one, z.re)), im2);
  Value* angle = apply_one(c, "Atan2", {c.add(z.im, z.im), along});
  return {re, c.mul(angle, c.scalar_like(z.re, 0.5))};
}

Complex arc_tangent(MapperContext& c, Complex z) {  // -i atanh(i z)
  const Complex t = inverse_hyperbolic_tangent(c, {c.neg(z.im), z.re});
  return {t.im, c.neg(t.re)};
}

Complex squared_difference(MapperContext& c, Complex a, Complex b) {  // |a - b|^2
  Value* re = c.sub(a.re, b.re);
  Value* im = c.sub(a.im, b.im);
  Value* sum = two_products(c, re, re, im, im);
  return {sum, apply_one(c, "ZerosLike", {sum})};
}

// ---- products along axes: of the magnitudes, with the sum of the angles

Mapper by_magnitude_and_angle(const std::string& of_magnitudes, const std::string& of_angles) {
  return [=](MapperContext& c) {
    const Complex z = parts(c, c.in(0));
    Value* size = apply_one(c, of_magnitudes, {magnitude(c, z), c.in(1)});
    Value* angle = apply_one(c, of_angles, {apply_one(c, "Atan2", {z.im, z.re}), c.in(1)});
    Value* cosine = c.cos(angle);
    return Values{pairs(c, scaled(c, {cosine, c.sin(angle)}, size))};
  };
}

// ---- comparison

Value* equal_parts(MapperContext& c) {
  const Complex a = parts(c, c.in(0));
  const Complex b = parts(c, c.in(1));
  Value* re = apply_one(c, "Equal", {a.re, b.re});
  return c.logical_and(re, apply_one(c, "Equal", {a.im, b.im}));
}
Values map_equal(MapperContext& c) { return {equal_parts(c)}; }
Values map_not_equal(MapperContext& c) { return {c.logical_not(equal_parts(c))}; }

// ---- products of matrices: four real ones; an adjoint operand is conjugated

Values map_product(MapperContext& c, const std::string& op, bool conjugate_a, bool conjugate_b) {
  const Complex a = parts(c, c.in(0));
  const Complex b = parts(c, c.in(1));
  Value* rr = apply_one(c, op, {a.re, b.re});
  Value* ii = apply_one(c, op, {a.im, b.im});
  Value* ri = apply_one(c, op, {a.re, b.im});
  Value* ir = apply_one(c, op, {a.im, b.re});
  Value* re = conjugate_a == conjugate_b ? c.sub(rr, ii) : c.add(rr, ii);
  Value* im = nullptr;
  if (conjugate_a == conjugate_b)
    im = c.add(ri, ir);
  else
    im = conjugate_a ? c.sub(ri, ir) : c.sub(ir, ri);
  if (conjugate_a && conjugate_b) im = c.neg(im);
  return {pairs(c, {re, im})};
}

Values map_matmul(MapperContext& c) { return map_product(c, "MatMul", false, false); }

Values map_batch_matmul(MapperContext& c) {
  return map_product(c, c.node().op(), c.flag("adj_x"), c.flag("adj_y"));
}

Values map_batch_matmul_v3(MapperContext& c) {
  for (std::size_t i = 0; i < 2; ++i)
    if (!is_complex(c.node().input(i)->dtype()))
      c.fail(Code::unsupported_type, "a product of real and complex matrices");
  return map_batch_matmul(c);
}

Mapper einsum(Mapper real) {
  return [real, one = by_parts(real)](MapperContext& c) {
    if (c.input_count() == 1) return one(c);
    if (c.input_count() > 2) c.fail(Code::unsupported_attr, "a complex equation over more than two inputs");
    return map_product(c, "Einsum", false, false);
  };
}

// The coordinates of what has a part other than 0.
Values map_where(MapperContext& c) {
  Value* is_none = is_zero(c, parts(c, c.in(0)));
  return apply(c, "Where", {c.logical_not(is_none)});
}

// sqrt(sum(|z|^2)), with an imaginary part of 0
Values map_euclidean_norm(MapperContext& c) {
  const Complex z = parts(c, c.in(0));
  Value* squares = two_products(c, z.re, z.re, z.im, z.im);
  Value* norm = c.sqrt(apply_one(c, "Sum", {squares, c.in(1)}));
  return {pairs(c, {norm, apply_one(c, "ZerosLike", {norm})})};
}

// The values of a sparse matrix and a dense one: the first is conjugated where adjoint_a says so.
Values map_sparse_product(MapperContext& c) {
  const Complex a = parts(c, c.in(1)), b = parts(c, c.in(3));
  const auto times = [&](Value* values, Value* dense) {
    return apply_one(c, c.node().op(), {c.in(0), values, c.in(2), dense});
  };
  const bool adjoint_a = c.flag("adjoint_a"), adjoint_b = c.flag("adjoint_b");
  Value* a_im = adjoint_a ? c.neg(a.im) : a.im;
  Value* b_im = adjoint_b ? c.neg(b.im) : b.im;
  Value* rr = times(a.re, b.re);
  Value* ii = times(a_im, b_im);
  Value* ri = times(a.re, b_im);
  Value* ir = times(a_im, b.re);
  return {pairs(c, {c.sub(rr, ii), c.add(ri, ir)})};
}

// dy * f(y), with the derivative f in the result y: TensorFlow takes the conjugate of some of them
Complex adjoint_times(MapperContext& c, Complex dy, Complex f) { return times(c, dy, {f.re, c.neg(f.im)}); }
Complex one_less(MapperContext& c, Complex z) { return {c.sub(c.scalar_like(z.re, 1), z.re), c.neg(z.im)}; }
Complex tanh_gradient(MapperContext& c, Complex y, Complex dy) {
  return times(c, dy, one_less(c, square(c, y)));
}
Complex sigmoid_gradient(MapperContext& c, Complex y, Complex dy) {
  return times(c, dy, times(c, y, one_less(c, y)));
}
Complex reciprocal_gradient(MapperContext& c, Complex y, Complex dy) {
  const Complex f = square(c, y);
  return adjoint_times(c, dy, {c.neg(f.re), c.neg(f.im)});
}
Complex sqrt_gradient(MapperContext& c, Complex y, Complex dy) {
  Value* half = c.scalar_like(y.re, 0.5);
  return divided(c, {c.mul(dy.re, half), c.mul(dy.im, half)}, {y.re, c.neg(y.im)});
}
Complex rsqrt_gradient(MapperContext& c, Complex y, Complex dy) {
  const Complex cube = times(c, square(c, y), y);
  return adjoint_times(c, dy, scaled(c, cube, c.scalar_like(y.re, -0.5)));
}

// 0 where x is 0, whatever y is
Complex unless_zero(MapperContext& c, Complex x, Complex y) {
  Value* zero = c.scalar_like(x.re, 0);
  Value* none = is_zero(c, x);
  Value* re = c.where(none, zero, y.re);
  return {re, c.where(none, zero, y.im)};
}
Complex x_div_y(MapperContext& c, Complex x, Complex y) { return unless_zero(c, x, divided(c, x, y)); }
Complex x_log_y(MapperContext& c, Complex x, Complex y) {
  return unless_zero(c, x, times(c, x, logarithm(c, y)));
}
Complex x_log1p_y(MapperContext& c, Complex x, Complex y) {
  return unless_zero(c, x, times(c, x, logarithm_1p(c, y)));
}

}  // namespace

void register_complex_math(OpRegistry& r) {
  r.complex("Mul").by(of_two(times));
  r.complex("Div", "RealDiv").by(of_two(divided));
  r.complex("DivNoNan").by(of_two(divided_no_nan));
  r.complex("MulNoNan").by(of_two(times_no_nan));
  r.complex("Square").by(of_one(square));
  r.complex("Reciprocal", "Inv").by(of_one(reciprocal));
  r.complex("Exp").by(of_one(exponential));
  r.complex("Xdivy").by(of_two(x_div_y));
  r.complex("Xlogy").by(of_two(x_log_y));
  r.complex("Xlog1py").by(of_two(x_log1p_y));
  r.complex("Log").by(of_one(logarithm));
  r.complex("Sqrt").note("the sign of a zero is lost on the branch cut").by(of_one(square_root));
  r.complex("Rsqrt").note("the sign of a zero is lost on the branch cut").by(of_one(reciprocal_root));
  r.complex("Pow").by(of_two(power));
  r.complex("Log1p").note("as log(1 + x)").by(of_one(logarithm_1p));
  r.complex("Expm1").note("as exp(x) - 1").by(of_one(exponential_m1));
  r.complex("Sin").by(of_one(sine));
  r.complex("Cos").by(of_one(cosine));
  r.complex("Tan").by(of_one(tangent));
  r.complex("Sinh").by(of_one(hyperbolic_sine));
  r.complex("Cosh").by(of_one(hyperbolic_cosine));
  r.complex("Tanh").by(of_one(hyperbolic_tangent));
  r.complex("Asin").by(of_one(arc_sine));
  r.complex("Acos").by(of_one(arc_cosine));
  r.complex("Atan").by(of_one(arc_tangent));
  r.complex("Asinh").by(of_one(inverse_hyperbolic_sine));
  r.complex("Acosh").by(of_one(inverse_hyperbolic_cosine));
  r.complex("Atanh").by(of_one(inverse_hyperbolic_tangent));
  r.complex("Sigmoid").by(of_one(sigmoid));
  r.complex("Sign").by(of_one(sign));
  r.complex("SquaredDifference").by(of_two(squared_difference));
  r.complex("Prod").note("by magnitudes and angles").by(by_magnitude_and_angle("Prod", "Sum"));
  const auto products = r.table().at("Cumprod");
  for (const auto& [since, row] : products)
    r.complex("Cumprod").since(since).note(row.note).by(by_magnitude_and_angle("Cumprod", "Cumsum"));
  r.complex("TanhGrad").by(of_two(tanh_gradient));
  r.complex("SigmoidGrad").by(of_two(sigmoid_gradient));
  r.complex("ReciprocalGrad", "InvGrad").by(of_two(reciprocal_gradient));
  r.complex("SqrtGrad").by(of_two(sqrt_gradient));
  r.complex("RsqrtGrad").by(of_two(rsqrt_gradient));
  r.complex("Where").by(map_where);
  const auto sums = r.table().at("Sum");
  for (const auto& [since, row] : sums) r.complex("EuclideanNorm").since(since).by(map_euclidean_norm);
  const auto sparse = r.table().at("SparseTensorDenseMatMul");
  for (const auto& [since, row] : sparse)
    r.complex("SparseTensorDenseMatMul").since(since).note(row.note).by(map_sparse_product);
  r.complex("Equal").by(map_equal);
  r.complex("NotEqual").by(map_not_equal);
  r.complex("MatMul").ignores({"grad_a", "grad_b"}).by(map_matmul);
  r.complex("BatchMatMul", "BatchMatMulV2").ignores({"grad_x", "grad_y"}).by(map_batch_matmul);
  r.complex("BatchMatMulV3").ignores({"grad_x", "grad_y"}).by(map_batch_matmul_v3);
  const auto rows = r.table().at("Einsum");
  for (const auto& [since, row] : rows)
    r.complex("Einsum").since(since).ignores({"N"}).note(row.note).by(einsum(row.map));
}

}  // namespace t2o::op_mappers
