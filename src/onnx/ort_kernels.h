#pragma once
#include <optional>
#include <string_view>

#include "onnx/schema.h"

namespace t2o::onnx {

// The element types for which ONNX Runtime's CPU provider has a kernel of this operator, in the version that the schema
// `since` has, for a type parameter of the schema. Measured, see scripts/gen_ort_kernels.py. nullopt: not measured.
std::optional<DTypeSet> ort_kernel_types(std::string_view domain, std::string_view op, int since, std::string_view param);

}  // namespace t2o::onnx
