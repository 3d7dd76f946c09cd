#pragma once
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"
#include "tfgraph/facts.h"

namespace t2o::tfgraph {

// A While node seen as a loop over time: what each of its variables does.
class Loop {
 public:
  static std::optional<Loop> view(const ir::Node& n);  // nothing unless it is a While with both graphs

  const ir::Node& node() const { return *node_; }
  const ir::Graph& body() const { return *body_; }
  std::size_t size() const { return body_->inputs().size(); }
  Value* result(std::size_t i) const { return through_identities(body_->outputs()[i]); }  // in the body
  Value* initial(std::size_t i) const { return node_->input(i); }

  int argument(const Value* v) const;  // the loop variable whose value v is when a step begins; else -1
  bool is_constant_argument(std::size_t i) const { return argument(result(i)) == static_cast<int>(i); }
  bool is_counter(std::size_t i) const;  // 0, 1, 2 ...
  bool is_step(Value* v) const;          // the number of the step
  bool is_final_unused(std::size_t i) const { return !node_->outputs()[i]->is_used(); }
  bool is_invariant(Value* v) const;  // the same in each step
  Value* outside(Value* v) const;     // the value around the loop that v is, or a constant; else null

  // The tensor that a list variable only hands out: item t is its row t.
  Value* unstacked(Value* list) const;
  // The list item that a step reads: the tensor around the loop whose rows they are; null when v is none.
  Value* item_of(Value* v) const;
  Shape item_shape(Value* v) const;  // of an item_of

  // What the loop's number of steps is the least of.
  std::optional<Values> limits() const;

 private:
  Loop(const ir::Node& n, const ir::Graph& body, const ir::Graph& cond);
  Value* limit(const Value* comparison) const;  // of a counter; null: it says something else

  const ir::Node* node_;
  const ir::Graph *body_, *cond_;
  std::unordered_map<const Value*, std::size_t> variables_;  // by the inputs of both graphs
  mutable std::unordered_map<const Value*, bool> invariant_;
};

Values conjuncts(Value* condition);  // what a tree of LogicalAnd joins, each once

}  // namespace t2o::tfgraph
