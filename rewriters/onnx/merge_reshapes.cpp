#include <algorithm>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

// A Reshape of what was reshaped is one of the tensor itself, what it multiplies with ones to give them its
// own shape is expanded, as meshgrid leaves it, and a batch of one that was taken off and put back stays.
namespace t2o::rewriters {
namespace {

bool only_names_axes(const ir::Node* n) {
  return n &&
         (n->op() == "Reshape" || n->op() == "Unsqueeze" || n->op() == "Squeeze" || n->op() == "Flatten") &&
         n->input(0) && !n->input(0)->constant();
}

// No entry of the sizes stands for an axis of what is reshaped.
bool says_all_sizes(const ir::Node& n) {
  const auto* zero_is_size = n.attr_if<std::int64_t>("allowzero");
  if (zero_is_size && *zero_is_size == 1) return true;
  const auto sizes = constant_ints(n.input(1));
  return sizes && std::find(sizes->begin(), sizes->end(), 0) == sizes->end();
}

bool skip_reshape(ir::Graph& g, ir::Node& n) {
  if (n.op() != "Reshape" || !says_all_sizes(n) || !only_names_axes(n.input(0)->producer())) return false;
  g.set_input(n, 0, n.input(0)->producer()->input(0));
  return true;
}

// x * Expand(1, sizes) -> Expand(x, sizes)
Value* expanded(ir::Node& n, const onnx::Target& target) {
  if (n.op() != "Mul") return nullptr;
  for (const std::size_t i : {0U, 1U}) {
    const ir::Node* ones = n.input(i)->producer();
    if (!ones || ones->op() != "Expand" || !is_number(ones->input(0), 1) || n.input(1 - i)->constant())
      continue;
    Emitter e(*n.graph(), target, n.shared_origin(), &n);
    return e.emit("Expand", {n.input(1 - i), ones->input(1)});
  }
  return nullptr;
}

// The only slice along an axis, put back where it was, is x.
Value* put_back(const ir::Node& n) {
  const ir::Node* pick = n.op() == "Unsqueeze" ? n.input(0)->producer() : nullptr;
  if (!pick || pick->op() != "Gather" || number_of(pick->input(1)) != 0) return nullptr;
  Value* x = pick->input(0);
  const auto axes = axes_of(n);
  const auto* axis = pick->attr_if<std::int64_t>("axis");
  if (!axes || axes->size() != 1 || x->constant() || !x->shape().ranked() ||
      pick->output()->shape().rank() != x->shape().rank() - 1)
    return nullptr;
  const auto from_front = [&](std::int64_t i) { return static_cast<int>(i < 0 ? i + x->shape().rank() : i); };
  const int at = from_front(axis ? *axis : 0);
  return x->shape()[at] == 1 && from_front(axes->front()) == at ? x : nullptr;
}

// The only slice along an axis that x was given: x.
Value* taken_back(const ir::Node& n) {
  const ir::Node* given = n.op() == "Gather" ? n.input(0)->producer() : nullptr;
  const auto at = number_of(n.input(1));
  if (!given || given->op() != "Unsqueeze" || (at != 0 && at != -1) || n.input(1)->shape() != Shape::scalar())
    return nullptr;
  const int rank = n.input(0)->shape().rank();
  const auto axes = axes_of(*given);
  const auto* axis = n.attr_if<std::int64_t>("axis");
  const auto from_front = [&](std::int64_t i) { return i < 0 ? i + rank : i; };
  Value* x = given->input(0);
  if (!axes || axes->size() != 1 || from_front(axes->front()) != from_front(axis ? *axis : 0) ||
      x->constant())
    return nullptr;
  return x;
}

// One slice of x along an axis; -1: the node does something else.
int picked_axis(const ir::Node* n) {
  if (!n || n->op() != "Gather" || !n->input(0)->shape().ranked() || n->input(0)->constant() ||
      !number_of(n->input(1)) || n->input(1)->shape() != Shape::scalar())
    return -1;
  const auto* axis = n->attr_if<std::int64_t>("axis");
  return static_cast<int>(!axis ? 0 : *axis < 0 ? *axis + n->input(0)->shape().rank() : *axis);
}

// x is picked from there already.
bool is_picked(const Value* x, int axis, double at) {
  return std::any_of(x->uses().begin(), x->uses().end(), [&](const ir::Use& u) {
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
  const auto alike = std::count_if(x->uses().begin(), x->uses().end(), [&](const ir::Use& u) {
    const ir::Node* other = picked_axis(u.node) == inner ? only_reader(u.node->output()) : nullptr;
    return other && picked_axis(other) == outer && is_number(other->input(1), *number_of(n.input(1)));
  });
  if (alike < 2 && !is_picked(x, outer, *number_of(n.input(1)))) return nullptr;
  Emitter e(*n.graph(), target, n.shared_origin(), &n);
  Value* first = e.gather(x, n.input(1), outer);
  return e.gather(first, pick->input(1), inner - 1);
}

// [Size(x)] of a list is its Shape.
Value* size_of_list(ir::Node& n, const onnx::Target& target) {
  const ir::Node* size = n.op() == "Unsqueeze" ? n.input(0)->producer() : nullptr;
  if (!size || size->op() != "Size") return nullptr;
  const Shape& x = size->input(0)->shape();
  if (!x.ranked() || x.rank() != 1 || n.output()->shape().rank() != 1) return nullptr;
  Emitter e(*n.graph(), target, n.shared_origin(), &n);
  return e.emit("Shape", {size->input(0)});
}

}  // namespace

Rewriter merge_reshapes(const onnx::Target& target) {
  const auto run = [target](ir::Graph& g) {
    int changes = 0;
    for (ir::Node& n : g.nodes()) {
      if (n.outputs().size() != 1 || !n.output()->shape().ranked()) continue;
      while (skip_reshape(g, n)) ++changes;
      Value* before = put_back(n);
      if (!before) before = taken_back(n);
      if (before) {
        if (take_over(g, n.output(), before)) ++changes;
        continue;
      }
      Value* y = expanded(n, target);
      if (!y) y = size_of_list(n, target);
      if (!y) y = picked_first(n, target);
      if (!y) continue;
      g.set_type(y, y->dtype(), n.output()->shape());
      if (take_over(g, n.output(), y)) ++changes;
    }
    if (changes != 0) g.erase_dead();
    return changes;
  };
  return {"merge_reshapes", run, {"Reshape", "Size", "Expand", "Unsqueeze", "Gather"}};
}

}  // namespace t2o::rewriters
