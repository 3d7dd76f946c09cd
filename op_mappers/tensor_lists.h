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

// `element`: the shape of what is put in.
Value* with_rank(Emitter&, Value* fresh, const Shape& element);
// So that a tensor of the shape of `like` without its first axis is an element of it.
Value* fit_to_elements(Emitter&, Value* list, Value* like);
// The list is written at the loop's count in each round and else not touched.
struct Written {
  bool appends = false;  // by TensorListPushBack
  bool to_end = false;   // exactly as many as the list has
  Dim length = kUnknownDim;
};
std::optional<Written> written_once(const tfgraph::Loop&, const ir::Graph& condition, std::size_t variable);

// The list after the loop: `written`, and those elements of the list before it that are still there.
Value* with_rest(Emitter&, const Written&, Value* written, Value* list);

}  // namespace t2o::op_mappers
