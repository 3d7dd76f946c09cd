#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "ir/nesting.h"
#include "onnx/emitter.h"
#include "rewriters/all.h"

namespace t2o::rewriters {
namespace {

// Puts a branch's nodes in front of the If.
class Inlining {
 public:
  Inlining(ir::Graph& g, ir::Node& before, const ir::Graph& branch)
      : g_(g), before_(before), branch_(branch) {}

  void run() {
    for (const ir::Node& n : branch_.nodes()) {
      if (n.op() == "Identity") {
        values_[n.output()] = value(n.input(0));
        continue;
      }
      ir::NodeSpec spec{.op = n.op(), .attrs = n.attrs(), .origin = n.shared_origin(), .name_later = true};
      for (Value* v : n.inputs()) spec.inputs.push_back(v ? value(v) : nullptr);
      for (const Value* v : n.outputs()) spec.outputs.push_back({"", v->dtype(), v->shape()});
      const ir::Node& made = g_.add(std::move(spec), &before_);
      for (std::size_t i = 0; i < n.outputs().size(); ++i) {
        values_[n.output(i)] = made.output(i);
        if (const auto& known = n.output(i)->known_elements()) g_.set_known_elements(made.output(i), *known);
      }
    }
  }

  Value* value(Value* v) {
    if (v->graph() != &branch_) return v;
    const auto [it, is_new] = values_.try_emplace(v, nullptr);
    if (is_new) it->second = g_.add_constant(v->name(), v->constant());
    return it->second;
  }

 private:
  ir::Graph& g_;
  ir::Node& before_;
  const ir::Graph& branch_;
  std::unordered_map<const Value*, Value*> values_;
};

const ir::Graph* branch(const ir::Node& n, const char* name) {
  const auto* g = n.attr_if<GraphPtr>(name);
  return g ? g->get() : nullptr;
}

// ---- a condition that is known

bool take_branch(ir::Graph& g, ir::Node& n, const ir::Graph& chosen) {
  const auto nodes = chosen.nodes();
  if (std::any_of(nodes.begin(), nodes.end(), ir::holds_subgraph)) return false;
  Inlining inlining(g, n, chosen);
  inlining.run();
  for (std::size_t i = 0; i < n.outputs().size(); ++i)
    replace_value(g, n.output(i), inlining.value(chosen.outputs()[i]));
  return true;
}

// ---- branches that hand on what there is, or say yes or no

bool is_scalar_logic(const ir::Node& n) {
  static constexpr std::array<std::string_view, 3> kLogic = {"Not", "And", "Or"};
  const bool scalars =
      std::ranges::all_of(n.inputs(), [](const Value* v) { return v && v->shape().is_scalar(); });
  return n.op() == "Identity" || (scalars && contains(kLogic, n.op()));
}

bool can_be_chosen(const Value* a, const Value* b) {
  static constexpr std::array kTypes = {DType::f32, DType::f64, DType::i32, DType::i64, DType::boolean};
  const bool sizes_known = a->shape().ranked() && std::ranges::count(a->shape().dims(), kUnknownDim) == 0;
  return sizes_known && a->shape() == b->shape() && a->dtype() == b->dtype() && contains(kTypes, a->dtype());
}

const Value* origin_of(const Value* v) {
  while (v->producer() && v->producer()->op() == "Identity") v = v->producer()->input(0);
  return v;
}

std::optional<bool> known(const Value* v) {
  const TensorPtr& t = v->constant();
  if (!t || t->dtype() != DType::boolean || !v->shape().is_scalar()) return std::nullopt;
  return t->float_at(0) != 0;
}

bool is_cheap(const Value* a, const Value* b) {
  return a->dtype() != DType::boolean || known(origin_of(a)) || known(origin_of(b)) ||
         origin_of(a) == origin_of(b);
}

Value* and_not(Emitter& e, Value* a, Value* b) {
  Value* opposite = e.logical_not(b);
  return e.logical_and(opposite, a);
}
Value* or_not(Emitter& e, Value* a, Value* b) {
  Value* opposite = e.logical_not(b);
  return e.logical_or(opposite, a);
}

Value* chosen(Emitter& e, Value* condition, Value* a, Value* b) {
  if (a == b) return a;
  const auto yes = known(a), no = known(b);
  if (yes && no && *yes == *no) return a;
  if (yes && no) return *yes ? condition : e.logical_not(condition);
  if (yes) return *yes ? e.logical_or(condition, b) : and_not(e, b, condition);
  if (no) return *no ? or_not(e, a, condition) : e.logical_and(condition, a);
  return e.where(condition, a, b);
}

bool choose(ir::Graph& g, const onnx::Target& target, ir::Node& n, const ir::Graph& yes,
            const ir::Graph& no) {
  if (!n.input(0)->shape().is_scalar()) return false;
  for (const ir::Graph* side : {&yes, &no}) {
    const auto nodes = side->nodes();
    if (!std::all_of(nodes.begin(), nodes.end(), is_scalar_logic)) return false;
  }
  for (std::size_t i = 0; i < n.outputs().size(); ++i)
    if (!can_be_chosen(yes.outputs()[i], no.outputs()[i]) || !is_cheap(yes.outputs()[i], no.outputs()[i]))
      return false;
  Inlining first(g, n, yes), second(g, n, no);
  first.run();
  second.run();
  Emitter e(n, target);
  for (std::size_t i = 0; i < n.outputs().size(); ++i) {
    Value* a = first.value(yes.outputs()[i]);
    Value* b = second.value(no.outputs()[i]);
    replace_value(g, n.output(i), chosen(e, n.input(0), a, b));
  }
  return true;
}

bool fold(ir::Graph& g, ir::Node& n, const onnx::Target& target) {
  const ir::Graph *yes = branch(n, "then_branch"), *no = branch(n, "else_branch");
  if (n.op() != "If" || !yes || !no) return false;
  const auto condition = known(n.input(0));
  return condition ? take_branch(g, n, *condition ? *yes : *no) : choose(g, target, n, *yes, *no);
}

}  // namespace

Rewriter fold_branches(const onnx::Target& target) {
  return for_each_node("fold_branches", {"If"},
                       [target](ir::Graph& g, ir::Node& n) { return fold(g, n, target); });
}

}  // namespace t2o::rewriters
