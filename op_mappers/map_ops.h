#pragma once
#include "op_mappers/conversion_registry.h"
#include "op_mappers/remedies.h"

namespace t2o {

// Maps a source graph to ONNX, node by node. Reports all errors except those that only follow from another one. The result has
// the names and the order of the source's inputs and outputs. It is complete only if no error was reported.
GraphPtr map_ops(const ir::Graph& source, const ConversionRegistry&, Diagnostics&, const CutOptions& = {});

// Gives the values of a source graph the shapes that mapping infers.
void infer_shapes(ir::Graph& source, const ConversionRegistry&);

}  // namespace t2o
