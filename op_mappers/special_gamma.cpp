#include <array>
#include <limits>

#include "op_mappers/loop.h"
#include "op_mappers/special.h"

// Functions of two and three arguments around gamma, in f64. Series and continued fractions run a fixed
// number of steps in a Loop.
namespace t2o::op_mappers {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(),
                 kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::int64_t kSteps = 400;
constexpr double kMostSteps = 10000;  // of zeta below 0

Value* number(Emitter& e, double v) { return e.scalar(DType::f64, v); }
Value* input(MapperContext& c, std::size_t i) { return c.cast(c.in(i), DType::f64); }
Value* step_number(Emitter& e, Value* k) {
  Value* scalar = e.squeeze(k, {0});
  return e.add(e.cast(scalar, DType::f64), number(e, 1));
}

// sum over n of x^n / (a (a + 1) ... (a + n))
Value* lower_series(MapperContext& c, Value* a, Value* x) {
  Value* first = c.reciprocal(a);
  return counted_loop(c, c.constant(kSteps), {first, first},
                      [a, x](Emitter& e, Value* k, const Values& s) -> Values {
                        Value* term = e.div(e.mul(s[0], x), e.add(a, step_number(e, k)));
                        return {term, e.add(s[1], term)};
                      })[1];
}

// 1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - ...))), by Lentz's method
Value* upper_fraction(MapperContext& c, Value* a, Value* x) {
  Value* b = c.add(c.sub(x, a), number(c, 1));
  Value* d = c.reciprocal(b);
  Value* huge = c.add(c.mul(b, number(c, 0)), number(c, 1e300));
  return counted_loop(c, c.constant(kSteps), {b, huge, d, d},
                      [a](Emitter& e, Value* k, const Values& s) -> Values {
                        Value* i = step_number(e, k);
                        Value* numerator = e.mul(i, e.sub(a, i));
                        Value* next = e.add(s[0], number(e, 2));
                        Value* lower = e.reciprocal(e.add(e.mul(numerator, s[2]), next));
                        Value* upper = e.add(next, e.div(numerator, s[1]));
                        return {next, upper, lower, e.mul(s[3], e.mul(lower, upper))};
                      })[3];
}

// P is 1 far along x, 0 for an endless a; where both are infinite TensorFlow gives 0 for P as for Q.
Value* gamma_at_infinity(MapperContext& c, Value* a, Value* x, bool upper, Value* y) {
  Value* far = c.equal(x, number(c, kInf));
  Value* endless = c.equal(a, number(c, kInf));
  Value* beyond = upper ? c.where(far, number(c, 0), number(c, 1)) : number(c, 0);
  return c.where(endless, beyond, c.where(far, number(c, upper ? 0 : 1), y));
}

// The regularized P(a, x), or Q = 1 - P.
Value* incomplete_gamma(MapperContext& c, bool upper) {
  Value* a = input(c, 0);
  Value* x = input(c, 1);
  Value* shape = c.shape_of(c.add(a, x));
  a = c.expand(a, shape);
  x = c.expand(x, shape);
  Value* edge = c.add(a, number(c, 1));
  Value* is_low = c.less(x, edge);
  Value* one = number(c, 1);
  Value* power = c.sub(c.sub(c.mul(a, c.log(x)), x), lgamma(c, a));
  Value* factor = c.exp(power);
  Value* p = c.mul(factor, lower_series(c, a, c.where(is_low, x, one)));
  Value* q = c.mul(factor, upper_fraction(c, a, c.where(is_low, c.add(edge, one), x)));
  Value* y = upper ? c.where(is_low, c.sub(one, p), q) : c.where(is_low, p, c.sub(one, q));
  y = gamma_at_infinity(c, a, x, upper, y);
  Value* zero = number(c, 0);
  Value* is_valid = c.logical_and(c.greater(a, zero), c.greater_equal(x, zero));
  y = c.where(is_valid, y, number(c, kNan));
  return upper ? y : c.where(c.equal(x, zero), zero, y);  // whatever a is
}

// ---- Betainc

struct Beta {
  Value *a, *b, *x;
};

// One half step of the fraction: d = 1 / (1 + t d), c = 1 + t / c, h = h c d
Values half_step(Emitter& e, Value* t, const Values& s) {
  Value* one = number(e, 1);
  Value* c = e.add(one, e.div(t, s[0]));
  Value* d = e.reciprocal(e.add(one, e.mul(t, s[1])));
  return {c, d, e.mul(s[2], e.mul(c, d))};
}

Value* beta_fraction(MapperContext& c, const Beta& v) {
  Value* one = number(c, 1);
  Value* sum = c.add(v.a, v.b);
  Value* first = c.sub(one, c.div(c.mul(sum, v.x), c.add(v.a, one)));
  Value* d = c.reciprocal(first);
  Value* ones = c.add(c.mul(d, number(c, 0)), one);
  return counted_loop(c, c.constant(kSteps), {ones, d, d},
                      [v, sum](Emitter& e, Value* k, const Values& s) -> Values {
                        Value* m = step_number(e, k);
                        Value* at = e.add(v.a, e.add(m, m));
                        Value* unit = number(e, 1);
                        Value* below = e.mul(e.sub(at, unit), at);
                        Value* even = e.div(e.mul(e.mul(m, e.sub(v.b, m)), v.x), below);
                        Value* above = e.mul(at, e.add(at, unit));
                        Value* odd = e.div(e.mul(e.mul(e.add(v.a, m), e.add(sum, m)), v.x), above);
                        return half_step(e, e.neg(odd), half_step(e, even, s));
                      })[2];
}

// x^a (1 - x)^b / (a B(a, b)) times the fraction, for the one of I(a, b, x) and 1 - I(b, a, 1 - x) that
// converges
Value* incomplete_beta(MapperContext& c) {
  Value* one = number(c, 1);
  Value *a = input(c, 0), *b = input(c, 1), *x = input(c, 2);
  Value* sum = c.add(a, b);
  Value* shape = c.shape_of(c.add(sum, x));
  Value* middle = c.div(c.add(a, one), c.add(sum, number(c, 2)));
  Value* is_low = c.less(x, middle);
  Value* other = c.sub(one, x);
  Beta v{};
  v.a = c.expand(c.where(is_low, a, b), shape);
  v.b = c.expand(c.where(is_low, b, a), shape);
  v.x = c.expand(c.where(is_low, x, other), shape);
  Value* gammas = c.sub(c.sub(lgamma(c, c.add(v.a, v.b)), lgamma(c, v.a)), lgamma(c, v.b));
  Value* powers = c.add(c.mul(v.a, c.log(v.x)), c.mul(v.b, c.log(c.sub(one, v.x))));
  Value* factor = c.div(c.exp(c.add(gammas, powers)), v.a);
  Value* y = c.mul(factor, beta_fraction(c, v));
  Value* sides = c.where(is_low, y, c.sub(one, y));
  // the ends of x before a NaN of a or b, but behind what is not positive
  Value* zero = number(c, 0);
  Value* nan = number(c, kNan);
  Value* upper = c.where(c.equal(x, one), one, sides);
  Value* ends = c.where(c.equal(x, zero), zero, upper);
  Value* outside = c.logical_or(c.less(x, zero), c.greater(x, one));
  Value* improper = c.logical_or(c.less_equal(a, zero), c.less_equal(b, zero));
  return c.where(c.logical_or(outside, improper), nan, ends);
}

// ---- Zeta, Polygamma

// Euler and Maclaurin, with w = q + 12: sum over k < 12 of (q + k)^-s + w^(1-s) / (s - 1) + w^-s / 2 + sum
// over j of B_2j / (2j)! s (s + 1) ... (s + 2j - 2) w^(-s - 2j + 1)
Value* zeta_of_positive(MapperContext& c, Value* s, Value* q) {
  constexpr int kTerms = 12;
  constexpr std::array<double, 8> kBernoulli = {1.0 / 12,
                                                -1.0 / 720,
                                                1.0 / 30240,
                                                -1.0 / 1209600,
                                                1.0 / 47900160,
                                                -691.0 / 1307674368000.0,
                                                1.0 / 74724249600.0,
                                                -3617.0 / 10670622842880000.0};
  Value* minus_s = c.neg(s);
  Value* one = number(c, 1);
  Value* sum = c.emit("Pow", {q, minus_s});
  for (int k = 1; k < kTerms; ++k) sum = c.add(sum, c.emit("Pow", {c.add(q, number(c, k)), minus_s}));
  Value* w = c.add(q, number(c, kTerms));
  Value* power = c.emit("Pow", {w, minus_s});
  Value* integral = c.div(c.mul(power, w), c.sub(s, one));
  sum = c.add(c.add(sum, integral), c.mul(power, number(c, 0.5)));
  Value* square = c.mul(w, w);
  Value* rising = c.mul(c.div(power, w), s);  // w^(-s-1) s
  for (std::size_t j = 0; j < kBernoulli.size(); ++j) {
    sum = c.add(sum, c.mul(rising, number(c, kBernoulli[j])));
    const auto at = static_cast<double>(2 * j);
    Value* two_more = c.mul(c.add(s, number(c, at + 1)), c.add(s, number(c, at + 2)));
    rising = c.div(c.mul(rising, two_more), square);
  }
  return sum;
}

// sum over the k with q + k < 0 of (q + k)^-s; `below` is what is left of a q above.
Value* zeta_of_negative(MapperContext& c, Value* s, Value* q, Value* below) {
  Value* zero = number(c, 0);
  Value* flat = c.reshape(c.minimum(q, zero), {-1});
  Value* lowest = c.reduce("ReduceMin", c.concat({c.constant<double>({1}, {0}), flat}, 0), Ints{0}, false);
  Value* steps = c.cast(c.ceil(c.minimum(c.neg(lowest), number(c, kMostSteps))), DType::i64);
  return counted_loop(c, steps, {below}, [s, q](Emitter& e, Value* k, const Values& state) -> Values {
    Value* at = e.add(q, e.sub(step_number(e, k), number(e, 1)));
    Value* is_negative = e.less(at, number(e, 0));
    Value* term = e.emit("Pow", {at, e.neg(s)});
    return {e.add(state[0], e.where(is_negative, term, number(e, 0)))};
  })[0];
}

// At the poles q = 0, -1, -2 ... an even s gives an infinity, any other s NaN, as does a negative q with a
// broken s.
Value* zeta_below_zero(MapperContext& c, Value* s, Value* q, Value* y) {
  Value* nan = number(c, kNan);
  Value* half = c.mul(s, number(c, 0.5));
  Value* is_even = c.equal(c.floor(half), half);
  Value* pole = c.where(is_even, number(c, kInf), nan);
  Value* broken = c.logical_not(c.equal(c.floor(s), s));
  Value* negative = c.where(broken, nan, y);
  Value* is_pole = c.equal(c.floor(q), q);
  Value* low = c.where(is_pole, pole, negative);
  return c.where(c.less_equal(q, number(c, 0)), low, y);
}

// An endless s leaves 0, 1 or an infinity.
Value* zeta_steep(MapperContext& c, Value* q) {
  Value* one = number(c, 1);
  Value* low = c.where(c.less(q, one), number(c, kInf), one);
  return c.where(c.greater(q, one), number(c, 0), low);
}

Value* hurwitz_zeta(MapperContext& c, Value* s, Value* q) {
  Value* shape = c.shape_of(c.add(s, q));
  s = c.expand(s, shape);
  q = c.expand(q, shape);
  Value* zero = number(c, 0);
  Value* one = number(c, 1);
  Value* is_low = c.less(q, zero);
  Value* y = zeta_of_positive(c, s, c.where(is_low, c.sub(q, c.floor(q)), q));
  y = zeta_below_zero(c, s, q, zeta_of_negative(c, s, q, y));
  y = c.where(c.equal(s, number(c, kInf)), zeta_steep(c, q), y);
  y = c.where(c.equal(q, number(c, kInf)), zero, y);
  y = c.where(c.is_nan(q), q, y);
  y = c.where(c.greater(s, one), y, number(c, kNan));
  return c.where(c.equal(s, one), number(c, kInf), y);
}

// (-1)^(n+1) n! zeta(n + 1, x) for n = 0, 1, 2 ...; digamma(x) for n = 0
Value* polygamma(MapperContext& c) {
  Value* n = input(c, 0);
  Value* x = input(c, 1);
  Value* order = c.add(n, number(c, 1));
  Value* size = c.mul(c.exp(lgamma(c, order)), hurwitz_zeta(c, order, x));
  Value* half = c.mul(n, number(c, 0.5));
  Value* is_even = c.equal(c.floor(half), half);
  Value* is_negated = c.logical_and(is_even, c.less(n, number(c, kInf)));
  Value* y = c.where(is_negated, c.neg(size), size);
  Value* whole = c.equal(c.floor(n), n);
  y = c.where(whole, y, number(c, kNan));
  return c.where(c.equal(n, number(c, 0)), digamma(c, x), y);
}

}  // namespace

Values map_gamma_kin(MapperContext& c) {
  const std::string& op = c.node().op();
  Value* y = nullptr;
  if (op == "Betainc")
    y = incomplete_beta(c);
  else if (op == "Polygamma")
    y = polygamma(c);
  else if (op == "Zeta") {
    Value* s = input(c, 0);
    y = hurwitz_zeta(c, s, input(c, 1));
  } else
    y = incomplete_gamma(c, op == "Igammac");
  return {c.cast_like(y, c.in(0))};
}

}  // namespace t2o::op_mappers
