#pragma once
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"

namespace t2o::ir {

struct Contents {
  std::vector<Graph*> graphs;  // the graph and those inside of it, the inner ones first
  std::unordered_set<std::string> ops;
};
Contents contents_of(Graph&);

}  // namespace t2o::ir
