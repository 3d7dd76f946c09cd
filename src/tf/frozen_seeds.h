#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace t2o::tf {

// A node that draws random numbers from a seed which depends on nothing but a variable.
struct Draw {
  const ir::Node* node;
  std::string variable;
  std::string seed;  // the tensor at which the seed can be fed, by its name in the model; "" where there is none
};

// In a graph and its subgraphs. The variables are constants of the graph, and have names.
std::vector<Draw> find_draws(const ir::Graph&, const std::unordered_map<const Value*, std::string>& variables);

}  // namespace t2o::tf
