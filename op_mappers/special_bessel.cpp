#include <limits>
#include <numbers>
#include <string>

#include "op_mappers/special.h"
#include "op_mappers/special_tables.h"

// Near 0 a series in x or x^2, far from it a series in 1 / x or (8 / x)^2 of what is left when exponentials,
// waves and the root are taken out.
namespace t2o::op_mappers {
namespace {

using Series = std::span<const double>;
constexpr double kPi = std::numbers::pi, kEdge = 8;

Value* number(MapperContext& c, double v) { return c.scalar(DType::f64, v); }
Value* odd(MapperContext& c, Value* y, Value* x) { return c.mul(y, c.sign(x)); }

// exp(-|x|) I(x)
Value* scaled_i(MapperContext& c, Value* x, bool first_order) {
  Value* a = c.abs(x);
  Value* small = chebyshev(c, a, first_order ? Series(kI1Small) : Series(kI0Small), 0, kEdge);
  if (first_order) small = c.mul(small, a);
  Value* r = c.reciprocal(a);
  Value* large = chebyshev(c, r, first_order ? Series(kI1Large) : Series(kI0Large), 0, 1 / kEdge);
  Value* y = c.where(c.less(a, number(c, kEdge)), small, c.mul(large, c.sqrt(r)));
  return first_order ? odd(c, y, x) : y;
}

Value* unscaled_i(MapperContext& c, Value* x, bool first_order) {
  Value* y = scaled_i(c, x, first_order);
  Value* half = c.exp(c.mul(c.abs(x), number(c, 0.5)));
  return c.mul(c.mul(y, half), half);
}

// K0 = -log(x / 2) I0 + ..., K1 = log(x / 2) I1 + .../ x up to 2; exp(x) K beyond
Value* any_k(MapperContext& c, Value* x, bool first_order, bool scaled) {
  Value* square = c.mul(x, x);
  Value* log = c.log(c.mul(x, number(c, 0.5)));
  Value* near = chebyshev(c, square, first_order ? Series(kK1Small) : Series(kK0Small), 0, 4);
  Value* i = chebyshev(c, square, first_order ? Series(kI1Near) : Series(kI0Near), 0, 4);
  Value* term = c.mul(log, i);
  Value* r = c.reciprocal(x);
  Value* small = first_order ? c.add(c.mul(term, x), c.mul(near, r)) : c.sub(near, term);
  Value* large = c.mul(chebyshev(c, r, first_order ? Series(kK1Large) : Series(kK0Large), 0, 0.5), c.sqrt(r));
  Value* power = c.exp(scaled ? x : c.neg(x));
  if (scaled)
    small = c.mul(small, power);
  else
    large = c.mul(large, power);
  Value* y = c.where(c.less(x, number(c, 2)), small, large);
  return c.where(c.less_equal(x, number(c, 0)), number(c, std::numeric_limits<double>::infinity()), y);
}

Value* small_j(MapperContext& c, Value* x, Value* square, bool first_order) {
  Value* y = chebyshev(c, square, first_order ? Series(kJ1Small) : Series(kJ0Small), 0, kEdge * kEdge);
  return first_order ? c.mul(y, x) : y;
}

struct Wave {
  Value *p, *q, *sin, *cos, *root;  // of x beyond 8: sqrt(2 / (pi x)), P, 8 / x * Q, and the angle's
};
Wave wave(MapperContext& c, Value* x, bool first_order) {
  Value* r = c.div(number(c, kEdge), x);
  Value* z = c.mul(r, r);
  Wave w{};
  w.p = chebyshev(c, z, first_order ? Series(kP1) : Series(kP0), 0, 1);
  w.q = c.mul(r, chebyshev(c, z, first_order ? Series(kQ1) : Series(kQ0), 0, 1));
  Value* angle = c.sub(x, number(c, first_order ? 0.75 * kPi : 0.25 * kPi));
  w.sin = c.sin(angle);
  w.cos = c.cos(angle);
  w.root = c.sqrt(c.mul(r, number(c, 2 / (kPi * kEdge))));
  return w;
}

Value* any_j(MapperContext& c, Value* x, bool first_order) {
  Value* a = c.abs(x);
  Value* near = small_j(c, a, c.mul(a, a), first_order);
  const Wave w = wave(c, a, first_order);
  Value* sum = c.sub(c.mul(w.p, w.cos), c.mul(w.q, w.sin));
  Value* y = c.where(c.less(a, number(c, kEdge)), near, c.mul(w.root, sum));
  return first_order ? odd(c, y, x) : y;
}

// Y0 = 2 / pi log(x) J0 + ..., Y1 = 2 / pi (log(x) J1 - 1 / x) + x ...
Value* any_y(MapperContext& c, Value* x, bool first_order) {
  Value* square = c.mul(x, x);
  Value* product = c.mul(c.log(x), small_j(c, x, square, first_order));
  Value* rest = chebyshev(c, square, first_order ? Series(kY1Small) : Series(kY0Small), 0, kEdge * kEdge);
  if (first_order) {
    product = c.sub(product, c.reciprocal(x));
    rest = c.mul(rest, x);
  }
  Value* near = c.add(c.mul(product, number(c, 2 / kPi)), rest);
  const Wave w = wave(c, x, first_order);
  Value* sum = c.add(c.mul(w.p, w.sin), c.mul(w.q, w.cos));
  Value* y = c.where(c.less(x, number(c, kEdge)), near, c.mul(w.root, sum));
  Value* zero = number(c, 0);
  y = c.where(c.less_equal(x, zero), number(c, -std::numeric_limits<double>::infinity()), y);
  if (!first_order || c.in(0)->dtype() == DType::f64) return y;
  return c.where(c.equal(x, zero), number(c, std::numeric_limits<double>::quiet_NaN()), y);  // in f32 only
}

}  // namespace

Values map_bessel(MapperContext& c) {
  const std::string& op = c.node().op();  // "BesselK1e"
  const bool first_order = op[7] == '1', scaled = op.ends_with("e");
  Value* x = c.cast(c.in(0), DType::f64);
  Value* y = nullptr;
  if (op[6] == 'I')
    y = scaled ? scaled_i(c, x, first_order) : unscaled_i(c, x, first_order);
  else if (op[6] == 'K')
    y = any_k(c, x, first_order, scaled);
  else
    y = op[6] == 'J' ? any_j(c, x, first_order) : any_y(c, x, first_order);
  return {c.cast_like(y, c.in(0))};
}

}  // namespace t2o::op_mappers
