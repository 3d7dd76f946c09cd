#pragma once
#include <optional>
#include <vector>

#include "rewriters/pattern.h"

// Sequences that are turned around before a loop and back behind it.
namespace t2o::rewriters {

struct Unreversed {
  Value* source;                      // before it was turned around
  std::vector<const ir::Node*> path;  // what was done to it since, outermost last
};

// Turned around along the axis: all of it, or with lengths each row's own part.
std::optional<Unreversed> find_reversal(Value* v, int time_axis, Value* lengths);
Value* undo_reversal(const Unreversed& u, Rewrite& w);  // v in its original order

bool is_only_reversed(const Value* v, Value* lengths);  // each reader of the time-major v turns it around
void replace_reversals(Value* v, Value* y, Value* lengths);  // and gets y, which is in order already, instead

}  // namespace t2o::rewriters
