#pragma once

#include "tf/import.h"
#include "tf/pieces.h"

namespace t2o::tf {

struct FrozenInput {  // of the converted graph
  std::string tensor;
  DType dtype = DType::undefined;
  Shape shape;
};

// The source graph as TensorFlow reads it: what the outputs need of it, with the variables as constants.
struct FrozenGraph {
  Pieces graph_def;
  Owner owner;  // keeps what the pieces view
};

// What cannot be a constant, such as a variable that the graph changes, is reported.
FrozenGraph freeze(const GraphDef&, const std::vector<FrozenInput>&, const Strings& outputs,
                   const std::function<TensorPtr(const VariableRef&)>& variable, Diagnostics&);

// Fails (Code::output) where protobuf cannot hold it; nothing is written then.
void check_size(const FrozenGraph&);

}  // namespace t2o::tf
