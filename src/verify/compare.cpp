#include "verify/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

namespace t2o::verify {
namespace {

constexpr double kScaleOfNothing = 1e-3;  // where all that is expected is 0
constexpr double kHalfStep = 0x1p-24;     // of floats near 1

bool has_numbers(DType t) { return t == DType::boolean || (bit_width(t) != 0 && !is_complex(t)); }

bool is_float8(DType t) {
  return contains({DType::f8e4m3fn, DType::f8e4m3fnuz, DType::f8e5m2, DType::f8e5m2fnuz}, t);
}

// The differences of 64-bit integers do not fit a double.
double integer_error(const Tensor& a, const Tensor& b, std::int64_t i) {
  const std::int64_t x = a.int_at(i), y = b.int_at(i);
  if (a.dtype() == DType::u64) {
    const auto ux = static_cast<std::uint64_t>(x), uy = static_cast<std::uint64_t>(y);
    return static_cast<double>(ux > uy ? ux - uy : uy - ux);
  }
  return static_cast<double>(x > y ? static_cast<std::uint64_t>(x) - static_cast<std::uint64_t>(y)
                                   : static_cast<std::uint64_t>(y) - static_cast<std::uint64_t>(x));
}

struct Counter {
  Comparison& result;
  Tolerance tolerance;
  double sum = 0;
  std::int64_t finite = 0;

