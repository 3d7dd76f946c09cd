#pragma once
#include <map>
#include <string>
#include <unordered_map>

#include "tflite/model.h"

namespace t2o::tflite {

// What names in the ONNX file call the tensors of a model. A converter joins the names of the operators that it has fused by ";" and
// calls results "StatefulPartitionedCall:0"; a label is the first of these names that an author of the model wrote. A weight of a
// layer is called like the layer's variable.
class Labels {
 public:
  explicit Labels(const Model& m) : model_(&m) {}
  std::string of(std::size_t subgraph, std::int64_t tensor);  // "" if no author wrote any of its names
  static std::string first_name(const std::string& joined);    // the same of a name
  static Strings names(const std::string& joined);             // all that an author wrote

 private:
  using Roles = std::unordered_map<std::int64_t, const char*>;  // of the tensors that are weights: "kernel", "bias"
  const Roles& roles(std::size_t subgraph);

  const Model* model_;
  std::map<std::size_t, Roles> roles_;
};

}  // namespace t2o::tflite
