#pragma once
#include <optional>

#include "op_mappers/context.h"
#include "tfgraph/loop.h"

// A TensorList among mapped values is its stacked tensor: [length, dims of the elements]. Where elements have
// not been seen yet, a size 1 stands for each unknown one and is expanded by the first element; a list whose
// elements' rank is not known either ("fresh") is zeros with one axis and a shape without rank.
// A value of type variant stands for a list that a loop only writes, once in each round: writing to it gives
// the element.
namespace t2o::op_mappers {

inline bool is_list(const Value* v) { return v && v->dtype() == DType::variant; }  // of a source graph
inline bool is_fresh(const Value* list) { return !list->shape().ranked(); }

// A shape without rank would call the list fresh.
Value* of_rank(Emitter&, Value* list, int rank);
Value* length_of(Emitter&, Value* list);  // [1], i64
// With zeros behind its end, where it has one before `size`.
Value* grown(Emitter&, Value* list, Value* size);
// `element`: the shape of what is put in.
Value* with_rank(Emitter&, Value* fresh, const Shape& element);
// So that a tensor of the shape of `like` without its first axis is an element of it.
Value* fit_to_elements(Emitter&, Value* list, Value* like);

// The list is written in each round, and else not touched: at an index that goes up or down by one.
struct Written {
  bool appends = false;     // by TensorListPushBack
  bool backwards = false;   // the index goes down
  bool grows = false;       // where the index is behind its end
  bool from_front = false;  // nothing of the list is before what is written
  bool to_end = false;      // nothing is behind it
  bool has_sizes = false;   // its elements have been seen
  Dim length = kUnknownDim;
  int first = -1;           // the variable that, at first, is the index of the first round
  std::int64_t offset = 0;  // but for this; where there is no variable, it is the index

  // The list has all elements before the first one that is written, if there is a round.
  bool reaches_first() const { return !grows || to_end || (from_front && !backwards); }
};
std::optional<Written> written_once(const tfgraph::Loop&, const ir::Graph& condition, std::size_t variable);

// The list after the loop: `written`, and those elements of the list before it that are still there. `first`:
// Written::first as it is around the loop.
Value* with_rest(MapperContext&, const Written&, Value* written, Value* list, Value* first);

}  // namespace t2o::op_mappers
