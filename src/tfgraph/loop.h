#pragma once
#include <optional>
#include <unordered_map>

#include "ir/graph.h"
#include "tfgraph/facts.h"

namespace t2o::tfgraph {

// A view of a While node as a loop over time, with the role of each variable.
class Loop {
 public:
  static std::optional<Loop> view(const ir::Node& n);  // empty unless it is a While with both graphs

  const ir::Node& node() const { return *node_; }
  const ir::Graph& body() const { return *body_; }
  const ir::Graph& condition() const { return *cond_; }
  bool is_inside(const Value* v) const { return v->graph() == body_ || v->graph() == cond_; }
  std::size_t size() const { return body_->inputs().size(); }
  Value* result(std::size_t i) const { return through_identities(body_->outputs()[i]); }  // in the body
  Value* initial(std::size_t i) const { return node_->input(i); }

  int variable(const Value* v) const;  // the loop variable that v is in the body or in the condition; else -1
  int argument(const Value* v) const;  // the loop variable that v is at the beginning of a step; else -1
  bool is_constant_argument(std::size_t i) const { return argument(result(i)) == static_cast<int>(i); }
  bool is_counter(std::size_t i) const;  // 0, 1, 2 ...
  bool is_step(Value* v) const;          // the number of the step
  bool is_final_unused(std::size_t i) const { return !node_->outputs()[i]->is_used(); }
  bool is_invariant(Value* v) const;  // the same in each step
  Value* outside(Value* v) const;     // v as a value outside of the loop, or a constant; else null

  // If the loop only reads a list variable: the tensor whose row t is item t.
  Value* unstacked(Value* list) const;
  // If v is the list item that a step reads: the tensor outside of the loop whose rows are the items. Else null.
  Value* item_of(Value* v) const;
  Shape item_shape(Value* v) const;  // the shape of such an item

  // The number of steps is the minimum of these limits.
  std::optional<Values> limits() const;

 private:
  Loop(const ir::Node& n, const ir::Graph& body, const ir::Graph& cond);
  Value* limit(const Value* comparison) const;  // the limit of a counter; null if the comparison is something else

  const ir::Node* node_;
  const ir::Graph *body_, *cond_;
  std::unordered_map<const Value*, std::size_t> variables_;  // by the inputs of both graphs
  mutable std::unordered_map<const Value*, bool> invariant_;
};

Values conjuncts(Value* condition);  // the operands of a tree of LogicalAnd, each once

}  // namespace t2o::tfgraph
