#pragma once
#include "onnx/emitter.h"

namespace t2o {

// Like Emitter::reshape_to, but right below opset 14 also for an x with any empty dims. This takes more nodes; reshape_to omits
// them if the dims come from other tensors.
Value* reshape_even_if_empty(Emitter&, Value* x, Value* dims);

}  // namespace t2o
