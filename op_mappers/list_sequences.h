#pragma once
#include <functional>

#include "op_mappers/graph_context.h"

// Lists whose elements differ in size: ONNX sequences.
namespace t2o::op_mappers {

Value* empty_sequence(Emitter&, DType element);
// Appends `count` (i64, scalar) elements; make(e, k) gives number k (i64, [1]).
Value* extended(Emitter&, Value* sequence, Value* count, const std::function<Value*(Emitter&, Value*)>& make);
MappedValues map_list_as_sequence(GraphContext&);  // a node whose list is a sequence

}  // namespace t2o::op_mappers
