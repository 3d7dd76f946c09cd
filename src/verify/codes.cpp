#include "verify/codes.h"

#include <cmath>
#include <limits>

namespace t2o::verify {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Numbers of 64-bit integers are no codes: these fit a double.
double distance(double expected, double got) {
  if (std::isfinite(expected) && std::isfinite(got)) return std::abs(got - expected);
  return expected == got || (std::isnan(expected) && std::isnan(got)) ? 0 : kInfinity;
}

bool passes(const CodeCount& c, const CodeTolerance& t) {
  return static_cast<double>(c.near) >= t.share * static_cast<double>(c.elements) && c.largest <= t.largest;
}

bool is_as_near(const CodeCount& c, const CodeCount* own) {
  return own && own->elements == c.elements && c.near >= own->near && c.largest <= own->largest;
}

std::string count_text(const Tensor& expected, const Tensor& got, const Comparison& c, double near) {
  char text[120];
  std::snprintf(text, sizeof text, "%lld of %lld codes are off by more than %g, the worst by %g",
                static_cast<long long>(c.mismatches), static_cast<long long>(c.elements), near,
                c.codes->largest);
  return text + (", at " + index_text(expected.dims(), c.worst)) + ": " + element_text(got, c.worst) +
         ", expected " + element_text(expected, c.worst);
}

}  // namespace

CodeTolerance code_tolerance(int bits) {
  constexpr double kFiner = 16;
  CodeTolerance t;
  if (bits == 16) t.near *= kFiner, t.largest *= kFiner;
  return t;
}

CodeTolerance tolerance_of_dequantized(int bits) {
  constexpr double kFiner = 64;
  CodeTolerance t{8, 32, 0.99};
  if (bits == 16) t.near *= kFiner, t.largest *= kFiner;
  return t;
}

Comparison compare_codes(const Tensor& expected, const Tensor& got, double step, CodeTolerance tolerance,
                         const CodeCount* own) {
  Comparison c = compare(expected, got, {.relative = 0, .absolute = kInfinity});
  if (!c.same_dtype || !c.same_shape) return c;
  CodeCount& codes = c.codes.emplace();
  codes.elements = c.elements;
  c.mismatches = 0;
  for (std::int64_t i = 0; i < c.elements; ++i) {
    const double off = std::round(distance(expected.float_at(i), got.float_at(i)) / step);
    codes.same += off == 0;
    codes.one += off == 1;
    codes.near += off <= tolerance.near;
    c.mismatches += off > tolerance.near;
    if (off > tolerance.near && c.first < 0) c.first = i;
    if (off > codes.largest) codes.largest = off, c.worst = i;
  }
  codes.as_near_as_own = !passes(codes, tolerance) && is_as_near(codes, own);
  c.problem =
      passes(codes, tolerance) || codes.as_near_as_own ? "" : count_text(expected, got, c, tolerance.near);
  return c;
}

}  // namespace t2o::verify
