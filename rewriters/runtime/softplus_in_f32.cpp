#include "onnx/emitter.h"
#include "rewriters/runtime/rows.h"

// Softplus of halves as that of f32.
namespace t2o::rewriters {

Rewriter softplus_in_f32(const onnx::Target& target) {
  return for_each_node("softplus_in_f32", {"Softplus"}, [target](ir::Graph& g, ir::Node& n) {
    if (n.op() != "Softplus" || n.output()->dtype() != DType::f16) return 0;
    Emitter e(n, target);
    Value* y = e.emit("Softplus", {e.cast(n.input(0), DType::f32)});
    replace_value(g, n.output(), e.cast(y, DType::f16));
    g.erase(n);
    return 1;
  });
}

}  // namespace t2o::rewriters
