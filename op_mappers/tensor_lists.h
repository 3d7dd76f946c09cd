#pragma once
#include "op_mappers/graph_context.h"

// The mappers of lists; op_mappers/list_types.h says how a list is mapped.
namespace t2o::op_mappers {

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

// The type of the elements that the node states; refuses lists of lists.
DType element_type(GraphContext&);
// The input that is a tensor whose rows are elements of a list; refuses a scalar.
Value* rows_at(GraphContext&, std::size_t input);

inline constexpr const char* kGiveOneShape = "give all elements one shape: pad the shorter ones with zeros at the end";
[[noreturn]] void refuse_sizes(const MapperContext&);

}  // namespace t2o::op_mappers
