#include "ir/contents.h"

#include <algorithm>
#include <string_view>

namespace t2o::ir {

Contents contents_of(Graph& g) {
  Contents c{{&g}, {}};
  std::string_view last;  // a graph of 100,000 nodes has few ops, often the same one again
  for (std::size_t i = 0; i < c.graphs.size(); ++i)
    for (const Node& n : c.graphs[i]->nodes()) {
      if (n.op() != last) c.ops.insert(n.op());
      last = n.op();
      for_each_subgraph(n, [&](Graph& inner) { c.graphs.push_back(&inner); });
    }
  std::ranges::reverse(c.graphs);
  return c;
}

}  // namespace t2o::ir
