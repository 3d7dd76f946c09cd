#include "rewriters/names.h"
#include "rewriters/runtime/rows.h"

// Each DequantizeLinear of weights gets a zero point of its own. The session option that keeps 8-bit sums
// exact replaces the zero points of weights, and fails where it finds one that it has replaced.
namespace t2o::rewriters {
namespace {

bool is_of_weights(const ir::Node& n) {
  return n.op() == "DequantizeLinear" && n.input(0)->constant() && n.input(0)->dtype() == DType::i8 &&
         n.input(2) && n.input(2)->constant();
}

}  // namespace

Rewriter own_zero_points(const onnx::Target&) {
  const auto run = [](ir::Graph& g) {
    int changes = 0;
    for (ir::Node& n : g.nodes()) {
      if (!is_of_weights(n)) continue;
      const Value* shared = n.input(2);
      if (shared->uses().size() == 1 && shared->graph() == &g) continue;
      g.set_input(n, 2, g.add_constant(name_below(n, "zero_point"), shared->constant()));
      ++changes;
    }
    return changes;
  };
  return {"own_zero_points", run, {"DequantizeLinear"}};
}

}  // namespace t2o::rewriters
