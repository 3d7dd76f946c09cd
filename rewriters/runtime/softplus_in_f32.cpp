#include "rewriters/runtime/rows.h"

// Softplus of halves as that of f32.
namespace t2o::rewriters {

Rewriter softplus_in_f32(const onnx::Target& target) {
  return replace_each("softplus_in_f32", {"Softplus"}, target, [](Emitter& e, ir::Node& n) -> Value* {
    if (n.output()->dtype() != DType::f16) return nullptr;
    return e.cast(e.emit("Softplus", {e.cast(n.input(0), DType::f32)}), DType::f16);
  });
}

}  // namespace t2o::rewriters
