#include <algorithm>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

// Both directions of a recurrent layer, [t, 2, b, h] to [b, t, 2 h]: for a Split, whose parts are squeezed,
// transposed and joined along the last axis, one Transpose and a Reshape.
namespace t2o::rewriters {
namespace {

// Of which Split the value is the part with this number, squeezed and with the batch first; null: of none, or
// another reads of it.
ir::Node* split_behind(const Value* v, const ir::Node& concat, std::size_t index) {
  const ir::Node* t = v->producer();
  const Ints* perm = t && t->op() == "Transpose" ? t->attr_if<Ints>("perm") : nullptr;
  if (!perm || *perm != Ints{1, 0, 2} || only_reader(v) != &concat) return nullptr;
  const ir::Node* s = t->input(0)->producer();
  if (!s || s->op() != "Squeeze" || axes_of(*s) != Ints{1} || only_reader(s->output()) != t) return nullptr;
  ir::Node* split = s->input(0)->producer();
  const bool is_part =
      split && split->op() == "Split" && split->outputs().size() == 2 && split->output(index) == s->input(0);
  return is_part && only_reader(s->input(0)) == s ? split : nullptr;
}

// [t, 2, b, h], of which the Concat joins both parts in their order, in this graph.
Value* both_directions(const ir::Node& concat) {
  if (concat.inputs().size() != 2) return nullptr;
  const ir::Node *first = split_behind(concat.input(0), concat, 0),
                 *second = split_behind(concat.input(1), concat, 1);
  if (!first || first != second || first->graph() != concat.graph()) return nullptr;
  const Shape& s = first->input(0)->shape();
  const auto* axis = first->attr_if<std::int64_t>("axis");
  return s.ranked() && s.rank() == 4 && s[1] == 2 && s[3] > 0 && axis && (*axis == 1 || *axis == -3)
             ? first->input(0)
             : nullptr;
}

bool is_along_last(const ir::Node& concat) {
  const auto* axis = concat.attr_if<std::int64_t>("axis");
  return axis && (*axis == 2 || *axis == -1);
}

// The next layer, which has the time first again.
bool is_transposed(const Value* v) {
  return std::any_of(v->uses().begin(), v->uses().end(),
                     [](const auto& use) { return use.node->op() == "Transpose"; });
}

int join(ir::Graph& g, const onnx::Target& target) {
  int changes = 0;
  for (ir::Node& n : g.nodes()) {
    if (n.op() != "Concat" || !is_along_last(n) || is_transposed(n.output())) continue;
    Value* both = both_directions(n);
    if (!both) continue;
    Emitter e(g, target, n.shared_origin(), &n);
    Value* y = e.reshape(e.transpose(both, {2, 0, 1, 3}), {0, 0, 2 * both->shape()[3]});
    g.set_type(y, y->dtype(), n.output()->shape());
    replace_value(g, n.output(), y);
    ++changes;
  }
  if (changes != 0) g.erase_dead();
  return changes;
}

}  // namespace

Rewriter join_directions(const onnx::Target& target) {
  return {"join_directions", [target](ir::Graph& g) { return join(g, target); }, {"Split"}};
}

}  // namespace t2o::rewriters
