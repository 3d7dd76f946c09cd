#include "op_mappers/special.h"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "op_mappers/all.h"
#include "op_mappers/special_tables.h"

namespace t2o::op_mappers {

// Clenshaw: b_k = c_k + 2 u b_(k+1) - b_(k+2), with u in [-1, 1] for x in [low, high]. Numbers that are f64
// in the model get all terms, others those above 1e-9.
Value* chebyshev(MapperContext& c, Value* x, std::span<const double> coefficients, double low, double high) {
  std::size_t n = coefficients.size();
  if (c.in(0)->dtype() != DType::f64)
    while (n > 2 && std::abs(coefficients[n - 1]) < 1e-9 * std::abs(coefficients[0])) --n;
  const auto number = [&](double v) { return c.scalar_like(x, v); };
  Value* scaled = c.mul(x, number(4 / (high - low)));
  Value* twice = c.sub(scaled, number(2 * (high + low) / (high - low)));
  Value* next = number(coefficients[n - 1]);
  Value* second = nullptr;
  for (std::size_t k = n - 2; k > 0; --k) {
    Value* sum = c.add(c.mul(twice, next), number(coefficients[k]));
    if (second) sum = c.sub(sum, second);
    second = next;
    next = sum;
  }
  Value* half = c.mul(twice, number(0.5));
  Value* sum = c.add(c.mul(half, next), number(coefficients[0]));
  return second ? c.sub(sum, second) : sum;
}

// With u = 1 + x rounded, log(u) * x / (u - 1): the rounding cancels.
Value* log1p(MapperContext& c, Value* x, bool of_infinity) {
  Value* one = c.scalar_like(x, 1);
  Value* u = c.add(x, one);
  Value* d = c.sub(u, one);
  Value* log = c.log(u);
  Value* corrected = c.mul(log, c.div(x, d));
  Value* y = of_infinity ? c.where(c.equal(d, x), log, corrected) : corrected;
  return c.where(c.equal(d, c.scalar_like(x, 0)), x, y);
}

namespace {

Value* erfc_of_positive(MapperContext& c, Value* x) {
  Value* two = c.scalar_like(x, 2);
  Value* t = c.div(two, c.add(x, two));
  Value* series = c.mul(chebyshev(c, t, kErfc, 0, 1), t);
  return c.mul(series, c.exp(c.neg(c.mul(x, x))));
}

}  // namespace

// exp(-x^2) t P(t) with t = 2 / (2 + |x|); 2 - that for a negative x
Value* erfc(MapperContext& c, Value* x) {
  if (x->dtype() != DType::f32 && x->dtype() != DType::f64) {
    Value* wide = c.emit("Erf", {c.cast(x, DType::f32)});
    return c.cast(c.sub(c.scalar_like(wide, 1), wide), x->dtype());
  }
  Value* y = erfc_of_positive(c, c.abs(x));
  Value* is_negative = c.less(x, c.scalar_like(x, 0));
  return c.where(is_negative, c.sub(c.scalar_like(x, 2), y), y);
}

Value* erf(MapperContext& c, Value* x) {
  if (x->dtype() != DType::f64) return c.emit("Erf", {x});
  Value* a = c.abs(x);
  Value* one = c.scalar_like(x, 1);
  Value* near = c.mul(x, chebyshev(c, c.mul(x, x), kErf, 0, 1));
  Value* far = c.mul(c.sign(x), c.sub(one, erfc_of_positive(c, a)));
  Value* y = c.where(c.less(a, one), near, far);
  if (!c.strict()) return y;
  // the Sign of NaN is 1 or -1; of infinities TensorFlow's is NaN too, in f64 alone
  Value* nan = c.sub(x, x);
  return c.where(c.is_nan(nan), nan, y);
}

namespace {

constexpr double kPi = std::numbers::pi, kInf = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();

// Functions are computed in f64, so that the numbers between lose no digits.
using Function = Value* (*)(MapperContext&, Value*);
Mapper in_f64(Function f) {
  return [f](MapperContext& c) -> Values {
    Value* y = f(c, c.cast(c.in(0), DType::f64));
    return {c.cast_like(y, c.in(0))};
  };
}

Value* number(MapperContext& c, double v) { return c.scalar(DType::f64, v); }

// erfinv(x) / x as a function of w = -log(1 - x^2)
Value* erfinv_ratio(MapperContext& c, Value* w) {
  Value* s = c.sqrt(w);
  Value* small = chebyshev(c, w, kErfInvSmall, 0, 6);
  Value* middle = chebyshev(c, s, kErfInvMiddle, std::sqrt(6.0), 6);
  Value* tail = c.mul(s, chebyshev(c, c.reciprocal(s), kErfInvTail, 1.0 / 28, 1.0 / 6));
  Value* large = c.where(c.less(s, number(c, 6)), middle, tail);
  return c.where(c.less(w, number(c, 6)), small, large);
}

Value* erfinv(MapperContext& c, Value* x) {
  Value* one = number(c, 1);
  Value* below = c.sub(one, x);
  Value* w = c.neg(c.log(c.mul(below, c.add(one, x))));
  return c.mul(x, erfinv_ratio(c, w));
}

}  // namespace

// sqrt(2) erfinv(2 p - 1), without a loss of digits near p = 0
Value* ndtri(MapperContext& c, Value* p) {
  Value* one = number(c, 1);
  Value* both = c.mul(c.mul(p, number(c, 4)), c.sub(one, p));
  Value* x = c.mul(c.sub(c.add(p, p), one), number(c, std::numbers::sqrt2));
  return c.mul(x, erfinv_ratio(c, c.neg(c.log(both))));
}

namespace {

// Lanczos with g = 7: log(gamma(x)) for x >= 1/2
Value* lgamma_of_positive(MapperContext& c, Value* x) {
  constexpr std::array<double, 9> kLanczos = {0.99999999999980993227684700473478,
                                              676.520368121885098567009190444019,
                                              -1259.13921672240287047156078755283,
                                              771.3234287776530788486528258894,
                                              -176.61502916214059906584551354,
                                              12.507343278686904814458936853,
                                              -0.13857109526572011689554707,
                                              9.984369578019570859563e-6,
                                              1.50563273514931155834e-7};
  Value* sum = number(c, kLanczos[0]);
  for (std::size_t i = 1; i < kLanczos.size(); ++i) {
    Value* shifted = c.add(x, number(c, static_cast<double>(i) - 1));
    sum = c.add(sum, c.div(number(c, kLanczos[i]), shifted));
  }
  Value* t = c.add(x, number(c, 6.5));
  Value* power = c.mul(c.sub(x, number(c, 0.5)), c.sub(c.log(t), number(c, 1)));
  Value* rest = c.add(c.log(sum), number(c, 0.5 * std::log(2 * kPi) - 7));
  Value* y = c.add(power, rest);
  return c.where(c.equal(x, number(c, kInf)), x, y);
}

// With the sign of x, and exact next to zero.
Value* fraction(MapperContext& c, Value* x) { return c.emit("Mod", {x, number(c, 1)}, {{"fmod", 1}}); }

}  // namespace

// gamma(x) gamma(1 - x) = pi / sin(pi x)
Value* lgamma(MapperContext& c, Value* x) {
  Value* is_small = c.less(x, number(c, 0.5));
  Value* mirrored = c.where(is_small, c.sub(number(c, 1), x), x);
  Value* y = lgamma_of_positive(c, mirrored);
  Value* sine = c.sin(c.mul(c.abs(fraction(c, x)), number(c, kPi)));
  Value* reflected = c.sub(c.log(c.div(number(c, kPi), sine)), y);
  Value* result = c.where(is_small, reflected, y);
  return c.where(c.equal(x, number(c, -kInf)), number(c, kInf), result);
}

namespace {

Value* horner(MapperContext& c, Value* x, std::span<const double> coefficients) {  // the constant term first
  Value* sum = number(c, coefficients.back());
  for (std::size_t i = coefficients.size() - 1; i-- > 0;)
    sum = c.add(c.mul(sum, x), number(c, coefficients[i]));
  return sum;
}

// psi(x) = psi(x + 8) - sum 1 / (x + i), then log(y) - 1 / (2 y) - sum B_2k / (2 k y^2k)
Value* digamma_of_positive(MapperContext& c, Value* x) {
  constexpr std::array<double, 7> kBernoulli = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                                1.0 / 132, -691.0 / 32760, 1.0 / 12};
  Value* sum = c.reciprocal(x);
  for (int i = 1; i < 8; ++i) {
    Value* shifted = c.add(x, number(c, i));
    sum = c.add(sum, c.reciprocal(shifted));
  }
  Value* r = c.reciprocal(c.add(x, number(c, 8)));
  Value* square = c.mul(r, r);
  Value* tail = c.add(c.mul(square, horner(c, square, kBernoulli)), c.mul(r, number(c, 0.5)));
  return c.sub(c.sub(c.neg(c.log(r)), tail), sum);
}

}  // namespace

