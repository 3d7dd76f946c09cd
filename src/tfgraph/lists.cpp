#include "tfgraph/lists.h"

#include <algorithm>
#include <utility>

#include "tfgraph/facts.h"

namespace t2o {

Shape common(const Shape& a, const Shape& b) {
  if (!a.ranked() || !b.ranked() || a.rank() != b.rank()) return {};
  Ints dims;
  for (int i = 0; i < a.rank(); ++i) dims.push_back(a[i] == b[i] ? a[i] : kUnknownDim);
  return Shape(std::move(dims));
}

namespace tfgraph {
namespace {

bool is_list(const Value* v) { return v && v->dtype() == DType::variant; }

// What an operator says of its list. shape: the input that states the shape of each element.
struct Role {
  const char* op;
  std::size_t shape;
  bool makes, needs_one_shape;
};

constexpr Role kRoles[] = {
    {"TensorListReserve", 0, true, false},    {"EmptyTensorList", 0, true, false},
    {"TensorListFromTensor", 1, true, false}, {"TensorListScatter", 2, true, false},
    {"TensorListScatterV2", 2, true, false},  {"TensorListSplit", 1, true, false},
    {"TensorListStack", 1, false, true},      {"TensorListGather", 2, false, true},
    {"TensorListConcatV2", 1, false, false},
};

const Role* role_of(const std::string& op) {
  const auto* at = std::ranges::find_if(kRoles, [&](const Role& r) { return r.op == op; });
  return at == std::end(kRoles) ? nullptr : at;
}

Shape stated_by(Value* dims) {
  const auto known = dims->shape().is_scalar() ? std::nullopt : known_ints(dims);
  if (!known) return {};
  Ints all = *known;
  for (Dim& d : all) d = std::max(d, kUnknownDim);
  return Shape(std::move(all));
}

}  // namespace

Lists::Lists(const ir::Graph& main) {
  std::vector<const ir::Graph*> work{&main};
  std::vector<const ir::Node*> nodes;
  while (!work.empty()) {
    const ir::Graph& g = *work.back();
    work.pop_back();
    for (const ir::Node& n : g.nodes()) {
      join_node(n);
      if (role_of(n.op())) nodes.push_back(&n);
      ir::for_each_subgraph(n, [&](const ir::Graph& sub) {
        work.push_back(&sub);
        if (!n.op().ends_with("While")) branches_.insert(&sub);
      });
    }
  }
  for (const bool makers : {true, false})
    for (const ir::Node* n : nodes)
      if (role_of(n->op())->makes == makers) learn(*n);
}

Value* Lists::root(Value* v) {
  Value* top = v;
  while (next_.try_emplace(top, top).first->second != top) top = next_[top];
  while (v != top) v = std::exchange(next_[v], top);
  return top;
}

void Lists::join(Value* a, Value* b) {
  if (is_list(a) && is_list(b)) next_[root(a)] = root(b);
}

void Lists::join_node(const ir::Node& n) {
  bool holds_graphs = false;
  ir::for_each_subgraph(n, [&](const ir::Graph& sub) {
    const std::size_t skipped =
        n.op().ends_with("While") ? 0 : 1;  // the condition of an If, the index of a Case
    for (std::size_t i = 0; i < sub.inputs().size(); ++i) join(sub.inputs()[i], n.input(i + skipped));
    if (sub.outputs().size() == n.outputs().size())
      for (std::size_t i = 0; i < n.outputs().size(); ++i) join(sub.outputs()[i], n.outputs()[i]);
    holds_graphs = true;
  });
  if (n.op().ends_with("While"))
    for (std::size_t i = 0; i < n.outputs().size(); ++i) join(n.output(i), n.input(i));
  if (holds_graphs) return;
  for (std::size_t i = 0; i < n.outputs().size(); ++i) {
    if (!is_list(n.output(i))) continue;
    if (n.op() == "IdentityN") join(n.output(i), n.input(i));
    for (std::size_t k = 0; k < n.input_count() && n.op() != "IdentityN"; ++k) join(n.output(i), n.input(k));
  }
}

namespace {

bool encloses(const ir::Graph& around, const ir::Graph* g) {
  while (g && g != &around) g = g->parent();
  return g;
}

}  // namespace

// Whether TensorFlow runs the node whenever it makes a list of the family: not if it stands in a branch that
// no maker is in.
bool Lists::surely_runs(const ir::Node& reader, const Family& family) const {
  for (const ir::Graph* g = reader.graph(); g; g = g->parent()) {
    if (std::ranges::any_of(family.makers,
                            [&](const ir::Node* maker) { return encloses(*g, maker->graph()); }))
      return true;
    if (branches_.contains(g)) return false;
  }
  return true;
}

void Lists::learn(const ir::Node& n) {
  const Role& role = *role_of(n.op());
  Value* list = role.makes ? n.output() : n.input(0);
  if (!is_list(list)) return;
  Family& family = families_[root(list)];
  const Shape stated = n.input(role.shape) ? stated_by(n.input(role.shape)) : Shape();
  if (role.makes) {
    family.made_with = family.makers.empty() ? stated : common(family.made_with, stated);
    family.makers.push_back(&n);
    if (int_attr(n, "identical_element_shapes") != 0) family.has_one_shape = true;
  } else if (surely_runs(n, family)) {
    if (role.needs_one_shape) family.has_one_shape = true;
    if (const auto both = merge(family.element, stated)) family.element = *both;
  }
}

Shape Lists::Family::stated() const { return merge(made_with, element).value_or(made_with); }

Value* Lists::id_of(Value* list) const {
  for (auto at = next_.find(list); at != next_.end() && at->second != list; at = next_.find(list))
    list = at->second;
  return list;
}

const Lists::Family& Lists::family_of(Value* list) const {
  static const Family kUnknown;
  const auto at = families_.find(id_of(list));
  return at == families_.end() ? kUnknown : at->second;
}

TensorPtr Lists::stated_shape(Value* list) const {
  TensorPtr all;
  for (const ir::Node* maker : family_of(list).makers) {
    const Value* shape = through_identities(maker->input(role_of(maker->op())->shape));
    const TensorPtr& one = shape ? shape->constant() : nullptr;
    const bool same = one && (!all || (one->dims() == all->dims() && one->to_ints() == all->to_ints()));
    if (!same) return nullptr;
    all = one;
  }
  return all;
}

}  // namespace tfgraph
}  // namespace t2o
