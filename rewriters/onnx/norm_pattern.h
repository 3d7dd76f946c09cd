#pragma once
#include <optional>

#include "onnx/opset_table.h"
#include "onnx/schema.h"
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
bool is_scalar_constant(const Value*);                           // a single floating-point number
Pat squared(const Pat& x);

// The element types that the runtime has a kernel for, of an operator that it has; else none.
onnx::DTypeSet kernel_types(const char* op, const onnx::Target&);

}  // namespace t2o::rewriters
