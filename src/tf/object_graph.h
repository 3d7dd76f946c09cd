#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "tf/graph_def.h"

namespace t2o::tf {

// Which objects of the SavedObjectGraph the nodes at top level stand for, by the name of the node: a call of a
// signature gets what its function has captured, and the object graph says which objects these are.
using Captures = std::unordered_map<std::string, std::size_t>;
Captures read_captures(const GraphDef&, Bytes saved_object_graph);

struct VariableKeys {  // keys of checkpoint entries
  std::unordered_map<std::string, std::string> by_node;  // for nodes that are captured
  std::unordered_map<std::string, std::string> by_name;  // "" for a name that several variables have
  std::vector<std::string> by_object;                    // "" for what is no variable of the checkpoint
};

// The SavedObjectGraph of the model and the TrackableObjectGraph of the checkpoint are walked in step, from the
// root along equal names.
VariableKeys read_variable_keys(Bytes saved_object_graph, Bytes trackable_object_graph, const Captures&);

}  // namespace t2o::tf
