#pragma once
#include <map>
#include <string>
#include <vector>

#include "ir/alteration.h"
#include "ir/tensor.h"

namespace t2o::onnx {

// Functions of verification on finished models: they read a model's bytes and return facts or other bytes. Bytes that are
// no model are refused with Code::bad_file; `source` names them in messages.

struct ModelNode {
  std::string op, name;                // "Conv", "com.microsoft::Gelu"
  std::string source_node, source_op;  // of the metadata_props; may be empty
  std::vector<std::string> outputs;    // "" for an omitted optional output
};
std::vector<ModelNode> model_nodes(Bytes model, const std::string& source);  // of the main graph, in order

std::vector<std::pair<std::string, std::string>> metadata(Bytes model, const std::string& source);  // keys and values

std::map<std::string, ir::Alteration> altered_values(Bytes model, const std::string& source);  // by their names in the model

// The named initializers whose bytes are in the file itself.
std::map<std::string, TensorPtr> initializers(Bytes model, const std::vector<std::string>& names, const std::string& source);

// The same model with more outputs. Outputs that it already has are skipped.
std::string with_outputs(Bytes model, const std::vector<std::string>& values, const std::string& source);

// A text that is equal for two models which differ only in their stated opset and IR version, if every operator has the same
// schema in both. A runtime treats such models alike.
std::string schema_key(Bytes model);

}  // namespace t2o::onnx
