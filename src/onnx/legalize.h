#pragma once
#include <optional>
#include <vector>

#include "ir/attr.h"
#include "onnx/opset_table.h"
#include "onnx/schema.h"

namespace t2o::onnx {

// For each type parameter of the operator: the type to compute in, undefined where the value's own type serves. nullopt when
// no type would do without changing the result.
std::optional<std::vector<DType>> widening(const OpInfo&, const Values& inputs);

// The type parameter's element type in this node: that of the first input that has it; undefined when no input has.
DType bound_type(const OpInfo&, const Values& inputs, int param);

// A type that holds every value of `t` and that the target's Cast takes it to and back; undefined where there is none.
DType exact_carrier(const Target&, DType t);

// The lowest opset, from the target's on, whose Cast does this; 0 where none does.
int opset_that_casts(const Target&, DType from, DType to);

}  // namespace t2o::onnx
