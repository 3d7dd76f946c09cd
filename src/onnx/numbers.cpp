#include "onnx/numbers.h"

#include <algorithm>

namespace t2o::onnx {
namespace {

constexpr double kInfinity = Numbers::kInfinity;
constexpr double kExact = 0x1p53;  // beyond it a double does not hold each integer

// Of a type of integers. A double does not hold the highest ones.
long double highest_of(DType t) {
  return std::exp2l(static_cast<long double>(bit_width(t)) - (is_signed_int(t) ? 1 : 0)) - 1;
}
double lowest_of(DType t) { return is_signed_int(t) ? static_cast<double>(-highest_of(t) - 1) : 0; }

double nearest_f32(double x) {
  constexpr double kBeyond = 0x1.ffffffp127;  // from here on the nearest f32 is an infinity
  return std::abs(x) < kBeyond ? static_cast<double>(static_cast<float>(x)) : std::copysign(kInfinity, x);
}

// The nearest number of the type. Halves may stay f32 from one operator to the next: then it is that number,
// if it is farther in this direction.
double rounded(double x, DType t, double direction) {
  if (std::isnan(x) || t == DType::f64) return x;
  const double wide = nearest_f32(x);
  const auto f = static_cast<float>(wide);
  const double half = t == DType::f16    ? static_cast<double>(half_to_float(float_to_half(f)))
                      : t == DType::bf16 ? static_cast<double>(bfloat_to_float(float_to_bfloat(f)))
                                         : wide;
  return direction < 0 ? std::min(wide, half) : std::max(wide, half);
}

double epsilon_of(DType t) {
  return t == DType::f64 ? 0x1p-52 : t == DType::f16 ? 0x1p-10 : t == DType::bf16 ? 0x1p-7 : 0x1p-23;
}

double times(double a, double b) { return a == 0 || b == 0 ? 0 : a * b; }

// Of the four numbers that bounds give.
Numbers between(double a, double b, double c, double d) {
  return {std::min({a, b, c, d}), std::max({a, b, c, d}), false, false};
}

bool is_infinite(const Numbers& n) { return !n.none() && !n.real(); }

// What is computed of two elements that meet: nothing, if there are none.
bool meet(const Numbers& a, const Numbers& b) { return !a.none() && !b.none(); }
Numbers of_nothing(const Numbers& a, const Numbers& b) {
  Numbers n = kNoNumber;
  n.nan = a.nan || b.nan;
  return n;
}

}  // namespace

Numbers range_of(DType t) {
  if (t == DType::boolean) return {0, 1, false, true};
  if (is_int(t)) return {lowest_of(t), static_cast<double>(highest_of(t)), false, true};
  return {};
}

Numbers fit(Numbers n, DType t) {
  if (n.none()) return n;
  if (is_float(t)) {
    n.low = rounded(n.low, t, -1);
    n.high = rounded(n.high, t, 1);
    return n;
  }
  if (t == DType::boolean && !n.nan && n.low >= 0 && n.high <= 1) return n;
  if (!is_int(t)) return range_of(t);
  if (std::abs(n.low) > kExact) n.low = std::nextafter(n.low, -kInfinity);
  if (std::abs(n.high) > kExact) n.high = std::nextafter(n.high, kInfinity);
  const Numbers all = range_of(t);
  if (n.nan || n.low < all.low || n.high > all.high) return all;
  n.whole = true;
  return n;
}

Numbers convert(Numbers n, DType to) {
  if (n.none() && !n.nan) return n;
  if (to == DType::boolean) {
    const bool none_is_0 = !n.has(0), all_are_0 = n.low == 0 && n.high == 0 && !n.nan;
    return {none_is_0 ? 1.0 : 0.0, all_are_0 ? 0.0 : 1.0, false, true};
  }
  if (is_int(to)) {
    n.low = std::trunc(n.low);
    n.high = std::trunc(n.high);
    return n.none() ? range_of(to) : fit(n, to);
  }
  return fit(n, to);
}

Numbers loose(Numbers n, DType t, double terms) {
  if (n.none() || !is_float(t)) return n;
  constexpr double kErrors = 64;
  const double part = kErrors * epsilon_of(t) * terms;
  const auto room = [&](double x) { return std::isinf(x) ? 0 : part * (std::abs(x) + 1); };
  n.low -= room(n.low);
  n.high += room(n.high);
  n.whole = false;
  return n;
}

Numbers join(const Numbers& a, const Numbers& b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.nan || b.nan, a.whole && b.whole};
}

Numbers sum(const Numbers& a, const Numbers& b) {
  if (!meet(a, b)) return of_nothing(a, b);
  const bool cancel =
      (a.high == kInfinity && b.low == -kInfinity) || (a.low == -kInfinity && b.high == kInfinity);
  Numbers n{a.low + b.low, a.high + b.high, a.nan || b.nan || cancel, a.whole && b.whole};
  if (std::isnan(n.low)) n.low = -kInfinity;
  if (std::isnan(n.high)) n.high = kInfinity;
  return n;
}

Numbers negated(const Numbers& n) { return {-n.high, -n.low, n.nan, n.whole}; }

Numbers product(const Numbers& a, const Numbers& b) {
  if (!meet(a, b)) return of_nothing(a, b);
  Numbers n = between(times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high));
  n.nan = a.nan || b.nan || (a.has(0) && is_infinite(b)) || (is_infinite(a) && b.has(0));
  n.whole = a.whole && b.whole;
  return n;
}

// A zero may have a sign, which tells on which side of 0 the quotient by it lies.
Numbers quotient(const Numbers& a, const Numbers& b, DType t) {
  if (!meet(a, b)) return of_nothing(a, b);
  if (is_int(t)) {
    const double most = a.magnitude();  // the divisor is at least 1
    if (b.has(0))
      return {a.low < 0 || b.low < 0 ? -most : 0, a.high > 0 || b.low < 0 ? most : 0, false, true};
    const long double high = std::min(static_cast<long double>(a.high), highest_of(t));
    const auto of = [](long double x, double y) {
      return static_cast<double>(std::trunc(x / static_cast<long double>(y)));
    };
    Numbers n = between(of(a.low, b.low), of(a.low, b.high), of(high, b.low), of(high, b.high));
    n.whole = true;
    return n;
  }
  if (b.has(0)) return {};
  if (is_infinite(a) && is_infinite(b))
    return {a.low >= 0 && b.low > 0 ? 0 : -kInfinity, kInfinity, true, false};
  Numbers n = between(a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high);
  n.nan = a.nan || b.nan;
  return n;
}

Numbers remainder(const Numbers& a, const Numbers& b, bool has_sign_of_dividend) {
  if (!meet(a, b)) return of_nothing(a, b);
  const double least = std::max(b.magnitude() - 1, 0.0);  // of integers
  if (has_sign_of_dividend)
    return {a.low < 0 ? std::max(a.low, -least) : 0, a.high > 0 ? std::min(a.high, least) : 0, false, true};
  return {b.low < 0 ? b.low + 1 : 0, b.high > 0 ? b.high - 1 : 0, false, true};
}

// Where one is NaN, some kernels give the other.
Numbers larger(const Numbers& a, const Numbers& b) {
  Numbers n = join(a, b);
  n.low = std::max(a.low, b.low);
  if (a.nan) n.low = std::min(n.low, b.low);
  if (b.nan) n.low = std::min(n.low, a.low);
  return n;
}

Numbers smaller(const Numbers& a, const Numbers& b) { return negated(larger(negated(a), negated(b))); }

}  // namespace t2o::onnx
