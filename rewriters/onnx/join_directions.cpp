#include <algorithm>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

// Both directions of a recurrent layer, [t, 2, b, h] to [b, t, 2 h]: one Transpose and a Reshape instead of a
// Split, whose parts are squeezed, transposed and joined along the last axis.
namespace t2o::rewriters {
namespace {

// Of which Split the value is the part with this number, squeezed and with the batch first; null: of none, or
// another reads of it.
ir::Node* split_behind(const Value* v, const ir::Node& concat, std::size_t index) {
  const ir::Node* t = v->producer();
  const Ints* perm = perm_of(t);
  if (!perm || *perm != Ints{1, 0, 2} || only_reader(v) != &concat) return nullptr;
  const ir::Node* s = t->input(0)->producer();
  if (!is_op(s, "Squeeze") || axes_of(*s) != Ints{1} || only_reader(s->output()) != t) return nullptr;
  ir::Node* split = s->input(0)->producer();
  const bool is_part =
      is_op(split, "Split") && split->outputs().size() == 2 && split->output(index) == s->input(0);
  return is_part && only_reader(s->input(0)) == s ? split : nullptr;
}

// [t, 2, b, h], of which the Concat joins both parts in their order, in this graph.
Value* both_directions(const ir::Node& concat) {
  if (concat.inputs().size() != 2) return nullptr;
  const ir::Node *first = split_behind(concat.input(0), concat, 0),
                 *second = split_behind(concat.input(1), concat, 1);
  if (!first || first != second || first->graph() != concat.graph()) return nullptr;
  const Shape& s = first->input(0)->shape();
  const auto axis = first->attr_or<std::int64_t>("axis", 0);
  return s.ranked() && s.rank() == 4 && s[1] == 2 && s[3] > 0 && (axis == 1 || axis == -3) ? first->input(0)
                                                                                           : nullptr;
}

bool is_along_last(const ir::Node& concat) {
  const auto axis = concat.attr_or<std::int64_t>("axis", 0);
  return axis == 2 || axis == -1;
}

// The next layer, which has the time first again.
bool is_transposed(const Value* v) {
  return std::ranges::any_of(v->uses(), [](const auto& use) { return use.node->op() == "Transpose"; });
}

}  // namespace

Rewriter join_directions(const onnx::Target& target) {
  return for_each_node("join_directions", {"Split"}, [target](ir::Graph& g, ir::Node& n) {
    if (n.op() != "Concat" || !is_along_last(n) || is_transposed(n.output())) return false;
    Value* both = both_directions(n);
    if (!both) return false;
    Emitter e(n, target);
    Value* y = e.reshape(e.transpose(both, {2, 0, 1, 3}), {0, 0, 2 * both->shape()[3]});
    g.set_type(y, y->dtype(), n.output()->shape());
    replace_value(g, n.output(), y);
    return true;
  });
}

}  // namespace t2o::rewriters
