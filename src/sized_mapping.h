#pragma once
#include "op_mappers/map_ops.h"

namespace t2o {

// map_ops. If the graph runs with one size of an open dimension alone, the inputs state it, and the graph is mapped again.
GraphPtr map_with_required_sizes(ir::Graph& model, const ConversionRegistry&, Diagnostics&, const CutOptions&);

}  // namespace t2o
