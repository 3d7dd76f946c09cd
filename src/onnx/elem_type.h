#pragma once
#include "ir/dtype.h"

namespace t2o::onnx {

int elem_type(DType);             // TensorProto.DataType; 0 if ONNX has no such type
DType dtype_of_elem_type(int);    // undefined if this program has no such type
DType dtype_of_type_string(const char* type);  // "tensor(float)"; undefined for sequences, optionals, ...

}  // namespace t2o::onnx
