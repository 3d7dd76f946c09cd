#pragma once
#include <optional>

#include "rewriters/onnx/facts.h"
#include "rewriters/pattern.h"

namespace t2o::rewriters {

// (x - mean) / sqrt(variance + epsilon) * gamma + beta, in the ways that it is written.
struct NormPattern {
  Pat x = any(), gamma = any(), beta = any();
  Pat epsilon, mean, variance;
  Pat difference, inverse, deviation, scale;

  NormPattern();
  Pat plain() const;
  Pat scaled() const;
  Pat shifted() const;
  Pat shifted_only() const;
};

// A mean with keepdims, of constant axes. TensorFlow's mean of nothing is no number, which a division by the lesser of the size
// and 1 says where the size is unknown.
Pat mean_of(const Pat& x);
std::optional<Ints> axes_of_mean(const Value* mean, int rank);  // sorted, none negative
Pat squared(const Pat& x);

}  // namespace t2o::rewriters
