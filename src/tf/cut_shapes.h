#pragma once
#include "formats/source.h"
#include "tf/import.h"

namespace t2o::tf {

// A frozen graph does not state the shape of the tensor at which it is cut. This infers it from the removed part of the graph, as
// far as that can be mapped. Unknown sizes stay unknown.
void learn_cut_shapes(ir::Graph& model, const Interface&, const GraphDef&, const ImportRequest&, const InferShapes&);

}  // namespace t2o::tf
