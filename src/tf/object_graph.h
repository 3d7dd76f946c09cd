#pragma once
#include <string>
#include <unordered_map>

#include "ir/tensor.h"

namespace t2o::tf {

// From the names of a model's variables to the keys of their checkpoint entries: the SavedObjectGraph of the
// model and the TrackableObjectGraph of the checkpoint are walked in step, from the root along equal names.
// "" for a name that several variables have.
std::unordered_map<std::string, std::string> keys_by_variable_name(Bytes saved_object_graph,
                                                                   Bytes trackable_object_graph);

}  // namespace t2o::tf
