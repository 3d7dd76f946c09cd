#pragma once
#include <string>

namespace t2o::onnx {

std::string onnx_version();  // the versions of the built-in libraries: "1.23.2"
std::string protobuf_version();

}  // namespace t2o::onnx
