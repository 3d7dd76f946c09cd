#pragma once
#include <string>

#include "tf/graph_def.h"
#include "tf/meta_graph.h"
#include "tf/variables.h"

namespace t2o::tf {

// A call of a concrete function of a SavedModel, which its graph gets as that of a signature.
struct ConcreteCall {
  Signature signature;  // the function's name, inputs and outputs
  std::string nodes;    // a serialized GraphDef: a placeholder for each input, and the call
  Strings captured;     // nodes of the model's own graph that the call reads
};

// `wanted`: a number of __call__'s concrete functions, below 0 counted from the end; the name of a concrete function; or the name
// of a method that has a single one. Refuses (bad_option) what does not exist.
ConcreteCall call_concrete_function(const std::string& wanted, const std::string& model, const GraphDef&,
                                    Bytes saved_object_graph, const std::vector<Asset>&, const ObjectNodes&);

void append_nodes(GraphDef&, Bytes graph_def, Owner);  // the owner is kept as well

}  // namespace t2o::tf
