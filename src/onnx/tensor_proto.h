#pragma once
#include <string>

#include "ir/tensor.h"

namespace t2o::onnx {

struct NamedTensor {
  std::string name;
  TensorPtr tensor;
};

// A serialized onnx.TensorProto, as in the input_0.pb files of the ONNX model zoo. Refuses external data,
// segments and bytes that do not fit the shape.
NamedTensor parse_tensor(Bytes bytes, const std::string& source);

}  // namespace t2o::onnx
