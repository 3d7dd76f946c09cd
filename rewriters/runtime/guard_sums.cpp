#include <array>
#include <cmath>
#include <vector>

#include "onnx/emitter.h"
#include "rewriters/onnx/exact_sums.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/runtime/rows.h"

// ONNX Runtime folds a product with a constant, or a batch normalization, into the weights of the Conv or
// MatMul in front of it, and takes a number out of a product in front of a MatMul. Sums that are exact, and
// that a threshold sees, are kept away from that: it looks for a constant that is the second operand of a Mul
// behind a Conv, and for one of a single element beside a MatMul.
namespace t2o::rewriters {
namespace {

// The Conv or MatMul that gives the value, maybe in another shape; null: another node does.
const ir::Node* layer_of(const Value* v) {
  const ir::Node* n = v->producer();
  for (int i = 0; i < 4 && n && (n->op() == "Reshape" || n->op() == "Transpose"); ++i)
    n = n->input(0)->producer();
  return n && (n->op() == "Conv" || n->op() == "MatMul") ? n : nullptr;
}

// A scale and a shift: of the mean exactly the bias is left.
bool take_apart(ir::Graph& g, const onnx::Target& target, ir::Node& n, ExactSums& sums) {
  const Value* x = n.input(0);
  if (n.op() != "BatchNormalization" || n.outputs().size() != 1 || n.attr("training_mode") ||
      x->dtype() != DType::f32 || !x->shape().ranked() || x->shape().rank() < 2 || !layer_of(x))
    return false;
  std::array<Doubles, 4> p;  // scale, bias, mean, variance
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (!n.input(i + 1)->constant()) return false;
    p[i] = n.input(i + 1)->constant()->to_floats();
  }
  const auto* epsilon = n.attr_if<float>("epsilon");
  std::vector<float> scale, shift;
  for (std::size_t i = 0; i < p[0].size(); ++i) {
    scale.push_back(
        static_cast<float>(p[0][i] / std::sqrt(p[3][i] + static_cast<double>(epsilon ? *epsilon : 1e-5F))));
    const float of_mean = static_cast<float>(p[2][i]) * scale[i];
    shift.push_back(static_cast<float>(p[1][i]) - of_mean);
  }
  if (!sums.need(x, n.output(), Doubles(scale.begin(), scale.end()))) return false;
  Ints dims(static_cast<std::size_t>(x->shape().rank()) - 1, 1);
  dims[0] = static_cast<std::int64_t>(scale.size());
  Emitter e(g, target, n.shared_origin(), &n);
  Value* scaled = e.mul(e.constant(dims, scale), n.input(0));
  return take_over(g, n.output(), e.add(scaled, e.constant(dims, shift)));
}

// Mul(c, y) for Mul(y, c)
bool swap_operands(ir::Graph& g, ir::Node& n, ExactSums& sums) {
  Value *y = n.input(0), *c = n.input(1);
  const ir::Node* conv = n.op() == "Mul" ? layer_of(y) : nullptr;
  if (!conv || conv->op() != "Conv" || !c->constant() || !can_scale(c->dtype()) ||
      !sums.need(y, n.output(), c->constant()->to_floats()))
    return false;
  g.set_input(n, 0, c);
  g.set_input(n, 1, y);
  return true;
}

// The number for each place of the last axis of x, or else of the one in front of it.
TensorPtr repeated(const Tensor& number, const Shape& x) {
  for (int i = x.rank() - 1; i >= x.rank() - 2; --i)
    if (is_known(x[i]) && x[i] > 1) {
      Ints dims{x[i]};
      if (i == x.rank() - 2) dims.push_back(1);
      return Tensor::filled(number.dtype(), std::move(dims), number.bytes());
    }
  return nullptr;
}

// The number of a product or quotient in front of a MatMul, or behind it, is one of many.
bool repeat_number(ir::Graph& g, ir::Node& n, std::size_t at, const ir::Node& product, ExactSums& sums) {
  const Value *c = n.input(at), *x = n.input(1 - at);
  const auto number = number_of(c);
  if (!number || !can_scale(c->dtype()) || c->shape().rank() > 1 || !x->shape().ranked() ||
      x->shape().rank() < 2 || !sums.need(product, {n.op() == "Div" ? 1 / *number : *number}))
    return false;
  const TensorPtr many = repeated(*c->constant(), x->shape());
  if (many) g.set_input(n, at, g.add_constant(c->name() + "/repeated", many));
  return many != nullptr;
}

bool guard_product(ir::Graph& g, ir::Node& product, ExactSums& sums) {
  bool changed = false;
  const auto guard = [&](ir::Node* n, const Value* data) {
    if (!n || (n->op() != "Mul" && n->op() != "Div") || n->input(0) == n->input(1)) return;
    for (const std::size_t at : {0U, 1U})
      if ((at == 1 || n->op() == "Mul") && n->input(at)->constant() && (!data || n->input(1 - at) == data))
        changed = repeat_number(g, *n, at, product, sums) || changed;
  };
  for (const std::size_t i : {0U, 1U}) guard(product.input(i)->producer(), nullptr);
  guard(only_reader(product.output()), product.output());
  return changed;
}

int guard(ir::Graph& g, const onnx::Target& target) {
  int changes = 0;
  ExactSums sums;
  for (ir::Node* n = g.first(); n; n = n->next())
    if (take_apart(g, target, *n, sums) || swap_operands(g, *n, sums) ||
        (n->op() == "MatMul" && guard_product(g, *n, sums)))
      ++changes;
  if (changes != 0) g.erase_dead();
  return changes;
}

}  // namespace

Rewriter guard_sums(const onnx::Target& target) {
  return {"guard_sums", [target](ir::Graph& g) { return guard(g, target); }, {"Conv", "MatMul"}};
}

}  // namespace t2o::rewriters
