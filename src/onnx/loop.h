#pragma once
#include <functional>

#include "onnx/emitter.h"

namespace t2o::onnx {

// One step of a counted loop. It gets the number of the step (i64, [1]) and the state before the step. It returns the
// state after the step, followed by the values to collect. Each collected value becomes one more result of the loop,
// with the steps as its first axis.
using Step = std::function<Values(Emitter&, Value* k, const Values& state)>;

// Makes `count` steps (i64, rank 0). Each state keeps the type of its initial value. Returns the last state, followed by
// the collected values.
Values counted_loop(Emitter&, Value* count, const Values& initial, const Step&);
// The same; a step may change the sizes of a state, but not its rank.
Values counted_loop_of_any_size(Emitter&, Value* count, const Values& initial, const Step&);

}  // namespace t2o::onnx
