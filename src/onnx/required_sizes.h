#pragma once
#include <map>

#include "ir/graph.h"

namespace t2o::onnx {

// A symbol in the shapes of the graph's inputs, the only size with which the graph runs, and a node that takes no other.
struct RequiredSize {
  std::int64_t size;
  const ir::Node* by;
};
std::map<Dim, RequiredSize> required_sizes(const ir::Graph&);

}  // namespace t2o::onnx
