#include "onnx/emitter.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/portable/rows.h"

// HardSigmoid(x) = Clip(alpha x + beta, 0, 1)
namespace t2o::rewriters {
namespace {

bool is_factor(const Value* v) {
  return std::ranges::any_of(v->uses(), [](const ir::Use& u) { return u.node->op() == "Mul"; });
}

}  // namespace

Rewriter plain_activations(const onnx::Target& target) {
  return for_each_node("plain_activations", {"HardSigmoid"}, [target](ir::Graph& g, ir::Node& n) {
    if (n.op() != "HardSigmoid" || !is_factor(n.output())) return false;
    Emitter e(n, target);
    const Value* x = n.input(0);
    Value* product = e.mul(n.input(0), e.scalar(x->dtype(), n.attr_or<float>("alpha", 0.2F)));
    Value* sum = e.add(product, e.scalar(x->dtype(), n.attr_or<float>("beta", 0.5F)));
    return take_over(g, n.output(), e.clip(sum, 0, 1));
  });
}

}  // namespace t2o::rewriters
