#pragma once
#include <string>
#include <utility>
#include <vector>

#include "op_mappers/conversion_registry.h"
#include "tf2onnx/options.h"

namespace t2o {

// The parts of a conversion that follow from the options alone, before a model is opened.
struct Plan {
  ConversionRegistry registry;  // with the target
  std::vector<std::pair<std::string, int>> extra_opsets;  // domain and version
};
// The rows of a conversion at the options' opset.
ConversionRegistry registry_for(const tf2onnx::Options&, Diagnostics&);

Plan make_plan(const tf2onnx::Options&, Diagnostics&);  // reports all errors in the options

}  // namespace t2o
