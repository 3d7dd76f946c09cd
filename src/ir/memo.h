#pragma once
#include <unordered_map>

#include "ir/graph.h"

namespace t2o::ir {

// A fact of values that follows from those of the values they are made of, looked for so many steps deep. However
// many ways lead to a value, it is looked at once for each depth at most: the cost is that of the graph. What
// nothing was found of for depth alone is looked at again from nearer.
template <class Fact> class Memo {
 public:
  Memo(Fact unknown, int deepest) : unknown_(unknown), deepest_(deepest) {}

  // find(): what is said of v, by asking of() of what it is made of with depth + 1.
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
