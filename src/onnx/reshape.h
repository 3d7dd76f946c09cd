#pragma once
#include "onnx/emitter.h"

namespace t2o {

// As Emitter::reshape_to, but below opset 14 an x of any empty dims too, where reshape_to spares the nodes that it takes if
// the dims are those of other tensors.
Value* reshape_even_if_empty(Emitter&, Value* x, Value* dims);

}  // namespace t2o
