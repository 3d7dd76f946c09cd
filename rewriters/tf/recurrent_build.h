#pragma once
#include "rewriters/tf/recurrent_loop.h"

namespace t2o::rewriters {

// Replaces the loop by the layers. The loop stays in the graph, without readers.
void build_layers(const RecurrentLoop& r);

}  // namespace t2o::rewriters
