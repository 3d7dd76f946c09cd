#pragma once
#include <string>

#include "onnx/emitter.h"

namespace t2o::onnx {

// The operator of one input as a formula of others, for a type that has no kernel of it but kernels of those. Null: there is none.
Value* by_formula(Emitter&, const std::string& op, Value* x, const Attrs&);

}  // namespace t2o::onnx
