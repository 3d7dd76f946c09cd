#pragma once
#include <functional>

#include "onnx/emitter.h"

namespace t2o::op_mappers {

// One step of a counted loop: the number of the step (i64, [1]) and the state before it give the state after
// it, and behind that what is to be collected: of each value one more result with the steps as its first
// axis.
using Step = std::function<Values(Emitter&, Value* k, const Values& state)>;

// `count` steps (i64, rank 0), each state with the type of its initial value; gives the last state,
// then what was collected.
Values counted_loop(Emitter&, Value* count, const Values& initial, const Step&);
// The same where a step may change the sizes of a state, but not its rank.
Values counted_loop_of_any_size(Emitter&, Value* count, const Values& initial, const Step&);

}  // namespace t2o::op_mappers
