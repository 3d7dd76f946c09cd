#pragma once
#include <optional>
#include <vector>

#include "ir/attr.h"
#include "onnx/opset_table.h"
#include "onnx/schema.h"

namespace t2o::onnx {

// For each type parameter of the operator: the type to compute in; undefined if the value's own type has a kernel. nullopt if
// every supported type would change the result.
std::optional<std::vector<DType>> widening(const OpInfo&, const Values& inputs);

// The element type of the type parameter in this node, from the first input that has the parameter; undefined if none has it.
DType bound_type(const OpInfo&, const Values& inputs, int param);

// A type that holds every value of `t`, with Casts to it and back in the target; undefined if there is none.
DType exact_carrier(const Target&, DType t);

// The lowest opset, from the target's on, whose Cast supports this; 0 if none does.
int opset_that_casts(const Target&, DType from, DType to);

}  // namespace t2o::onnx
