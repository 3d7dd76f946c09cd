#pragma once
#include <cmath>
#include <limits>

#include "ir/dtype.h"

namespace t2o::onnx {

// The real numbers among some elements: all lie between two bounds. Infinities count as numbers.
struct Numbers {
  static constexpr double kInfinity = std::numeric_limits<double>::infinity();

  double low = -kInfinity, high = kInfinity;  // low > high: there is no number
  bool nan = true;                            // an element may be NaN
  bool whole = false;                         // those that are finite are whole

  bool operator==(const Numbers&) const = default;
  bool none() const { return low > high; }
  bool finite() const { return !nan && low > -kInfinity && high < kInfinity; }
  bool real() const { return low > -kInfinity && high < kInfinity; }  // finite or NaN
  bool has(double x) const { return low <= x && x <= high; }
  double magnitude() const { return none() ? 0 : std::fmax(std::abs(low), std::abs(high)); }
  bool within(double most) const { return !nan && magnitude() <= most; }
};

constexpr Numbers kNoNumber = {Numbers::kInfinity, -Numbers::kInfinity, false, true};

Numbers range_of(DType);          // all numbers of the type
Numbers fit(Numbers, DType);      // computed in this type: rounded. Integers that leave their type may be any
Numbers convert(Numbers, DType to);  // by a Cast
Numbers loose(Numbers, DType, double terms = 1);  // with room for the errors of a function, or of a sum of so many terms

// Exact; fit() rounds the results.
Numbers join(const Numbers&, const Numbers&);  // elements of both
Numbers sum(const Numbers&, const Numbers&);
Numbers negated(const Numbers&);
Numbers product(const Numbers&, const Numbers&);
Numbers quotient(const Numbers&, const Numbers&, DType);
Numbers remainder(const Numbers&, const Numbers&, bool has_sign_of_dividend);
Numbers larger(const Numbers&, const Numbers&);
Numbers smaller(const Numbers&, const Numbers&);

}  // namespace t2o::onnx
