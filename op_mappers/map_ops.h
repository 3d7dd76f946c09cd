#pragma once
#include "op_mappers/conversion_registry.h"
#include "op_mappers/remedies.h"

namespace t2o {

// Maps a source graph to ONNX, node by node. All errors are reported; those that only follow from another are suppressed.
// The result has the source's inputs and outputs, by name and order; it is only whole when no error was reported.
GraphPtr map_ops(const ir::Graph& source, const ConversionRegistry&, Diagnostics&, const Ways& = {});

// Gives the values of a source graph the shapes that mapping infers.
void infer_shapes(ir::Graph& source, const ConversionRegistry&);

}  // namespace t2o