// psi(1 - x) - psi(x) = pi / tan(pi x)
Value* digamma(MapperContext& c, Value* x) {
  Value* is_small = c.less(x, number(c, 0.5));
  Value* y = digamma_of_positive(c, c.where(is_small, c.sub(number(c, 1), x), x));
  Value* part = fraction(c, x);
  Value* angle = c.mul(part, number(c, kPi));
  Value* cotangent = c.div(c.cos(angle), c.sin(angle));
  Value* is_pole = c.equal(part, number(c, 0));
  cotangent = c.where(is_pole, number(c, kNan), cotangent);
  return c.where(is_small, c.sub(y, c.mul(cotangent, number(c, kPi))), y);
}

namespace {

// exp(-x^2) times the integral of exp(t^2) to x
Value* dawson(MapperContext& c, Value* x) {
  Value* square = c.mul(x, x);
  Value* near = c.mul(x, chebyshev(c, square, kDawsonSmall, 0, 16));
  Value* far = c.div(chebyshev(c, c.reciprocal(square), kDawsonLarge, 0, 1.0 / 16), x);
  return c.where(c.less(square, number(c, 16)), near, far);
}

// Ei(x) of a positive x
Value* expint(MapperContext& c, Value* x) {
  constexpr std::array<double, 11> kFactorials = {1, 1, 2, 6, 24, 120, 720, 5040, 40320, 362880, 3628800};
  Value* r = c.reciprocal(x);
  Value* half_power = c.exp(c.mul(x, number(c, 0.5)));
  Value* smooth = c.mul(c.mul(x, half_power), chebyshev(c, x, kExpintSmall, 0, 6));
  Value* small = c.add(c.add(c.log(x), number(c, std::numbers::egamma)), smooth);
  Value* middle = chebyshev(c, r, kExpintMiddle, 1.0 / 16, 1.0 / 6);
  Value* large = chebyshev(c, r, kExpintLarge, 1.0 / 100, 1.0 / 16);
  Value* ratio = c.where(c.less(x, number(c, 16)), middle,
                         c.where(c.less(x, number(c, 100)), large, horner(c, r, kFactorials)));
  Value* scaled = c.mul(c.mul(half_power, c.mul(r, ratio)), half_power);
  Value* y = c.where(c.less(x, number(c, 6)), small, scaled);
  // TensorFlow's exp(x) overflows before the quotient by x does
  const double farthest = c.in(0)->dtype() == DType::f64 ? 709.782712893384 : 88.72283905206835;
  y = c.where(c.greater(x, number(c, farthest)), number(c, kInf), y);
  return c.where(c.equal(x, number(c, kInf)), number(c, kNan), y);  // TensorFlow's NaN
}

// Reduced to [1/2, 3/2]: f(1 / x) = -log(x)^2 / 2 - f(x), f(1 - x) = pi^2 / 6 - log(x) log(1 - x) - f(x)
Value* spence(MapperContext& c, Value* x) {
  Value* one = number(c, 1);
  Value* zeta2 = number(c, kPi * kPi / 6);
  Value* is_large = c.greater(x, number(c, 1.5));
  Value* y = c.where(is_large, c.reciprocal(x), x);
  Value* is_small = c.less(y, number(c, 0.5));
  Value* other = c.sub(one, y);
  Value* z = c.where(is_small, other, y);
  Value* inner = c.mul(c.sub(one, z), chebyshev(c, z, kSpence, 0.5, 1.5));
  Value* logs = c.where(c.equal(y, number(c, 0)), y, c.mul(c.log(y), c.log(other)));
  Value* middle = c.where(is_small, c.sub(c.sub(zeta2, logs), inner), inner);
  Value* log = c.log(x);
  Value* flipped = c.sub(c.mul(c.mul(log, log), number(c, -0.5)), middle);
  Value* y_far = c.where(is_large, flipped, middle);
  return c.where(c.equal(x, number(c, kInf)), number(c, kNan), y_far);  // TensorFlow's NaN
}

// Beyond 1.6: 1/2 with f = 1 / (pi x) ..., g = 1 / (pi^2 x^3) ... turned by the angle pi x^2 / 2
Value* fresnel(MapperContext& c, Value* x, bool cosine) {
  constexpr double kEdge = 6.5536;
  Value* a = c.abs(x);
  Value* square = c.mul(a, a);
  Value* fourth = c.mul(square, square);
  Value* near = cosine ? c.mul(a, chebyshev(c, fourth, kFresnelC, 0, kEdge))
                       : c.mul(c.mul(square, a), chebyshev(c, fourth, kFresnelS, 0, kEdge));
  Value* z = c.reciprocal(fourth);
  Value* f = c.div(chebyshev(c, z, kFresnelF, 0, 1 / kEdge), c.mul(a, number(c, kPi)));
  Value* g = c.div(chebyshev(c, z, kFresnelG, 0, 1 / kEdge), c.mul(c.mul(square, a), number(c, kPi * kPi)));
  Value* turns = fraction(c, c.mul(square, number(c, 0.25)));
  Value* angle = c.mul(turns, number(c, 2 * kPi));
  Value* sin = c.sin(angle);
  Value* cos = c.cos(angle);
  Value* first = c.mul(f, cosine ? sin : cos);
  Value* second = c.mul(g, cosine ? cos : sin);
  Value* wave = cosine ? c.sub(first, second) : c.neg(c.add(first, second));
  Value* far = c.add(wave, number(c, 0.5));
  Value* limited = c.where(c.greater(a, number(c, 1e7)), number(c, 0.5), far);
  Value* y = c.where(c.less(fourth, number(c, kEdge)), near, limited);
  return c.mul(y, c.sign(x));
}
Value* fresnel_cos(MapperContext& c, Value* x) { return fresnel(c, x, true); }
Value* fresnel_sin(MapperContext& c, Value* x) { return fresnel(c, x, false); }

}  // namespace

