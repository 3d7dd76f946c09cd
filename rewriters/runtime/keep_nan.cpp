#include "onnx/emitter.h"
#include "onnx/facts.h"
#include "onnx/meaning.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/runtime/reductions.h"
#include "rewriters/runtime/rows.h"

// ONNX Runtime's ReduceMax and ReduceMin ignore a NaN or keep it, depending on its place. TensorFlow's keep
// it. A sum does too.
namespace t2o::rewriters {
namespace {

bool is_of_all(const ir::Node& n) { return !n.input(1) && !n.attr("axes"); }

bool reduce_the_same(const ir::Node& a, const ir::Node& b) {
  const auto of_a = axes_of(a), of_b = axes_of(b);
  const bool same = of_a && of_b ? *of_a == *of_b && !of_a->empty() : is_of_all(a) && is_of_all(b);
  return same && keeps_dims(a) == keeps_dims(b);
}

// The mean of the same numbers, that somebody asks for; null: there is none.
ir::Node* mean_beside(const ir::Node& max) {
  for (const ir::Use& u : max.input(0)->uses())
    if (u.node->op() == "ReduceMean" && u.node->graph() == max.graph() && u.input == 0 &&
        reduce_the_same(*u.node, max))
      return u.node;
  return nullptr;
}

// Looks from both nodes at once: neighbours are found soon.
bool stands_behind(const ir::Node& n, const ir::Node& other) {
  const ir::Node *behind_other = other.next(), *behind_n = n.next();
  while (behind_other && behind_n && behind_other != &n && behind_n != &other) {
    behind_other = behind_other->next();
    behind_n = behind_n->next();
  }
  return behind_other == &n || !behind_n;
}

Value* sum_like(Emitter& e, const ir::Node& n, Value* x) {
  return reduce_like(e, "ReduceSum", x, n, keeps_dims(n));
}

// Of numbers that are not negative no sum is below any of its terms, however it is rounded, and it is NaN if
// a term is, since infinities of both signs do not meet. mean * 2^100 is not below either; it is there
// already, as in attention over channels or places.
Value* bound_of_terms(Emitter& e, ir::Node& n) {
  ir::Node* mean = n.input(0)->dtype() == DType::f32 && reduces_some(n) ? mean_beside(n) : nullptr;
  if (!mean) return sum_like(e, n, n.input(0));
  if (stands_behind(*mean, n)) e.graph().move_before(*mean, &n);
  return e.mul(mean->output(), e.constant(0x1p100F));
}

// The sum of Clip(x, 0, 0) is 0, or NaN where x has one.
Value* zero_or_nan(Emitter& e, const ir::Node& n, Value* x) {
  const DType type = x->dtype();
  if (is_never_negative(x)) return e.clip(sum_like(e, n, x), 0, 0);
  if (type != DType::f32 && type != DType::f64) x = e.cast(x, DType::f32);
  return e.cast(sum_like(e, n, e.clip(x, 0, 0)), type);
}

Value* keep(Emitter& e, ir::Node& n) {
  Value* x = n.input(0);
  if (!onnx::take_meaning(e.graph(), n, onnx::kNan, onnx::kKeeps) || onnx::is_finite(x)) return nullptr;
  if (n.op() == "Sign") return e.cast(e.sign(e.cast(x, DType::f32)), x->dtype());
  Value* most = e.emit(n.op(), n.inputs(), n.attrs());
  const bool is_sum_of_terms = n.op() == "ReduceMax" && is_never_negative(x);
  return is_sum_of_terms ? e.minimum(most, bound_of_terms(e, n)) : e.add(most, zero_or_nan(e, n, x));
}

}  // namespace

Rewriter keep_nan(const onnx::Target& target) {
  return replace_each("keep_nan", {"ReduceMax", "ReduceMin", "Sign"}, target, keep);
}

}  // namespace t2o::rewriters
