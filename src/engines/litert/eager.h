#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engines/litert/model.h"

// TensorFlow's C interface for single operators.
namespace t2o::engines::lite {

// A NodeDef: the operator and its attributes, each an AttrValue as it is stored.
struct EagerNode {
  std::string op;
  std::vector<std::pair<std::string, std::string>> attrs;
};
EagerNode eager_node(std::string_view node_def);  // throws Failed

class EagerTensor;  // a tensor of TensorFlow's
using EagerTensorPtr = std::shared_ptr<EagerTensor>;

// Operators keep what they hold from run to run: random numbers go on, so that two runs show that they are random.
class Eager {
 public:
  explicit Eager(const std::string& library);  // throws Failed

  // The types are those of .tflite files. All of it throws Failed.
  EagerTensorPtr tensor(const TensorValue&, const void* data);
  TensorValue value(const EagerTensor&) const;
  std::vector<EagerTensorPtr> run(const EagerNode&, const std::vector<EagerTensorPtr>& inputs, std::size_t outputs);

  struct Api;

 private:
  std::shared_ptr<Api> api_;
};

}  // namespace t2o::engines::lite
