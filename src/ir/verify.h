#pragma once
#include "diagnostics.h"
#include "ir/graph.h"

namespace t2o::ir {

// What must hold of any graph, subgraphs included: use-lists agree with inputs, names are unique, values are read where
// they are visible and (but in TensorFlow's dialect, where loops have back edges) behind their producer; every read value
// of an ONNX graph has an element type. Each violation is a bug of a reader, mapper or rewriter: Code::internal.
enum class Named : std::uint8_t { all, some };  // some: names of new values are made later, by Graph::name_rest
Diagnostics verify_graph(const Graph&, Named = Named::all);

}  // namespace t2o::ir
