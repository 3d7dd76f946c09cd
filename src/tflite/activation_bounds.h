#pragma once
#include <cmath>
#include <optional>

#include "tflite/model.h"

namespace t2o::tflite {

// A bound of an activation whose result has such codes. In the middle of two codes LiteRT takes the one that is farther from 0, and
// QuantizeLinear the even one: the bound is the number of LiteRT's code then.
inline double bound_of_codes(double bound, const std::optional<Quantization>& of_result) {
  if (!of_result) return bound;
  const float scale = of_result->scales[0], code = static_cast<float>(bound) / scale;
  return std::round(code) == std::nearbyint(code) ? bound : static_cast<double>(std::round(code) * scale);
}

}  // namespace t2o::tflite
