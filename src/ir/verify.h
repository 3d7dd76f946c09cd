#pragma once
#include "diagnostics.h"
#include "ir/graph.h"

namespace t2o::ir {

// Checks the invariants of a graph and its subgraphs:
// - Use-lists agree with inputs, and names are unique.
// - A node reads only values that are visible to it and whose producer comes before it. (In TensorFlow's dialect the producer may
//   come later, because loops have back edges.)
// - Every value of an ONNX graph that has a reader has an element type.
// Each violation is a bug of a reader, mapper or rewriter: Code::internal.
enum class Named : std::uint8_t { all, some };  // some: Graph::name_rest will name new values later
Diagnostics verify_graph(const Graph&, Named = Named::all);

}  // namespace t2o::ir
