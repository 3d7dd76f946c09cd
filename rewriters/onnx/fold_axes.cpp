#include <algorithm>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/onnx/layout_form.h"

// Removes axes of size 1 that come and go between transposes (convolutions and pools of sequences work on
// images of height 1), and Reshapes to the shape that is there, so that layouts fold through.
namespace t2o::rewriters {
namespace {

std::optional<Ints> sorted_axes(const ir::Node& n, int rank) {
  auto axes = axes_of(n);
  if (!axes || axes->empty() || rank < 1) return std::nullopt;
  for (std::int64_t& a : *axes) a += a < 0 ? rank : 0;
  std::ranges::sort(*axes);
  return axes;
}

int rank_of(const Value* v) { return v->shape().ranked() ? v->shape().rank() : 0; }

// Transpose(Unsqueeze(x)) -> Unsqueeze(Transpose(x))
Value* unsqueezed(Emitter& e, const ir::Node& n) {
  const Ints* perm = perm_of(&n);
  const ir::Node* give = perm ? n.input(0)->producer() : nullptr;
  if (!is_op(give, "Unsqueeze") || only_reader(n.input(0)) != &n || give->input(0)->constant())
    return nullptr;
  const auto given = sorted_axes(*give, static_cast<int>(perm->size()));
  if (!given) return nullptr;
  Ints from(perm->size(), -1), order, axes;
  std::int64_t k = 0;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (!contains(*given, static_cast<std::int64_t>(i))) from[i] = k++;
  for (std::size_t i = 0; i < perm->size(); ++i) {
    const std::int64_t axis = nth(from, (*perm)[i]);
    if (axis < 0)
      axes.push_back(static_cast<std::int64_t>(i));
    else
      order.push_back(axis);
  }
  Value* x = give->input(0);
  return e.unsqueeze(std::ranges::is_sorted(order) ? x : e.transpose(x, order), axes);
}

// Squeeze(Transpose(x)) -> Transpose(Squeeze(x))
Value* squeezed(Emitter& e, const ir::Node& n) {
  const ir::Node* move = n.op() == "Squeeze" ? n.input(0)->producer() : nullptr;
  const Ints* perm = perm_of(move);
  if (!perm) return nullptr;
  const auto taken = sorted_axes(n, static_cast<int>(perm->size()));
  if (!taken || only_reader(n.input(0)) != &n || move->input(0)->constant()) return nullptr;
  Ints axes, order;
  for (std::size_t i = 0; i < perm->size(); ++i)
    (contains(*taken, static_cast<std::int64_t>(i)) ? axes : order).push_back((*perm)[i]);
  std::ranges::sort(axes);
  for (std::int64_t& a : order) a -= std::ranges::count_if(axes, [a](std::int64_t t) { return t < a; });
  Value* x = e.squeeze(move->input(0), axes);
  return std::ranges::is_sorted(order) ? x : e.transpose(x, order);
}

// Of a Reshape: the batch is what is left, and the other sizes are the same; null: they are not. Looks
// through another Reshape.
Value* same_rows(const ir::Node& n) {
  if (n.op() != "Reshape" || n.output()->is_graph_output()) return nullptr;
  const auto sizes = constant_ints(n.input(1));
  Value* x = n.input(0);
  if (const ir::Node* other = x->producer(); is_op(other, "Reshape")) x = other->input(0);
  const int rank = rank_of(x);
  if (!sizes || rank < 2 || static_cast<int>(sizes->size()) != rank || sizes->front() != -1 || x->constant())
    return nullptr;
  for (int i = 1; i < rank; ++i)
    if (nth(*sizes, i) != x->shape()[i] || x->shape()[i] < 1) return nullptr;
  return x;
}

}  // namespace

Rewriter fold_axes(const onnx::Target& target) {
  const auto fold = [target](ir::Graph& g, ir::Node& n) {
    if (n.outputs().size() != 1) return false;
    if (Value* x = same_rows(n)) {
      g.replace_all_uses(n.output(), x);
      return true;
    }
    Emitter e(n, target);
    Value* y = unsqueezed(e, n);
    if (!y) y = squeezed(e, n);
    if (!y) return false;
    g.set_type(y, y->dtype(), n.output()->shape());
    return take_over(g, n.output(), y);
  };
  return for_each_node("fold_axes", {"Unsqueeze", "Squeeze", "Reshape"}, fold);
}

}  // namespace t2o::rewriters
