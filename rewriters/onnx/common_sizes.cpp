#include <algorithm>
#include <map>

#include "rewriters/all.h"

namespace t2o::rewriters {
namespace {

// What is known of an integer scalar or list, when that is all of it.
struct Sizes {
  DType dtype;
  int rank;
  Ints elements;
  auto operator<=>(const Sizes&) const = default;
};

bool is_of_sizes(const Value& v) {
  const auto& known = v.known_elements();
  return known && !v.constant() && v.shape().ranked() && v.shape().rank() <= 1 &&
         std::ranges::count(*known, kUnknownDim) == 0;
}

// Symbols are equal at run time, so the first value of such sizes is all of them: each layer asks its input
// for its shape.
int share(ir::Graph& g) {
  std::map<Sizes, Value*> first;
  int changes = 0;
  for (ir::Node& n : g.nodes())
    for (Value* v : n.outputs()) {
      if (!v->is_used() || !is_of_sizes(*v)) continue;
      const auto [it, is_new] = first.try_emplace({v->dtype(), v->shape().rank(), *v->known_elements()}, v);
      if (is_new || v->is_graph_output() || it->second->is_graph_output()) continue;
      g.replace_all_uses(v, it->second);
      ++changes;
    }
  return changes;
}

}  // namespace

Rewriter common_sizes() { return {"common_sizes", share, {"Shape"}}; }

}  // namespace t2o::rewriters
