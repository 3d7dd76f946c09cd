#pragma once
#include "ir/graph.h"

// Where a TensorList of a TensorFlow graph comes from.
namespace t2o::op_mappers {

// What made it: before it was written to, outside of the loops and branches that it was handed into.
const Value* as_it_was_made(const Value* list);
bool was_written(const Value* list);  // so that its elements' sizes are theirs

}  // namespace t2o::op_mappers
