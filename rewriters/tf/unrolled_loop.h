#pragma once
#include <string>
#include <unordered_map>
#include <vector>

#include "rewriters/tf/unrolled_steps.h"

namespace t2o::rewriters {

struct UnrolledOutput {  // a value of the steps that nodes outside of the steps read
  Value* value;          // the value in the second step
  const Values* steps;
  const Unrolled::State* state = nullptr;  // if the value is a state
  bool last_only = true;
  std::size_t variable = 0;
  bool is_list = false;
  Value* read = nullptr;  // the stacked list, or the final state
};

// Builds the loop that a chain of steps was unrolled from, and the values that its readers need, all before one node.
class UnrolledLoop {
 public:
  UnrolledLoop(ir::Graph& g, const Unrolled& u, std::vector<UnrolledOutput>& outputs, ir::Node* before)
      : g_(g), u_(u), outputs_(outputs), before_(before), steps_(static_cast<std::int64_t>(u.steps)) {}

  bool build(bool finals_in_lists, std::string& why);  // on failure returns false and leaves no node behind
  ir::Node& node() const { return *loop_; }
  void undo();

  Value* reversed(Value* v);
  Value* swapped(Value* v, int rank);  // the first two axes
  Value* row(Value* stack, std::int64_t at);
  const Values& unpacked(Value* stack);

 private:
  std::string name() const { return u_.body.back()->name() + "/const"; }
  Value* add(std::string op, Values inputs, Attrs attrs, DType dtype, Shape shape);
  Value* constant(TensorPtr t) { return g_.add_constant(name(), std::move(t)); }
  Value* i32(std::int32_t v) { return constant(Tensor::scalar<std::int32_t>(v)); }
  Value* i32s(const std::vector<std::int32_t>& v) {
    return constant(Tensor::of<std::int32_t>({static_cast<std::int64_t>(v.size())}, v));
  }
  Value* inner(Value* v) const {
    const auto at = inner_.find(v);
    return at == inner_.end() ? v : at->second;
  }

  Value* rows_of(const ir::Node& unpack);
  Value* item_shape(ir::Graph& g, const Value* rows) const;
  bool add_item(const Value* item, ir::Node& unpack);
  void copy_body();
  void add_variable(Value* initial, DType dtype, Shape shape);
  void add_list(UnrolledOutput& o, bool finals_in_lists);
  Value* written(const UnrolledOutput& o);
  Value* initial_of(const Unrolled::State& s);
  Value* zero_like(Value* zeros);
  void add_numbers();
  void close();
  void add_read(UnrolledOutput& o);

  ir::Graph& g_;
  const Unrolled& u_;
  std::vector<UnrolledOutput>& outputs_;
  ir::Node* before_;
  std::int64_t steps_;
  std::vector<ir::Node*> made_;

  GraphPtr body_, condition_;
  Value* counter_ = nullptr;
  Values initial_;
  std::vector<ir::OutputSpec> types_;
  std::unordered_map<const ir::Node*, Value*> lists_, shapes_;
  std::unordered_map<const Value*, Value*> inner_;
  ir::Node* loop_ = nullptr;
};

std::int64_t axis_of(const ir::Node& n);  // of a Pack or an Unpack

}  // namespace t2o::rewriters
