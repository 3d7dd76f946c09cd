#include <algorithm>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "ir/nesting.h"
#include "rewriters/all.h"

namespace t2o::rewriters {
namespace {

// Of an operator that is not ONNX's own, nobody knows.
bool gives_the_same_each_time(const ir::Node& n) {
  if (n.op().find("::") != std::string::npos) return false;
  for (const std::string_view op : {"Random", "Multinomial", "Bernoulli", "Dropout"})
    if (n.op().starts_with(op)) return false;
  return !ir::holds_subgraph(n) && !n.outputs().empty() && n.input_count() != 0;
}

std::size_t hash_of(const ir::Node& n) {
  std::size_t h = std::hash<std::string_view>()(n.op());
  for (const Value* v : n.inputs()) h = h * 31 + std::hash<const Value*>()(v);
  for (const ir::NamedAttr& a : n.attrs()) {
    if (const auto* i = std::get_if<std::int64_t>(&a.value)) h = h * 31 + static_cast<std::size_t>(*i);
    if (const auto* f = std::get_if<float>(&a.value)) h = h * 31 + std::hash<float>()(*f);
    if (const auto* is = std::get_if<Ints>(&a.value))
      for (const std::int64_t i : *is) h = h * 31 + static_cast<std::size_t>(i);
  }
  return h * 31 + n.outputs().size();
}

bool same(const ir::Node& a, const ir::Node& b) {
  return a.op() == b.op() && a.inputs() == b.inputs() && a.outputs().size() == b.outputs().size() &&
         a.attrs() == b.attrs();
}

// Two graph outputs stay two nodes.
bool may_replace(const ir::Node& later, const ir::Node& first) {
  for (std::size_t i = 0; i < later.outputs().size(); ++i)
    if (later.output(i)->is_graph_output() && first.output(i)->is_graph_output()) return false;
  return true;
}

int merge(ir::Graph& g) {
  std::unordered_multimap<std::size_t, ir::Node*> seen;
  seen.reserve(g.node_count());
  int changes = 0;
  for (ir::Node& n : g.nodes()) {
    if (!gives_the_same_each_time(n)) continue;
    const std::size_t h = hash_of(n);
    const auto [from, to] = seen.equal_range(h);
    const auto it = std::find_if(from, to, [&](const auto& entry) { return same(*entry.second, n); });
    if (it == to) {
      seen.emplace(h, &n);
      continue;
    }
    if (!may_replace(n, *it->second)) continue;  // the first stands for all that follow
    for (std::size_t i = 0; i < n.outputs().size(); ++i) take_over(g, n.output(i), it->second->output(i));
    g.erase(n);
    ++changes;
  }
  return changes;
}

}  // namespace

Rewriter common_subexpressions() { return {"common_subexpressions", merge}; }

}  // namespace t2o::rewriters
