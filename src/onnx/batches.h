#pragma once
#include "onnx/emitter.h"

// ONNX Runtime's MatMul does not broadcast 1 to a batch of 0, nor a plain matrix to one that stands behind it.
namespace t2o::onnx {

// The matrix with a batch of 0 where the other has one, else of 1; as it is where the other's is known to be some.
Value* with_batch_of(Emitter&, Value* matrix, Value* other);

// Operands whose product is right for an empty batch too. As they are where none can be empty, where the second
// is one for all, and where what would be repeated are weights too big for that.
struct Operands {
  Value *a, *b;
};
Operands with_common_batch(Emitter&, Value* a, Value* b);
bool are_too_big(const Value* weights);

}  // namespace t2o::onnx
