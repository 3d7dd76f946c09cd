#pragma once
#include <optional>

#include "rewriters/onnx/facts.h"
#include "rewriters/pattern.h"

namespace t2o::rewriters {

// (x - mean) / sqrt(variance + epsilon) * gamma + beta, in all forms in which models write it.
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

// A mean with keepdims over constant axes. TensorFlow's mean of no elements is NaN. If the size is unknown, mappers therefore
// divide the mean by min(size, 1); the pattern matches this form too.
Pat mean_of(const Pat& x);
std::optional<Ints> axes_of_mean(const Value* mean, int rank);  // sorted, none negative
Pat squared(const Pat& x);

}  // namespace t2o::rewriters
