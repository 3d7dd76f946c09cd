#pragma once
#include "onnx/emitter.h"

namespace t2o::op_mappers {

Value* zero_of(Emitter&, DType);  // rank 0; of strings the empty one

}  // namespace t2o::op_mappers
