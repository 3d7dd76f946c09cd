#include <algorithm>
#include <cmath>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/exact_sums.h"
#include "rewriters/onnx/facts.h"

// x * a * b and x * a / b with constants a and b become one product, as the decoder of a detector leaves
// them. The first product must not overflow where the result does not, so no number of a is above 1. Whole
// numbers x may lie on a threshold behind the products, and one product rounds differently: then there stay
// two.
namespace t2o::rewriters {
namespace {

constexpr double kLeast = 1e-30;       // so that no digits are lost: far above f32's least normal number
constexpr Dim kMostNumbers = 1 << 16;  // of a constant that is computed here

bool is_plain_scale(const Value* v) {
  const TensorPtr& t = v->constant();
  if (!t || (t->dtype() != DType::f32 && t->dtype() != DType::f64) || t->elements() > kMostNumbers)
    return false;
  const std::vector<double> numbers = t->to_floats();
  return std::ranges::all_of(numbers,
                             [](double x) { return std::abs(x) >= kLeast && std::abs(x) <= 1 / kLeast; });
}

// Which operand of a product is a constant; null: none.
Value* scale_of(const ir::Node& n) {
  for (const std::size_t i : {0U, 1U})
    if (is_plain_scale(n.input(i)) && !n.input(1 - i)->constant()) return n.input(i);
  return nullptr;
}

bool are_powers_of_two(const Value* scale) {
  const std::vector<double> numbers = scale->constant()->to_floats();
  return std::ranges::all_of(numbers, is_power_of_two);
}

// That the product of the constants has no more numbers than the larger of them.
bool fit(const Value* a, const Value* b) {
  return a->constant()->elements() == 1 || b->constant()->elements() == 1 || a->shape() == b->shape();
}

bool merge(ir::Graph& g, const onnx::Target& target, ir::Node& n, ExactSums& sums) {
  const bool divides = n.op() == "Div";
  if (!divides && n.op() != "Mul") return false;
  Value* outer = divides ? is_plain_scale(n.input(1)) ? n.input(1) : nullptr : scale_of(n);
  if (!outer) return false;
  Value* product = n.input(n.input(0) == outer ? 1 : 0);
  const ir::Node* first = product->producer();
  if (!is_op(first, "Mul") || only_reader(product) != &n) return false;
  Value* inner = scale_of(*first);
  if (!inner || onnx::magnitude_of(inner) > 1 || !fit(inner, outer)) return false;
  Value* x = first->input(first->input(0) == inner ? 1 : 0);
  if (!are_powers_of_two(outer) && sums.need(x, n.output(), inner->constant()->to_floats())) return false;
  Emitter e(n, target);
  Value* scale = divides ? e.div(inner, outer) : e.mul(inner, outer);
  if (!is_plain_scale(scale)) return false;
  return take_over(g, n.output(), e.mul(x, scale));
}

int merge_all(ir::Graph& g, const onnx::Target& target) {
  int changes = 0;
  ExactSums sums;
  for (ir::Node& n : g.nodes())
    if (merge(g, target, n, sums)) ++changes;
  return changes;
}

}  // namespace

Rewriter merge_scales(const onnx::Target& target) {
  return {"merge_scales", [target](ir::Graph& g) { return merge_all(g, target); }, {"Mul"}};
}

}  // namespace t2o::rewriters
