#pragma once
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"

namespace t2o {

Shape common(const Shape&, const Shape&);  // the most definite shape that both shapes fit

}  // namespace t2o

namespace t2o::tfgraph {

// The TensorLists of a TensorFlow graph and of its subgraphs. Values that may hold the same list, or a list that was made from it
// by a write, are one family: writes, identities, loops and branches hand a list on.
class Lists {
 public:
  struct Family {
    std::vector<const ir::Node*> makers;  // the nodes that create its lists
    // All elements have the same shape: TensorFlow surely stacks them, which needs it, or the list was made with this promise.
    bool has_one_shape = false;
    Shape made_with, element;  // what all makers state of the shape of each element, and what readers of all elements state
    Shape stated() const;      // both
  };

  explicit Lists(const ir::Graph& main);

  Value* id_of(Value* list) const;              // the same for all values of a family
  const Family& family_of(Value* list) const;
  TensorPtr stated_shape(Value* list) const;    // the element_shape that all lists of the family were made with; null: not a constant

 private:
  Value* root(Value*);
  void join(Value*, Value*);
  void join_node(const ir::Node&);
  void learn(const ir::Node&);
  bool surely_runs(const ir::Node& reader, const Family&) const;

  std::unordered_map<Value*, Value*> next_;  // towards the id
  std::unordered_map<Value*, Family> families_;
  std::unordered_set<const ir::Graph*> branches_;
};

}  // namespace t2o::tfgraph
