#include <algorithm>
#include <unordered_set>

#include "ir/nesting.h"
#include "rewriters/all.h"
#include "rewriters/tf/facts.h"
#include "tfgraph/internal_ops.h"

namespace t2o::rewriters {
namespace {

using tfgraph::Direction;
using tfgraph::RecurrentLayer;

std::optional<RecurrentLayer> layer_of(const ir::Node& n, Direction d) {
  auto l = RecurrentLayer::of(n);
  return l && l->direction == d ? l : std::nullopt;
}

// The layer that both are, if they are one.
std::optional<RecurrentLayer> layer_of_both(const ir::Node& f, const ir::Node& r) {
  auto a = layer_of(f, Direction::forward);
  const auto b = layer_of(r, Direction::reverse);
  if (!a || !b || a->kind != b->kind || a->units != b->units || a->past != b->past ||
      a->linear_before_reset != b->linear_before_reset || a->padding_first != b->padding_first)
    return {};
  if (!computed_alike(f.input(0), r.input(0)) || !computed_alike(f.input(1), r.input(1))) return {};
  a->direction = Direction::both;
  append(a->activations, b->activations);
  return a;
}

// Moves what `later` needs in front of `earlier`; false, with nothing moved, when it needs `earlier` itself.
bool bring_forward(ir::Node& later, ir::Node& earlier) {
  std::unordered_set<const ir::Node*> needed;
  const auto need = [&](const ir::Node& n) {
    for (const Value* v : n.inputs())
      if (v && v->producer()) needed.insert(v->producer());
  };
  need(later);
  std::vector<ir::Node*> moved;
  for (ir::Node* n = later.prev(); n != &earlier; n = n->prev()) {
    if (!n) return false;
    if (!needed.contains(n)) continue;
    if (ir::holds_subgraph(*n)) return false;
    need(*n);
    moved.push_back(n);
  }
  if (needed.contains(&earlier)) return false;
  std::ranges::reverse(moved);
  for (ir::Node* n : moved) n->graph()->move_before(*n, &earlier);
  return true;
}

bool stands_before(const ir::Node& a, const ir::Node& b) {
  for (const ir::Node* n = a.next(); n; n = n->next())
    if (n == &b) return true;
  return false;
}

void merge(ir::Graph& g, ir::Node& f, ir::Node& r, const RecurrentLayer& layer, ir::Node* before) {
  Values in = f.inputs();
  in.insert(in.end(), r.inputs().begin() + 2, r.inputs().end());
  std::vector<ir::OutputSpec> outputs;
  for (const ir::Node* n : {&f, &r})
    for (const Value* v : n->outputs()) outputs.push_back({"", v->dtype(), v->shape()});
  const ir::Node& both =
      g.add({f.op(), std::move(in), layer.attrs(), std::move(outputs), f.shared_origin(), f.name()}, before);
  std::size_t i = 0;
  for (const ir::Node* n : {&f, &r})
    for (Value* v : n->outputs()) replace_value(g, v, both.output(i++));
  g.erase(f);
  g.erase(r);
}

bool merge_with_partner(ir::Graph& g, ir::Node& f) {
  for (ir::Node& r : g.nodes()) {
    const auto layer = layer_of_both(f, r);
    if (!layer) continue;
    const bool f_first = stands_before(f, r);
    ir::Node &earlier = f_first ? f : r, &later = f_first ? r : f;
    if (!bring_forward(later, earlier)) continue;
    merge(g, f, r, *layer, &earlier);
    return true;
  }
  return false;
}

int run(ir::Graph& g) {
  int changes = 0;
  std::vector<ir::Node*> forward;
  for (ir::Node& n : g.nodes()) {
    if (layer_of(n, Direction::forward)) forward.push_back(&n);
  }
  for (ir::Node* f : forward) changes += merge_with_partner(g, *f) ? 1 : 0;
  return changes;
}

}  // namespace

Rewriter bidirectional() { return {"bidirectional", run}; }

}  // namespace t2o::rewriters
