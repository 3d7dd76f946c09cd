#include <algorithm>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

// A batch of one that was taken off and put back stays, and of a tensor of which several slices are picked
// one row is picked first.
namespace t2o::rewriters {
namespace {

// The only slice along an axis, put back where it was, is x.
Value* put_back(const ir::Node& n) {
  const ir::Node* pick = n.op() == "Unsqueeze" ? n.input(0)->producer() : nullptr;
  if (!is_op(pick, "Gather") || number_of(pick->input(1)) != 0) return nullptr;
  Value* x = pick->input(0);
  const auto axes = axes_of(n);
  if (!axes || axes->size() != 1 || x->constant() || !x->shape().ranked() ||
      pick->output()->shape().rank() != x->shape().rank() - 1)
    return nullptr;
  const int at = axis_of(*pick, x, 0);
  return x->shape()[at] == 1 && from_front(axes->front(), x->shape().rank()) == at ? x : nullptr;
}

// The only slice along an axis that x was given: x.
Value* taken_back(const ir::Node& n) {
  const ir::Node* given = n.op() == "Gather" ? n.input(0)->producer() : nullptr;
  const auto at = number_of(n.input(1));
  if (!is_op(given, "Unsqueeze") || (at != 0 && at != -1) || n.input(1)->shape() != Shape::scalar())
    return nullptr;
  const auto axes = axes_of(*given);
  const bool same_axis = axes && axes->size() == 1 &&
                         from_front(axes->front(), n.input(0)->shape().rank()) == axis_of(n, n.input(0), 0);
  return same_axis && !given->input(0)->constant() ? given->input(0) : nullptr;
}

// One slice of x along an axis; -1: the node does something else.
int picked_axis(const ir::Node* n) {
  if (!is_op(n, "Gather") || !n->input(0)->shape().ranked() || n->input(0)->constant() ||
      !number_of(n->input(1)) || n->input(1)->shape() != Shape::scalar())
    return -1;
  return axis_of(*n, n->input(0), 0);
}

// x is picked from there already.
bool is_picked(const Value* x, int axis, double at) {
  return std::ranges::any_of(x->uses(), [&](const ir::Use& u) {
    return picked_axis(u.node) == axis && is_number(u.node->input(1), at);
  });
}

// x[:, i][k], where x[:, j][k] is asked for too, is x[k][i]: there is one x[k] then.
Value* picked_first(ir::Node& n, const onnx::Target& target) {
  const int outer = picked_axis(&n);
  const ir::Node* pick = outer < 0 ? nullptr : n.input(0)->producer();
  const int inner = picked_axis(pick);
  if (inner <= outer || only_reader(n.input(0)) != &n) return nullptr;
  Value* x = pick->input(0);
  const auto alike = std::ranges::count_if(x->uses(), [&](const ir::Use& u) {
    const ir::Node* other = picked_axis(u.node) == inner ? only_reader(u.node->output()) : nullptr;
    return other && picked_axis(other) == outer && is_number(other->input(1), *number_of(n.input(1)));
  });
  if (alike < 2 && !is_picked(x, outer, *number_of(n.input(1)))) return nullptr;
  Emitter e(n, target);
  Value* first = e.gather(x, n.input(1), outer);
  return e.gather(first, pick->input(1), inner - 1);
}

}  // namespace

Rewriter merge_picks(const onnx::Target& target) {
  return for_each_node("merge_picks", {"Gather"}, [target](ir::Graph& g, ir::Node& n) {
    if (n.outputs().size() != 1 || !n.output()->shape().ranked()) return false;
    Value* y = put_back(n);
    if (!y) y = taken_back(n);
    if (!y) {
      y = picked_first(n, target);
      if (y) g.set_type(y, y->dtype(), n.output()->shape());
    }
    return y && take_over(g, n.output(), y);
  });
}

}  // namespace t2o::rewriters
