#pragma once
#include "ir/graph.h"

namespace t2o::onnx {

// Whether the sizes of the value may be computed from data, as those of NonZero's result: such a size may be 0. The sizes of the
// graph's inputs, and what is computed from them, count as 1 or more (docs/fidelity.md). An element count that is known answers too.
bool has_dims_of_data(const Value*);

bool is_fed(const Value*);  // whether the elements are those of an input, moved at most

}  // namespace t2o::onnx
