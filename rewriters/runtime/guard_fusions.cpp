#include <algorithm>

#include "onnx/emitter.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/runtime/rows.h"

// What ONNX Runtime's optimizer makes of some pairs of operators is right, or loads, for some element types
// only. Such pairs of other types are written another way here.
namespace t2o::rewriters {
namespace {

// 1 / x * y becomes y / x, of integers too, and without the axes that the 1 alone may have.
bool is_inverse_of_factor(const ir::Node& n) {
  if (n.op() != "Div" || !is_number(n.input(0), 1)) return false;
  const ir::Node* product = only_reader(n.output());
  if (!product || product->op() != "Mul" || product->input(0) == product->input(1)) return false;
  const Shape& one = n.input(0)->shape();
  const auto has_rank = [&](const Value* v) {
    return v->shape().ranked() && v->shape().rank() >= one.rank();
  };
  const Value* y = product->input(product->input(0) == n.output() ? 1 : 0);
  return !is_float(n.output()->dtype()) || (one.rank() != 0 && !has_rank(n.input(1)) && !has_rank(y));
}

// 1 / x = -(-1 / x); of unsigned integers, which have no -1, it is 1 where x is 1 and else 0.
int guard_inverse(ir::Graph& g, ir::Node& n, const onnx::Target& target) {
  Emitter e(g, target, n.shared_origin(), &n);
  const DType t = n.output()->dtype();
  if (is_unsigned_int(t)) return take_over(g, n.output(), e.cast(e.equal(n.input(1), n.input(0)), t));
  Value* inverse = e.div(e.neg(n.input(0)), n.input(1));
  return take_over(g, n.output(), e.neg(inverse));
}

// Of a Clip behind a Relu it reads the lower bound, as a constant of f32 or f16; it loads no model that has
// one of another type there.
bool is_clipped_relu(const ir::Node& n) {
  const ir::Node* relu = n.op() == "Clip" && n.input(1) ? n.input(0)->producer() : nullptr;
  if (!relu || relu->op() != "Relu" || !only_reader(relu->output())) return false;
  const DType t = n.output()->dtype();
  return t != DType::f32 && t != DType::f16 && number_of(n.input(1));
}

// Clip(Relu(x), low, high) = Clip(x, max(low, 0), high)
int guard_clip(ir::Graph& g, ir::Node& n, const onnx::Target& target) {
  const ir::Node& relu = *n.input(0)->producer();
  if (*number_of(n.input(1)) < 0) {
    Emitter e(g, target, n.shared_origin(), &n);
    g.set_input(n, 1, e.scalar_like(n.input(1), 0));
  }
  g.set_input(n, 0, relu.input(0));
  return 1;
}

int guard(ir::Graph& g, const onnx::Target& target) {
  int changes = 0;
  for (ir::Node& n : g.nodes()) {
    if (is_inverse_of_factor(n))
      changes += guard_inverse(g, n, target);
    else if (is_clipped_relu(n))
      changes += guard_clip(g, n, target);
  }
  if (changes != 0) g.erase_dead();
  return changes;
}

}  // namespace

Rewriter guard_fusions(const onnx::Target& target) {
  return {"guard_fusions", [target](ir::Graph& g) { return guard(g, target); }, {"Div", "Relu"}};
}

}  // namespace t2o::rewriters
