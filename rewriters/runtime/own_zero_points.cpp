#include "rewriters/runtime/rows.h"

// The weights of each DequantizeLinear and QLinearConv get a zero point of their own. The session option that
// keeps 8-bit sums exact replaces the zero points of weights, and fails where it finds one that it has
// replaced.
namespace t2o::rewriters {
namespace {

// The input of the codes; the scale and the zero point are behind it. A QLinearConv has those of x first.
std::size_t weights_of(const ir::Node& n) { return n.op() == "QLinearConv" ? 3 : 0; }

bool reads_weights(const ir::Node& n) {
  if (n.op() != "DequantizeLinear" && n.op() != "QLinearConv") return false;
  const Value *codes = n.input(weights_of(n)), *zero_point = n.input(weights_of(n) + 2);
  return codes->constant() && codes->dtype() == DType::i8 && zero_point && zero_point->constant();
}

}  // namespace

Rewriter own_zero_points(const onnx::Target&) {
  const auto run = [](ir::Graph& g) {
    int changes = 0;
    for (ir::Node& n : g.nodes()) {
      if (!reads_weights(n)) continue;
      const std::size_t at = weights_of(n) + 2;
      const Value* shared = n.input(at);
      if (shared->uses().size() == 1 && shared->graph() == &g) continue;
      g.set_input(n, at, g.add_constant(n.input(at - 2)->name() + "/zero_point", shared->constant()));
      ++changes;
    }
    return changes;
  };
  return {"own_zero_points", run, {"DequantizeLinear", "QLinearConv"}};
}

}  // namespace t2o::rewriters
