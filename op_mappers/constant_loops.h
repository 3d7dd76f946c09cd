#pragma once
#include <optional>

#include "op_mappers/control_flow.h"
#include "tfgraph/loop.h"

namespace t2o::op_mappers {

struct LoopReads {
  const Wanted& carried;  // the variables that rounds change and that somebody reads
  const Wanted& read;     // the variables that rounds read
  const Value* count;     // the number of rounds, where the loop's condition does not matter; else null
};

// Runs a loop over constants at conversion, such as one that finds the greatest common divisor of two sizes. Returns the values of all
// its variables behind it; nothing if something that it reads is no small constant, before or after a round, or if the
// loop has too many rounds.
std::optional<MappedValues> run_constant_loop(GraphContext&, const tfgraph::Loop&, const LoopReads&);

}  // namespace t2o::op_mappers
