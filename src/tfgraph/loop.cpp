#include "tfgraph/loop.h"

#include <algorithm>
#include <unordered_set>

#include "ir/nesting.h"
#include "ir/postorder.h"

namespace t2o::tfgraph {
namespace {

// Another result each time, or a list that is changed: by the name, for nothing here knows TensorFlow's table
// of operators.
bool has_effect(const ir::Node& n) {
  constexpr std::string_view kBegins[] = {"TensorList",
                                          "Random",
                                          "Read",
                                          "Stateful",
                                          "Rng",
                                          "TruncatedNormal",
                                          "ParameterizedTruncated",
                                          "Multinomial",
                                          "NonDeterministic"};
  return ir::holds_subgraph(n) ||
         std::ranges::any_of(kBegins, [&](std::string_view begin) { return n.op().starts_with(begin); });
}

}  // namespace

Loop::Loop(const ir::Node& n, const ir::Graph& body, const ir::Graph& cond)
    : node_(&n), body_(&body), cond_(&cond) {
  for (std::size_t i = 0; i < body.inputs().size(); ++i) {
    variables_[body.inputs()[i]] = i;
    variables_[cond.inputs()[i]] = i;
  }
}

std::optional<Loop> Loop::view(const ir::Node& n) {
  if (!contains({"While", "StatelessWhile", "XlaWhile"}, n.op())) return {};
  const auto *body = n.attr_if<GraphPtr>("body"), *cond = n.attr_if<GraphPtr>("cond");
  if (!body || !cond) return {};
  const std::size_t count = n.input_count();
  if ((*body)->inputs().size() != count || (*body)->outputs().size() != count ||
      (*cond)->inputs().size() != count || (*cond)->outputs().size() != 1 || n.outputs().size() != count)
    return {};
  return Loop(n, **body, **cond);
}

int Loop::variable(const Value* v) const {
  const auto it = variables_.find(v);
  return it == variables_.end() ? -1 : static_cast<int>(it->second);
}

int Loop::argument(const Value* v) const { return v && v->graph() == body_ ? variable(v) : -1; }

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

bool Loop::is_invariant(Value* root) const {
  ir::for_each_before(
      through_identities(root),
      [&](Value* v, Values& needs) {
        const auto [it, fresh] = invariant_.try_emplace(v, false);
        if (!fresh) return false;
        it->second = !v || outside(v);
        const ir::Node* n = it->second ? nullptr : v->producer();
        if (!n || has_effect(*n)) return false;
        for (Value* in : n->inputs()) needs.push_back(through_identities(in));
        return true;
      },
      [&](Value* v) {
        const Values& in = v->producer()->inputs();
        invariant_[v] =
            std::ranges::all_of(in, [&](Value* i) { return invariant_.at(through_identities(i)); });
      });
  return invariant_.at(through_identities(root));
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

Values conjuncts(Value* condition) {
  Values all, work = {condition};
  std::unordered_set<const Value*> seen;
  while (!work.empty()) {
    Value* v = through_identities(work.back());
    work.pop_back();
    if (!seen.insert(v).second) continue;
    if (is_op(v, "LogicalAnd"))
      work.insert(work.end(), {v->producer()->input(1), v->producer()->input(0)});
    else
      all.push_back(v);
  }
  return all;
}

Value* Loop::limit(const Value* comparison) const {
  const bool less = is_op(comparison, "Less");
  if (!less && !is_op(comparison, "Greater")) return nullptr;
  const ir::Node& n = *comparison->producer();
  const Value* counter = through_identities(n.input(less ? 0 : 1));
  Value* limit = through_identities(n.input(less ? 1 : 0));
  const auto at = [&](const Value* v) { return v && v->graph() == cond_ ? variable(v) : -1; };
  if (!limit || at(counter) < 0 || !is_counter(static_cast<std::size_t>(at(counter)))) return nullptr;
  if (at(limit) >= 0) {
    const auto i = static_cast<std::size_t>(at(limit));
    return is_constant_argument(i) ? initial(i) : nullptr;
  }
  return limit->constant() || limit->graph() != cond_ ? limit : nullptr;
}

std::optional<Values> Loop::limits() const {
  Values limits;
  for (const Value* v : conjuncts(cond_->outputs()[0])) {
    limits.push_back(limit(v));
    if (!limits.back()) return {};
  }
  return limits;
}

}  // namespace t2o::tfgraph
