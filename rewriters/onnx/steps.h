#pragma once
#include <optional>

#include "onnx/emitter.h"
#include "rewriters/pattern.h"

namespace t2o::rewriters {

// A view of a Loop as a loop over steps 0, 1, 2 ...
class Steps {
 public:
  static std::optional<Steps> view(ir::Node& n);  // nothing unless it is a Loop

  ir::Node& node() const { return *node_; }
  ir::Graph& body() const { return *body_; }
  std::size_t states() const { return node_->input_count() - 2; }
  Value* before(std::size_t state) const { return body_->inputs()[state + 2]; }
  Value* after(std::size_t state) const { return body_->outputs()[state + 1]; }
  Value* initial(std::size_t state) const { return node_->input(state + 2); }

  bool is_counter(std::size_t state) const;  // 0, 1, 2 ...
  bool is_step(const Value*) const;          // the number of the step
  bool is_outside(const Value* v) const { return v->constant() || v->graph() != body_; }
  // A value that is the same in all steps, as a value that the graph around the loop can read. Copies a constant of the body
  // to that graph.
  Value* seen_from(Emitter& around, Value* v) const;
  // If the node reads the row with the number of the step: the tensor it reads from (outside of the loop, or a constant).
  // Else null.
  Value* rows_of(const ir::Node&) const;

 private:
  Steps(ir::Node& n, ir::Graph& body) : node_(&n), body_(&body) {}
  ir::Node* node_;
  ir::Graph* body_;
};

// Does the work on each Loop of a graph: Work(loop, target).run(), which returns how often it changed the graph.
template <class Work> Rewriter for_each_loop(std::string name, const onnx::Target& target) {
  return for_each_node(std::move(name), {"Loop"}, [target](ir::Graph&, ir::Node& n) {
    const auto loop = Steps::view(n);
    return loop ? Work(*loop, target).run() : 0;
  });
}

}  // namespace t2o::rewriters
