#include "rewriters/onnx/facts.h"
#include "rewriters/runtime/rows.h"

// A Split into equal parts of an axis that may have no elements gets the sizes of the parts.
namespace t2o::rewriters {
namespace {

int guard(ir::Graph& g, ir::Node& n, const onnx::Target& target) {
  const auto* count = n.attr_if<std::int64_t>("num_outputs");
  if (!count) return 0;
  Value* x = n.input(0);
  const Shape& s = x->shape();
  const std::int64_t axis = n.attr_or<std::int64_t>("axis", 0), parts = *count;
  if (s.ranked() && s[from_front(static_cast<int>(axis), s.rank())] > 0) return 0;
  if (!may_be_empty(target, x)) return 0;
  Emitter e(n, target);
  const int at = static_cast<int>(axis);
  Value* size = e.dims(x, at, at == -1 ? onnx::kToEnd : at + 1);
  Value* sizes = e.expand(e.div(size, e.constant(parts)), e.ints({parts}));
  g.remove_attr(n, "num_outputs");
  if (n.input_count() < 2)
    g.add_node_input(n, sizes);
  else
    g.set_input(n, 1, sizes);
  return 1;
}

}  // namespace

Rewriter sized_splits(const onnx::Target& target) {
  return change_each("sized_splits", {"Split"}, target, guard);
}

}  // namespace t2o::rewriters
