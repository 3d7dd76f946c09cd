#pragma once
#include "ir/tensor.h"

namespace t2o::onnx {

TensorPtr converted(const TensorPtr&, DType);  // as ONNX Cast; null for strings
// The tensor, with the same dims, that converted() made this one of. Null if it is none of these, or small.
TensorPtr before_conversion(const TensorPtr&);

}  // namespace t2o::onnx
