#pragma once
#include <string>

#include "tf/graph_def.h"

namespace t2o::tf {

// The last node below the scope of a layer that computes something: in the main graph, else in the functions that these tensors
// are made by. "" where there is none.
std::string last_node_of_layer(const GraphDef&, std::string_view layer, const Strings& tensors);

bool is_state(std::string_view op);  // of a variable and what reads or restores it, no result of a layer

}  // namespace t2o::tf
