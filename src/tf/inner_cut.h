#pragma once
#include "tf/import.h"

namespace t2o::tf {

// Cuts the imported graph at the tensors of request.cut_inputs and cut_outputs, some of which are inside of functions: there they have
// the names that a dump, an error or an ONNX node's origin tells.
void cut_inside(ir::Graph&, const ImportRequest&, Diagnostics&);

}  // namespace t2o::tf
