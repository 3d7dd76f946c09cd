#pragma once
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

}  // namespace t2o::ir
