#pragma once
#include <optional>
#include <vector>

#include "rewriters/pattern.h"

// Sequences that are reversed before a loop and reversed back after it.
namespace t2o::rewriters {

struct Unreversed {
  Value* source;                      // the sequence before the reversal
  std::vector<const ir::Node*> path;  // the nodes after the reversal, outermost last
};

// Finds a reversal along the axis: of the whole axis or, with lengths, of each row's own part.
std::optional<Unreversed> find_reversal(Value* v, int time_axis, Value* lengths);
Value* undo_reversal(const Unreversed& u, Rewrite& w);  // v in its original order

bool is_only_reversed(const Value* v, Value* lengths);  // every reader of the time-major v is a reversal
void replace_reversals(Value* v, Value* y, Value* lengths);  // replaces these reversals by y, which is in order already

}  // namespace t2o::rewriters
