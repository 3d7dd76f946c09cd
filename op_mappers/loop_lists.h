#pragma once
#include <optional>
#include <vector>

#include "op_mappers/context.h"
#include "op_mappers/list_types.h"
#include "tfgraph/loop.h"

// Lists that a loop writes once in each round.
namespace t2o::op_mappers {

// How a loop writes a list: once in each round, at an index that goes up or down by one, with no other use in the body.
struct Written {
  bool appends = false;     // the write is a TensorListPushBack
  bool backwards = false;   // the index goes down
  bool grows = false;       // a write past the end grows the list
  bool from_front = false;  // the list has no element before the written ones
  bool to_end = false;      // the list has no element after the written ones
  Dim length = kUnknownDim;
  // The index of the first round is the initial value of this loop variable plus `offset`. With -1 it is `offset`.
  int first = -1;
  std::int64_t offset = 0;

  // If the loop makes a round, the list has all elements before the first written one.
  bool reaches_first() const { return !grows || to_end || (from_front && !backwards); }
  bool in_order() const { return appends || (from_front && to_end && !backwards); }  // each write appends
};
// For each loop variable: how the loop writes it. Empty if it is not one of `lists`, or if the loop does something else with it.
std::vector<std::optional<Written>> written_once(const tfgraph::Loop&, const std::vector<bool>& lists);

// The list after the loop: the elements in `written`, and the elements of `list` that the loop did not overwrite. `first`:
// the initial value of the variable Written::first.
Value* with_rest(MapperContext&, const Written&, Value* written, const List& list, Value* first);

}  // namespace t2o::op_mappers
