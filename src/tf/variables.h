#pragma once
#include <functional>
#include <string>
#include <unordered_map>

#include "tf/checkpoint.h"
#include "tf/import.h"
#include "tf/meta_graph.h"
#include "tf/restore_map.h"

namespace t2o::tf {

// The values of the graph's variables, from a checkpoint. Which entry belongs to a variable is told by, in
// this order: the graph's own restore ops; the object graphs of the model and of the checkpoint, where the
// variable's name is unique; the entry of the variable's name.
class Variables {
 public:
  // `object_graph`: the MetaGraph's SavedObjectGraph, kept alive by `owner`; may be empty.
  Variables(CheckpointPtr, RestoreMap, Bytes object_graph, Owner owner);
  TensorPtr operator()(
      const VariableRef&) const;  // fails when it is not found, or is of another type or shape

 private:
  TensorPtr find(const VariableRef&) const;
  const std::string* key_by_object_graph(const std::string& shared_name) const;

  CheckpointPtr checkpoint_;
  RestoreMap restored_;
  Bytes object_graph_;
  Owner owner_;
  mutable bool object_graph_read_ = false;
  mutable std::unordered_map<std::string, std::string> keys_by_name_;  // "" for a name that is not unique
};

// For graphs without a checkpoint: fails and tells how to give one.
std::function<TensorPtr(const VariableRef&)> no_variables(std::string source);

}  // namespace t2o::tf
