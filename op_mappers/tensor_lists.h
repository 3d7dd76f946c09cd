#pragma once
#include <optional>

#include "op_mappers/context.h"
#include "tfgraph/loop.h"

// A mapped TensorList is its stacked tensor: [length, dims of the elements]. Before the first write, unknown sizes of
// the elements are 1; the first element expands them. A list whose elements have unknown rank ("fresh") is a vector of
// zeros with a shape without rank.
// A value of type variant is a list that a loop only writes, once in each round. Its write returns the element, which
// becomes a scan output.
namespace t2o::op_mappers {

inline bool is_list(const Value* v) { return v && v->dtype() == DType::variant; }  // v is a value of the source graph
inline bool is_fresh(const Value* list) { return !list->shape().ranked(); }

// Gives a list whose shape has no rank this rank, so that it does not count as fresh.
Value* of_rank(Emitter&, Value* list, int rank);
Value* length_of(Emitter&, Value* list);  // [1], i64
// Appends zeros up to `size` elements, if the list is shorter.
Value* grown(Emitter&, Value* list, Value* size);
// Gives a fresh list elements of the shape `element`.
Value* with_rank(Emitter&, Value* fresh, const Shape& element);
// Expands the elements of the list to the shape of `like` without its first axis.
Value* fit_to_elements(Emitter&, Value* list, Value* like);

// How a loop writes a list: once in each round, at an index that goes up or down by one, with no other use in the body.
struct Written {
  bool appends = false;     // the write is a TensorListPushBack
  bool backwards = false;   // the index goes down
  bool grows = false;       // a write past the end grows the list
  bool from_front = false;  // the list has no element before the written ones
  bool to_end = false;      // the list has no element after the written ones
  bool has_sizes = false;   // the list was written before the loop, so its element sizes are known
  Dim length = kUnknownDim;
  // The index of the first round is the initial value of this loop variable plus `offset`. With -1 it is `offset`.
  int first = -1;
  std::int64_t offset = 0;

  // If the loop makes a round, the list has all elements before the first written one.
  bool reaches_first() const { return !grows || to_end || (from_front && !backwards); }
};
std::optional<Written> written_once(const tfgraph::Loop&, const ir::Graph& condition, std::size_t variable);

// The list after the loop: the elements in `written`, and the elements of `list` that the loop did not overwrite. `first`:
// the initial value of the variable Written::first.
Value* with_rest(MapperContext&, const Written&, Value* written, Value* list, Value* first);

}  // namespace t2o::op_mappers