  void mismatch(std::int64_t i) {
    if (result.mismatches++ == 0) result.first = i;
  }
  void beyond(std::int64_t i) {  // all numbers: a NaN or an infinity that the other is not
    if (result.max_error != std::numeric_limits<double>::infinity()) result.worst = i;
    result.max_error = std::numeric_limits<double>::infinity();
    mismatch(i);
  }
  void error(std::int64_t i, double expected, double error, bool may_differ = false) {
    sum += error;
    ++finite;
    if (result.worst < 0 || error > result.max_error) {
      result.worst = i;
      result.max_error = error;
    }
    if (expected != 0) result.max_relative = std::max(result.max_relative, error / std::abs(expected));
    if (!may_differ && !(error <= tolerance.absolute + tolerance.relative * std::abs(expected))) mismatch(i);
  }
};

// A sigmoid far below 0, by a formula that rounds as numbers near 1 do: a few half steps of these, or none.
bool rounded_as_near_1(double x, double y, DType t) {
  return t != DType::f64 && std::abs(x - y) <= kHalfStep && std::fmod(y, kHalfStep) == 0;
}

void count_floats(const Tensor& expected, const Tensor& got, Counter& counter) {
  for (std::int64_t i = 0; i < expected.elements(); ++i) {
    const double x = expected.float_at(i), y = got.float_at(i);
    if (std::isfinite(x) && std::isfinite(y))
      counter.error(i, x, std::abs(x - y), rounded_as_near_1(x, y, expected.dtype()));
    else if (!(x == y || (std::isnan(x) && std::isnan(y))))
      counter.beyond(i);
  }
}

void count_others(const Tensor& expected, const Tensor& got, Counter& counter) {
  if (expected.dtype() == DType::string) {
    for (std::size_t i = 0; i < expected.strings().size(); ++i)
      if (expected.strings()[i] != got.strings()[i]) counter.mismatch(static_cast<std::int64_t>(i));
  } else if (is_float8(expected.dtype())) {
    for (std::int64_t i = 0; i < expected.elements(); ++i)
      if (expected.at<std::uint8_t>(i) != got.at<std::uint8_t>(i)) counter.mismatch(i);
  } else {
    for (std::int64_t i = 0; i < expected.elements(); ++i)
      counter.error(i, expected.float_at(i), integer_error(expected, got, i));
  }
}

Tolerance scaled(Tolerance t, const Tensor& expected) {
  if (!t.by_scale || !is_float(expected.dtype()) || is_float8(expected.dtype()) || expected.elements() == 0) {
    t.absolute += t.spread;
    return t;
  }
  double largest = 0;
  for (std::int64_t i = 0; i < expected.elements(); ++i)
    if (const double x = std::abs(expected.float_at(i)); std::isfinite(x)) largest = std::max(largest, x);
  t.absolute *= largest == 0 ? kScaleOfNothing : std::min(largest, t.largest_scale);
  t.absolute = std::max(t.absolute, t.rounding) + t.spread;
  return t;
}

std::string describe(const Tensor& expected, const Tensor& got, const Comparison& c) {
  if (!c.same_dtype)
    return "dtype is " + std::string(name(got.dtype())) + ", expected " + std::string(name(expected.dtype()));
  if (!c.same_shape)
    return "shape is " + shape_text(got.dims()) + ", expected " + shape_text(expected.dims());
  if (c.mismatches == 0) return "";
  return std::to_string(c.mismatches) + " of " + std::to_string(c.elements) + " elements differ, first at " +
         index_text(expected.dims(), c.first) + ": " + element_text(got, c.first) + ", expected " +
         element_text(expected, c.first);
}

}  // namespace

Comparison compare(const Tensor& expected, const Tensor& got, Tolerance tolerance) {
  if (is_complex(expected.dtype()) && !is_complex(got.dtype()))
    return compare(*complex_as_pairs(std::make_shared<Tensor>(expected)), got, tolerance);
  if (is_complex(expected.dtype()) && expected.dtype() == got.dtype())
    return compare(*complex_as_pairs(std::make_shared<Tensor>(expected)),
                   *complex_as_pairs(std::make_shared<Tensor>(got)), tolerance);
  Comparison result;
  result.elements = expected.elements();
  result.same_dtype = expected.dtype() == got.dtype();
  result.same_shape = expected.dims() == got.dims();
  if (result.same_dtype && result.same_shape) {
    Counter counter{result, scaled(tolerance, expected)};
    if (is_float(expected.dtype()) && !is_float8(expected.dtype()))
      count_floats(expected, got, counter);
    else
      count_others(expected, got, counter);
    if (counter.finite != 0) result.mean_error = counter.sum / static_cast<double>(counter.finite);
  }
  result.problem = describe(expected, got, result);
  return result;
}

std::string text(Evidence e) {
  switch (e) {
    case Evidence::constant:
      return "constant";
    case Evidence::all_nan:
      return "NaN everywhere";
    case Evidence::all_infinite:
      return "infinite everywhere";
    case Evidence::tiny:
      return "below the rounding of numbers near 1 everywhere";
    case Evidence::empty:
      return "empty";
    default:
      return "";
  }
}

Evidence evidence_of(const Tensor& t) {
  if (is_complex(t.dtype())) return evidence_of(*complex_as_pairs(std::make_shared<Tensor>(t)));
  const std::int64_t n = t.elements();
  if (n == 0) return Evidence::empty;
  if (t.dtype() == DType::string) {
    const bool same =
        n > 1 && std::ranges::all_of(t.strings(), [&](const std::string& s) { return s == t.strings()[0]; });
    return same ? Evidence::constant : Evidence::some;
  }
  if (!has_numbers(t.dtype()) || is_float8(t.dtype())) return Evidence::some;
  bool nan = true, infinite = true, same = n > 1, tiny = is_float(t.dtype()) && t.dtype() != DType::f64;
  for (std::int64_t i = 0; i < n && (nan || infinite || same || tiny); ++i) {
    const double x = t.float_at(i);
    nan = nan && std::isnan(x);
    infinite = infinite && std::isinf(x);
    tiny = tiny && std::abs(x) <= kHalfStep;
    same = same && (is_int(t.dtype()) ? t.int_at(i) == t.int_at(0) : x == t.float_at(0));
  }
  return nan        ? Evidence::all_nan
         : infinite ? Evidence::all_infinite
         : same     ? Evidence::constant
         : tiny     ? Evidence::tiny
                    : Evidence::some;
}

std::string shape_text(const Ints& dims) {
  std::string text = "[";
  for (std::size_t i = 0; i < dims.size(); ++i) text += (i ? ", " : "") + std::to_string(dims[i]);
  return text + "]";
}

std::string index_text(const Ints& dims, std::int64_t index) {
  Ints position(dims.size());
  for (std::size_t axis = dims.size(); axis-- > 0;) {
    position[axis] = index % dims[axis];
    index /= dims[axis];
  }
  return shape_text(position);
}

std::string element_text(const Tensor& t, std::int64_t i) {
  if (t.dtype() == DType::string) return "\"" + nth(t.strings(), i) + "\"";
  if (is_float8(t.dtype())) return "bits " + std::to_string(t.at<std::uint8_t>(i));
  if (t.dtype() == DType::u64) return std::to_string(t.at<std::uint64_t>(i));
  if (!has_numbers(t.dtype())) return "?";
  if (!is_float(t.dtype())) return std::to_string(t.int_at(i));
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", t.float_at(i));
  return text;
}

}  // namespace t2o::verify
