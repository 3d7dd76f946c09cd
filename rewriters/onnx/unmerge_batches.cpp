#include <algorithm>
#include <sstream>
#include <string>

#include "onnx/emitter.h"
#include "onnx/op_traits.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

// Products of matrices whose two leading axes, such as batch and heads, are merged before and parted after:
// the products take both axes.
//   Reshape(MatMul(Reshape(a, [n * h, r, k]), Reshape(b, [n * h, k, c])), [n, h, r, c]) = MatMul(a, b)
namespace t2o::rewriters {
namespace {

constexpr int kDeepest = 8;
constexpr int kMerged = 3, kApart = 4;

bool is_same(Dim a, Dim b) { return a == b && a != kUnknownDim && a != 0; }

// Are these the axes of `apart`, the first two of them merged?
bool is_merged(const Shape& apart, const Shape& merged) {
  if (!apart.ranked() || !merged.ranked() || apart.rank() != kApart || merged.rank() != kMerged) return false;
  return is_same(apart[2], merged[1]) && is_same(apart[3], merged[2]);
}

// A size that several are broadcast to, this one among them: no other, unless this one is 1.
bool is_broadcast_of(Dim size, Dim part, const Symbols& symbols) {
  if (!is_symbol(size) || !is_symbol(part)) return false;
  std::istringstream parts(symbols.name(size));
  for (std::string name; std::getline(parts, name, '|');)
    if (name == symbols.name(part)) return true;
  return false;
}

// Has x these axes, when it has as many elements as they say? What something of these axes is broadcast to
// has no lesser ones, and so no others.
bool has_axes(const Value* v, const Ints& axes, const Symbols& symbols, int depth = kDeepest) {
  const Shape& x = v->shape();
  if (!x.ranked() || x.rank() != kApart) return false;
  const auto is = [&](int i) {
    const Dim wanted = nth(axes, i);
    return is_same(x[i], wanted) || is_broadcast_of(x[i], wanted, symbols);
  };
  if (is(0) && is(1) && is(2) && is(3)) return true;
  const ir::Node* n = v->producer();
  const bool broadcasts = n && onnx::has(n->op(), onnx::Trait::broadcasts);
  return broadcasts && depth > 0 && std::ranges::any_of(n->inputs(), [&](const Value* in) {
           return has_axes(in, axes, symbols, depth / 2);
         });
}

class Unmerging {
 public:
  Unmerging(ir::Graph& g, const onnx::Target& target) : g_(g), target_(target) {}

  int run() {
    int changes = 0;
    for (ir::Node* n = g_.first(); n; n = n->next())
      if (n->op() == "Reshape") changes += part(*n);
    return changes;
  }

 private:
  int part(ir::Node& n) {
    Value* product = n.input(0);
    const Shape& apart = n.output()->shape();
    if (!product->producer() || product->producer()->op() != "MatMul" || !is_merged(apart, product->shape()))
      return 0;
    if (apart[0] == kUnknownDim || apart[1] == kUnknownDim || !only_reader(product) ||
        !can_part(product, apart, kDeepest))
      return 0;
    Emitter e(n, target_);
    Value* result = parted(e, product);
    if (result->shape() != apart) g_.set_type(result, result->dtype(), apart);
    replace_value(g_, n.output(), result);
    return 1;
  }

  static bool is_last(const ir::Node& n, std::int64_t axis) {
    return axis == -1 || axis == n.output()->shape().rank() - 1;
  }

  // Does one number go with all of them?
  static bool is_scaled(const ir::Node& n) {
    return (n.op() == "Mul" || n.op() == "Div") && n.input(0)->shape().ranked() &&
           n.input(0)->shape().rank() == kMerged && is_scalar_constant(n.input(1));
  }

  bool can_part(Value* v, const Shape& apart, int depth) const {
    const ir::Node* n = v->producer();
    if (!n || n->graph() != &g_ || depth == 0 || !v->shape().ranked() || v->shape().rank() != kMerged)
      return false;
    if (n->op() == "Reshape") {
      return has_axes(n->input(0), {apart[0], apart[1], v->shape()[1], v->shape()[2]}, g_.symbols());
    }
    if (!only_reader(v)) return false;
    const auto can = [&](std::size_t i) { return can_part(n->input(i), apart, depth - 1); };
    if (n->op() == "MatMul") return can(0) && can(1);
    if (n->op() == "Softmax")
      return target_.opset >= 13 && is_last(*n, n->attr_or<std::int64_t>("axis", -1)) && can(0);
    if (n->op() == "Transpose") return n->attr_or("perm", Ints()) == Ints{0, 2, 1} && can(0);
    return is_scaled(*n) && can(0);
  }

  Value* parted(Emitter& e, Value* v) {
    const ir::Node& n = *v->producer();
    if (n.op() == "Reshape") return n.input(0);
    Value* x = parted(e, n.input(0));
    if (n.op() == "MatMul") return e.matmul(x, parted(e, n.input(1)));
    if (n.op() == "Softmax") return e.emit("Softmax", {x}, {{"axis", -1}});
    if (n.op() == "Transpose") return e.transpose(x, {0, 1, 3, 2});
    return e.emit(n.op(), {x, n.input(1)});
  }

  ir::Graph& g_;
  const onnx::Target& target_;
};

}  // namespace

Rewriter unmerge_batches(const onnx::Target& target) {
  return {"unmerge_batches", [target](ir::Graph& g) { return Unmerging(g, target).run(); }, {"MatMul"}};
}

}  // namespace t2o::rewriters
