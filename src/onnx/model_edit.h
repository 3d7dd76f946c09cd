#pragma once
#include <map>
#include <string>
#include <vector>

#include "ir/alteration.h"
#include "ir/tensor.h"

namespace t2o::onnx {

// What verification does with finished models: their bytes in, facts or other bytes out. Bytes that are no
// model are refused with Code::bad_file; `source` names them in messages.

struct ModelNode {
  std::string op, name;                // "Conv", "com.microsoft::Gelu"
  std::string source_node, source_op;  // of the metadata_props; may be empty
  std::vector<std::string> outputs;    // those of omitted optional outputs are ""
};
std::vector<ModelNode> model_nodes(Bytes model, const std::string& source);  // of the main graph, in order

std::map<std::string, ir::Alteration> altered_values(Bytes model, const std::string& source);  // by their names in the model

// Those of the named initializers that are in the file itself.
std::map<std::string, TensorPtr> initializers(Bytes model, const std::vector<std::string>& names, const std::string& source);

// The same model with more outputs. Those that it has already are skipped.
std::string with_outputs(Bytes model, const std::vector<std::string>& values, const std::string& source);

// Equal for two models that differ at most in the opset and IR version that they state, with every operator
// having the same schema in both: a runtime cannot tell them apart.
std::string schema_key(Bytes model);

}  // namespace t2o::onnx
