#pragma once
#include "onnx/emitter.h"

// ONNX Runtime's MatMul broadcasts neither a batch of 1 to a batch of 0, nor a plain matrix to an empty batch in the second
// operand.
namespace t2o::onnx {

// The matrix with a batch of 0 if the other operand's batch is empty, else of 1. Unchanged if the other's batch is known not to
// be empty.
Value* with_batch_of(Emitter&, Value* matrix, Value* other);

// Operands whose product is right for an empty batch too. Unchanged if no batch can be empty, if the second operand is a plain
// matrix, and if the operand to broadcast is a weight that is too big to repeat.
struct Operands {
  Value *a, *b;
};
Operands with_common_batch(Emitter&, Value* a, Value* b);
bool are_too_big(const Value* weights);

}  // namespace t2o::onnx
