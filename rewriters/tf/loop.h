#pragma once
#include <unordered_map>

#include "rewriters/tf/facts.h"
#include "tfgraph/loop.h"

namespace t2o::rewriters {

using tfgraph::Loop;

// Hoists loop-invariant values out of the loop, each value once.
class Hoister {
 public:
  Hoister(const Loop& loop, ir::Node& node) : loop_(&loop), node_(&node) {}
  Value* hoist(Value* invariant);

 private:
  void copy(const ir::Node&);

  const Loop* loop_;
  ir::Node* node_;
  std::unordered_map<const Value*, Value*> made_;
};

}  // namespace t2o::rewriters
