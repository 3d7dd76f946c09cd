#pragma once
#include "ir/dtype.h"

namespace t2o::onnx {

int elem_type(DType);             // TensorProto.DataType; 0 for what ONNX has no type for
DType dtype_of_elem_type(int);    // undefined for what we have no type for
DType dtype_of_type_string(const char* type);  // "tensor(float)"; undefined for sequences, optionals, ...

}  // namespace t2o::onnx
