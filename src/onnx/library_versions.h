#pragma once
#include <string>

namespace t2o::onnx {

std::string onnx_version();  // of the libraries that are built in: "1.23.2"
std::string protobuf_version();

}  // namespace t2o::onnx
