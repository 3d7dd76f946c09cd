#pragma once
#include "rewriters/tf/recurrent_loop.h"

namespace t2o::rewriters {

// Puts the layers in the loop's place; the loop is left without readers.
void build_layers(const RecurrentLoop& r);

}  // namespace t2o::rewriters
