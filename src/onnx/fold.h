#pragma once
#include <optional>
#include <string>
#include <vector>

#include "ir/attr.h"
#include "onnx/converted.h"

namespace t2o::onnx {

// Evaluates an ONNX operator whose inputs are all constants. nullopt if the program does not fold this operator, or if the result
// would be too large to store. Transposes, casts and reshapes of weights become computed storages: nothing is
// copied until the model is written.
std::optional<std::vector<TensorPtr>> fold(const std::string& op, const std::vector<TensorPtr>& inputs, const Attrs&, int opset);

TensorPtr transposed(const TensorPtr&, const Ints& perm);

}  // namespace t2o::onnx
