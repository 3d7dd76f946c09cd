#pragma once
#include <unordered_map>

#include "ir/graph.h"

namespace t2o::ir {

// Computes a fact about a value from the same fact about the values it is computed from, up to a limited depth. Each value is
// looked at no more than once for each depth, whatever the number of paths to it, so the cost is linear in the graph. If the
// search ended at the depth limit, the value is looked at again from a smaller depth.
template <class Fact> class Memo {
 public:
  Memo(Fact unknown, int deepest) : unknown_(unknown), deepest_(deepest) {}

  // find(): computes the fact about v; it calls of() for the inputs of v's producer with depth + 1.
  template <class Find> Fact of(const Value* v, int depth, const Find& find) {
    if (depth > deepest_) return unknown_;
    if (const auto it = found_.find(v); it != found_.end())
      if (it->second.depth <= depth || !(it->second.fact == unknown_)) return it->second.fact;
    Fact fact = find();
    found_.insert_or_assign(v, Found{fact, depth});
    return fact;
  }

 private:
  struct Found {
    Fact fact;
    int depth;
  };
  const Fact unknown_;
  const int deepest_;
  std::unordered_map<const Value*, Found> found_;
};

}  // namespace t2o::ir
