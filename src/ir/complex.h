#pragma once
#include "ir/tensor.h"

// ONNX has no complex tensors. A complex tensor becomes a tensor of its parts with one more, last axis of size 2: (re, im).
namespace t2o {

inline DType part_type(DType t) {  // other types unchanged
  return t == DType::c64 ? DType::f32 : t == DType::c128 ? DType::f64 : t;
}

inline Shape shape_of_pairs(const Shape& complex) {
  if (!complex.ranked()) return {};
  Ints dims = complex.dims();
  dims.push_back(2);
  return Shape(std::move(dims));
}

inline TensorPtr complex_as_pairs(const TensorPtr& t) {  // other tensors unchanged
  if (!is_complex(t->dtype())) return t;
  Ints dims = t->dims();
  dims.push_back(2);
  return std::make_shared<Tensor>(part_type(t->dtype()), std::move(dims), t->storage());
}

}  // namespace t2o
