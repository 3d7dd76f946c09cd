#pragma once
#include <functional>
#include <string>
#include <unordered_map>

#include "tf/attr_value.h"
#include "tf/checkpoint.h"
#include "tf/import.h"
#include "tf/meta_graph.h"
#include "tf/object_graph.h"
#include "tf/restore_map.h"

namespace t2o::tf {

// Nodes of the graph that stand for objects of the SavedObjectGraph.
using ObjectNodes = std::unordered_map<std::size_t, std::string>;

// The values of the graph's variables, from a checkpoint. Which entry belongs to a variable is told by, in
// this order: the graph's own restore ops; the object graphs of the model and of the checkpoint, by what the
// signatures have captured, then by the variable's name where that is unique; the entry of the variable's name.
// What is wrong with the checkpoint as a whole is Code::bad_file.
class Variables {
 public:
  // `object_graph`: the MetaGraph's SavedObjectGraph, kept alive by `owner`; may be empty.
  Variables(CheckpointPtr, RestoreMap, Captures, Bytes object_graph, Owner owner);
  TensorPtr operator()(
      const VariableRef&) const;  // fails when it is not found, or is of another type or shape
  ObjectNodes object_nodes() const;

 private:
  TensorPtr find(const VariableRef&) const;
  const VariableKeys& keys() const;
  const std::string* key_by_object_graph(const VariableRef&) const;

  CheckpointPtr checkpoint_;
  RestoreMap restored_;
  Captures captures_;
  Bytes object_graph_;
  Owner owner_;
  mutable bool object_graph_read_ = false;
  mutable VariableKeys keys_;
};

VariableRef variable_ref(const NodeDef&, const AttrContext&);
inline VariableRef variable_ref(const NodeDef& n, const Owner& owner) { return variable_ref(n, AttrContext{owner}); }
std::string identity_of(const VariableRef&);  // nodes of one variable have one

// For graphs without a checkpoint: fails with Code::bad_file and tells how to give one.
std::function<TensorPtr(const VariableRef&)> no_variables(std::string source, std::string remedy);

}  // namespace t2o::tf
