#pragma once
#include "onnx/emitter.h"

// Scalars that a type has.
namespace t2o {

Value* zero_of(Emitter&, DType);  // for strings, the empty string
Value* lowest(Emitter&, DType);   // the lowest and the highest finite number
Value* highest(Emitter&, DType);

}  // namespace t2o
