#pragma once
#include <string>
#include <vector>

#include "onnx/tensor_proto.h"

namespace t2o::verify {

using onnx::NamedTensor;

// numpy's .npy: numbers, bools, complex, bytes and unicode strings in C order. Fails with Code::bad_file.
TensorPtr parse_npy(Bytes file, const std::string& source);

// numpy's .npz as numpy.savez writes it (not compressed): the arrays by name, in the order of the file.
std::vector<NamedTensor> parse_npz(Bytes file, const std::string& source);

}  // namespace t2o::verify
