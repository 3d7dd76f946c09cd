#pragma once
#include <vector>

#include "ir/graph.h"

namespace t2o::ir {

constexpr int kDeepestNesting = 30;  // levels of subgraphs; protobuf's readers stop at 100 nested messages

inline bool holds_subgraph(const Node& n) {
  bool any = false;
  for_each_subgraph(n, [&](const Graph&) { any = true; });
  return any;
}

inline int nesting(const Graph& g) {  // the number of graphs around it
  int depth = 0;
  for (const Graph* around = g.parent(); around; around = around->parent()) ++depth;
  return depth;
}

// Calls f(node) for each node of a graph and of all its subgraphs. `f` must not add or erase nodes.
template <class G, class F> void for_each_node(G& main, F&& f) {
  std::vector<G*> graphs{&main};
  while (!graphs.empty()) {
    G& g = *graphs.back();
    graphs.pop_back();
    for (auto& n : g.nodes()) {
      f(n);
      for_each_subgraph(n, [&](Graph& inner) { graphs.push_back(&inner); });
    }
  }
}

}  // namespace t2o::ir
