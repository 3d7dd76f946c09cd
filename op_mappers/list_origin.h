#pragma once
#include "ir/graph.h"

// Where a TensorList of a TensorFlow graph comes from.
namespace t2o::op_mappers {

// The value that created the list: follows the list back through writes, and out of loops and branches that got it.
const Value* as_it_was_made(const Value* list);
bool was_written(const Value* list);  // some node wrote an element, so the sizes of the elements are known

}  // namespace t2o::op_mappers
