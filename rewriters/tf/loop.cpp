#include "rewriters/tf/loop.h"

#include <algorithm>

namespace t2o::rewriters {
namespace {

bool has_effect(const ir::Node& n) {
  bool nested = false;
  ir::for_each_subgraph(n, [&](ir::Graph&) { nested = true; });
  return nested || n.op().starts_with("TensorList") || n.op().starts_with("Random") ||
         n.op().starts_with("Read");
}

}  // namespace

std::optional<Loop> Loop::view(ir::Node& n) {
  if (n.op() != "While" && n.op() != "StatelessWhile") return {};
  const auto *body = n.attr_if<GraphPtr>("body"), *cond = n.attr_if<GraphPtr>("cond");
  if (!body || !cond) return {};
  const std::size_t count = n.input_count();
  if ((*body)->inputs().size() != count || (*body)->outputs().size() != count ||
      (*cond)->inputs().size() != count || (*cond)->outputs().size() != 1 || n.outputs().size() != count)
    return {};
  return Loop(n, **body, **cond);
}

int Loop::argument(const Value* v) const {
  if (!v || v->graph() != body_ || !v->is_graph_input()) return -1;
  const Values& in = body_->inputs();
  return static_cast<int>(std::find(in.begin(), in.end(), v) - in.begin());
}

bool Loop::is_counter(std::size_t i) const {
  if (known_ints(initial(i)) != Ints{0}) return false;
  const Value* next = result(i);
  if (!is_op(next, "Add") && !is_op(next, "AddV2")) return false;
  for (std::size_t k = 0; k < 2; ++k) {
    const Value* from = through_identities(next->producer()->input(k));
    Value* step = through_identities(next->producer()->input(1 - k));
    if (argument(from) == static_cast<int>(i))
      if (Value* constant = outside(step); constant && known_ints(constant) == Ints{1}) return true;
  }
  return false;
}

bool Loop::is_step(Value* v) const {
  v = through_identities(v);
  while (is_op(v, "Cast")) v = through_identities(v->producer()->input(0));
  const int i = argument(v);
  return i >= 0 && is_counter(static_cast<std::size_t>(i));
}

Value* Loop::outside(Value* v) const {
  v = through_identities(v);
  if (!v) return nullptr;
  if (v->constant() || v->graph() != body_) return v;
  const int i = argument(v);
  if (i < 0 || !is_constant_argument(static_cast<std::size_t>(i))) return nullptr;
  return through_identities(initial(static_cast<std::size_t>(i)));
}

bool Loop::is_invariant(Value* v) const {
  v = through_identities(v);
  if (!v) return true;
  if (outside(v)) return true;
  const ir::Node* n = v->producer();
  if (!n || has_effect(*n)) return false;
  if (const auto it = invariant_.find(v); it != invariant_.end()) return it->second;
  const bool yes =
      std::all_of(n->inputs().begin(), n->inputs().end(), [&](Value* in) { return is_invariant(in); });
  return invariant_[v] = yes;
}

Value* Loop::unstacked(Value* list) const {
  Value* from = outside(list);
  return is_op(from, "TensorListFromTensor") ? from->producer()->input(0) : nullptr;
}

Value* Loop::item_of(Value* v) const {
  v = through_identities(v);
  if (!is_op(v, "TensorListGetItem") || !is_step(v->producer()->input(1))) return nullptr;
  return unstacked(v->producer()->input(0));
}

Shape Loop::item_shape(Value* v) const {
  v = through_identities(v);
  const Value* rows = item_of(v);
  if (rows->shape().ranked() && rows->shape().rank() > 0)
    return Shape(Ints(rows->shape().dims().begin() + 1, rows->shape().dims().end()));
  const ir::Node& read = *v->producer();
  Value* list = outside(read.input(0));
  for (Value* shape : {read.input(2), list->producer()->input(1)})
    if (auto dims = known_ints(shape); dims && shape->shape() != Shape::scalar()) {
      for (std::int64_t& d : *dims) d = std::max(d, kUnknownDim);
      return Shape(*std::move(dims));
    }
  return {};
}

bool Loop::collect_limits(Value* condition, Values& limits) const {
  condition = through_identities(condition);
  if (!condition) return false;
  const auto variable = [&](const Value* v) -> std::optional<std::size_t> {
    const auto at = std::find(cond_->inputs().begin(), cond_->inputs().end(), v);
    if (at == cond_->inputs().end()) return {};
    return static_cast<std::size_t>(at - cond_->inputs().begin());
  };
  const ir::Node* n = condition->producer();
  if (!n) return false;
  if (n->op() == "LogicalAnd")
    return collect_limits(n->input(0), limits) && collect_limits(n->input(1), limits);
  const bool less = n->op() == "Less";
  if (!less && n->op() != "Greater") return false;
  const auto counter = variable(through_identities(n->input(less ? 0 : 1)));
  Value* limit = through_identities(n->input(less ? 1 : 0));
  if (!counter || !is_counter(*counter)) return false;
  if (const auto i = variable(limit)) {
    if (!is_constant_argument(*i)) return false;
    limit = initial(*i);
  } else if (!limit->constant() && limit->graph() == cond_) {
    return false;
  }
  limits.push_back(limit);
  return true;
}

std::optional<Values> Loop::limits() const {
  Values limits;
  if (!collect_limits(cond_->outputs()[0], limits)) return {};
  return limits;
}

Value* Loop::hoist(Value* v) const {
  v = through_identities(v);
  if (!v) return nullptr;
  Value*& made = hoisted_[v];
  if (made) return made;
  ir::Graph& g = *node_->graph();
  if (Value* o = outside(v)) {
    made = o->constant() && o->graph() == body_ ? g.add_constant(o->name(), o->constant()) : o;
    return made;
  }
  const ir::Node& n = *v->producer();
  ir::NodeSpec spec{n.op(), {}, n.attrs(), {}, n.shared_origin(), n.name()};
  for (Value* in : n.inputs()) spec.inputs.push_back(hoist(in));
  for (const Value* out : n.outputs()) spec.outputs.push_back({"", out->dtype(), out->shape()});
  const ir::Node& copy = g.add(std::move(spec), node_);
  for (std::size_t i = 0; i < n.outputs().size(); ++i) hoisted_[n.output(i)] = copy.output(i);
  return hoisted_[v];
}

}  // namespace t2o::rewriters
