#pragma once
#include <optional>
#include <string_view>

#include "onnx/schema.h"

namespace t2o::onnx {

// The element types of a type parameter for which ONNX Runtime's CPU provider has a kernel of this operator, in the version of
// the schema `since`. scripts/gen_ort_kernels.py measures them. nullopt if not measured.
std::optional<DTypeSet> ort_kernel_types(std::string_view domain, std::string_view op, int since, std::string_view param);

}  // namespace t2o::onnx
