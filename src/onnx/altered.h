#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace t2o::onnx {

// The metadata of a model that lists its altered values, as ir/alteration.h says: pairs of key and value.
std::vector<std::pair<std::string, std::string>> altered_props(const ir::Graph&);

// Reads these pairs back: for each name in the model, the tensor and the steps that the value is computed from.
std::map<std::string, ir::Alteration> altered_values(const std::vector<std::pair<std::string, std::string>>& props);

}  // namespace t2o::onnx
