#pragma once
#include <string>

#include "onnx/opset_table.h"

namespace t2o::onnx {

// A remedy: "--opset N or above"; adds another target runtime if the target's does not load models of that opset.
std::string raise_opset(int opset, const Target&);

}  // namespace t2o::onnx
