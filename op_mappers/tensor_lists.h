#pragma once
#include <functional>
#include <optional>

#include "op_mappers/graph_context.h"
#include "tfgraph/loop.h"

// The mappers of lists; op_mappers/list_types.h says how a list is mapped.
namespace t2o::op_mappers {

struct List {
  Value* value;
  ListType type;

  bool is_fresh() const { return type.form == ListForm::fresh; }
  bool is_sequence() const { return type.is_sequence(); }
  operator Mapped() const { return {value, type}; }
};
inline List list_of(const Mapped& m) { return {m.value, *m.list}; }

// Gives a tensor whose shape has no rank this rank.
Value* of_rank(Emitter&, Value*, int rank);
Value* length_of(Emitter&, const List&);  // [1], i64
// Appends zeros up to `size` elements, if the stacked list is shorter.
Value* grown(Emitter&, Value* list, Value* size);
// The stacked form of a fresh list whose elements have the shape `element`.
List with_rank(Emitter&, const List& fresh, const Shape& element);
// Expands the elements of the stacked list to the shape of `like` without its first axis.
Value* fit_to_elements(Emitter&, Value* list, Value* like);

Shape element_of_stack(const Shape&);  // without the first axis
// The type of the list after a write of an element. If elements may differ in size, the lists of its family become sequences.
// `in_each_round`: a loop writes such an element again and again.
ListType type_after_write(GraphContext&, ir::Value* source_list, const ListType&, const Shape& element,
                          bool in_each_round = false);
[[noreturn]] void refuse_sizes(const MapperContext&);

// ---- ONNX sequences (list_sequences.cpp)
Value* empty_sequence(Emitter&, DType element);
// Appends `count` (i64, scalar) elements; make(e, k) gives number k (i64, [1]).
Value* extended(Emitter&, Value* sequence, Value* count, const std::function<Value*(Emitter&, Value*)>& make);
MappedValues map_list_as_sequence(GraphContext&);  // a node whose list is a sequence

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
std::optional<Written> written_once(const tfgraph::Loop&, const ir::Graph& condition, std::size_t variable);

// The list after the loop: the elements in `written`, and the elements of `list` that the loop did not overwrite. `first`:
// the initial value of the variable Written::first.
Value* with_rest(MapperContext&, const Written&, Value* written, const List& list, Value* first);

}  // namespace t2o::op_mappers
