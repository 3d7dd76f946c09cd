#pragma once
#include <string>

namespace t2o::numeric {

// What ONNX's own checker, with its shape inference, has against a serialized model; empty when it takes it.
std::string onnx_checker_problem(const std::string& model);

}  // namespace t2o::numeric