void register_special(OpRegistry& r) {
  const std::string note = "relative error about 1e-7 of f32, 1e-11 of f64";
  r.op("Erfinv").note(note).by(in_f64(erfinv));
  r.op("Ndtri").note(note).by(in_f64(ndtri));
  r.op("Lgamma").note(note).by(in_f64(lgamma));
  r.op("Digamma").note(note).by(in_f64(digamma));
  r.op("Dawsn").note(note).by(in_f64(dawson));
  r.op("Expint").note(note).by(in_f64(expint));
  r.op("Spence").note(note).by(in_f64(spence));
  r.op("FresnelCos").note(note).by(in_f64(fresnel_cos));
  r.op("FresnelSin").note(note).by(in_f64(fresnel_sin));
  r.op("Igamma", "Igammac").note("400 steps of a series: for a up to some thousands").by(map_gamma_kin);
  r.op("Betainc")
      .note("400 steps of a continued fraction: for a and b up to some thousands")
      .by(map_gamma_kin);
  r.op("Zeta", "Polygamma").note(note + "; NaN for a negative second argument").by(map_gamma_kin);
  r.op("BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "BesselJ0", "BesselJ1").note(note).by(map_bessel);
  r.op("BesselK0", "BesselK0e", "BesselK1", "BesselK1e", "BesselY0", "BesselY1").note(note).by(map_bessel);
}

}  // namespace t2o::op_mappers
