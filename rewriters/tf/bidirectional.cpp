#include <algorithm>
#include <unordered_set>

#include "rewriters/all.h"
#include "rewriters/tf/facts.h"
#include "rewriters/tf/recurrent_build.h"

namespace t2o::rewriters {
namespace {

bool has_direction(const ir::Node& n, std::string_view direction) {
  const auto* d = n.attr_if<std::string>("direction");
  return d && *d == direction && (n.op() == "t2o.LSTM" || n.op() == "t2o.GRU" || n.op() == "t2o.RNN");
}

bool is_pair(const ir::Node& f, const ir::Node& r) {
  if (f.op() != r.op() || !computed_alike(f.input(0), r.input(0)) || !computed_alike(f.input(1), r.input(1)))
    return false;
  for (const char* name : {"hidden_size", "past", "linear_before_reset", "padding_first"}) {
    const Attr *a = f.attr(name), *b = r.attr(name);
    if ((a == nullptr) != (b == nullptr) || (a && *a != *b)) return false;
  }
  return true;
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
    bool nested = false;
    ir::for_each_subgraph(*n, [&](ir::Graph&) { nested = true; });
    if (nested) return false;
    need(*n);
    moved.push_back(n);
  }
  if (needed.contains(&earlier)) return false;
  std::reverse(moved.begin(), moved.end());
  for (ir::Node* n : moved) n->graph()->move_before(*n, &earlier);
  return true;
}

bool stands_before(const ir::Node& a, const ir::Node& b) {
  for (const ir::Node* n = a.next(); n; n = n->next())
    if (n == &b) return true;
  return false;
}

template <class T>
void join(Attrs& attrs, const ir::Node& r, std::string_view name) {
  for (ir::NamedAttr& a : attrs)
    if (a.name == name)
      if (const T* more = r.attr_if<T>(name)) {
        T& all = std::get<T>(a.value);
        all.insert(all.end(), more->begin(), more->end());
      }
}

void merge(ir::Graph& g, ir::Node& f, ir::Node& r, ir::Node* before) {
  Values in = f.inputs();
  in.insert(in.end(), r.inputs().begin() + 2, r.inputs().end());
  Attrs attrs = f.attrs();
  join<Strings>(attrs, r, "activations");
  join<Floats>(attrs, r, "activation_alpha");
  join<Floats>(attrs, r, "activation_beta");
  for (ir::NamedAttr& a : attrs)
    if (a.name == "direction") a.value = std::string("bidirectional");
  std::vector<ir::OutputSpec> outputs;
  for (const ir::Node* n : {&f, &r})
    for (const Value* v : n->outputs()) outputs.push_back({"", v->dtype(), v->shape()});
  const ir::Node& both = g.add(
      {f.op(), std::move(in), std::move(attrs), std::move(outputs), f.shared_origin(), f.name()}, before);
  std::size_t i = 0;
  for (const ir::Node* n : {&f, &r})
    for (Value* v : n->outputs()) replace_value(g, v, both.output(i++));
  g.erase(f);
  g.erase(r);
}

bool merge_with_partner(ir::Graph& g, ir::Node& f) {
  for (ir::Node& r : g.nodes()) {
    if (!has_direction(r, "reverse") || !is_pair(f, r)) continue;
    const bool f_first = stands_before(f, r);
    ir::Node &earlier = f_first ? f : r, &later = f_first ? r : f;
    if (!bring_forward(later, earlier)) continue;
    merge(g, f, r, &earlier);
    return true;
  }
  return false;
}

int run(ir::Graph& g) {
  int changes = 0;
  std::vector<ir::Node*> forward;
  for (ir::Node& n : g.nodes()) {
    ir::for_each_subgraph(n, [&](ir::Graph& inner) { changes += run(inner); });
    if (has_direction(n, "forward")) forward.push_back(&n);
  }
  for (ir::Node* f : forward) changes += merge_with_partner(g, *f) ? 1 : 0;
  if (changes != 0) g.erase_dead();
  return changes;
}

}  // namespace

Rewriter bidirectional() { return {"bidirectional", run}; }

}  // namespace t2o::rewriters
