
#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

// A Reshape of what was reshaped is one of the tensor itself, and what it multiplies with ones to give them
// its own shape is expanded, as meshgrid leaves it.
namespace t2o::rewriters {
namespace {

bool only_names_axes(const ir::Node* n) {
  return n && contains({"Reshape", "Unsqueeze", "Squeeze", "Flatten"}, n->op()) && n->input(0) &&
         !n->input(0)->constant();
}

// No entry of the sizes stands for an axis of what is reshaped.
bool says_all_sizes(const ir::Node& n) {
  if (n.attr_or<std::int64_t>("allowzero", 0) == 1) return true;
  const auto sizes = constant_ints(n.input(1));
  return sizes && !contains(*sizes, 0);
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
    if (!is_op(ones, "Expand") || !is_number(ones->input(0), 1) || n.input(1 - i)->constant()) continue;
    Emitter e(n, target);
    return e.emit("Expand", {n.input(1 - i), ones->input(1)});
  }
  return nullptr;
}

// [Size(x)] of a list is its Shape.
Value* size_of_list(ir::Node& n, const onnx::Target& target) {
  const ir::Node* size = n.op() == "Unsqueeze" ? n.input(0)->producer() : nullptr;
  if (!is_op(size, "Size")) return nullptr;
  const Shape& x = size->input(0)->shape();
  if (!x.ranked() || x.rank() != 1 || n.output()->shape().rank() != 1) return nullptr;
  Emitter e(n, target);
  return e.emit("Shape", {size->input(0)});
}

}  // namespace

Rewriter merge_reshapes(const onnx::Target& target) {
  const auto merge = [target](ir::Graph& g, ir::Node& n) {
    int changes = 0;
    if (n.outputs().size() != 1 || !n.output()->shape().ranked()) return changes;
    while (skip_reshape(g, n)) ++changes;
    Value* y = expanded(n, target);
    if (!y) y = size_of_list(n, target);
    if (!y) return changes;
    g.set_type(y, y->dtype(), n.output()->shape());
    return changes + (take_over(g, n.output(), y) ? 1 : 0);
  };
  return for_each_node("merge_reshapes", {"Reshape", "Size", "Expand"}, merge);
}

}  // namespace t2o::rewriters
