#include "tf/variable_access.h"

#include <algorithm>
#include <bitset>
#include <deque>
#include <functional>
#include <queue>

#include "tf/variables.h"

namespace t2o::tf {
namespace {

// TensorFlow 1's writes return the variable itself: a reader of that reads what the variable holds by then.
bool gives_back_variable(const OpInfo& op) {
  return op.kind == OpKind::write_variable && op.def && !op.def->outputs.empty() && op.def->outputs[0].is_ref;
}

}  // namespace

bool takes_old_value(std::string_view op) { return op != "Assign" && op != "AssignVariableOp"; }

bool is_sum(std::string_view op) {
  return contains({"AssignAdd", "AssignSub", "AssignAddVariableOp", "AssignSubVariableOp"}, op);
}

Key VariableNames::key_of(const Body& body, std::size_t node) {
  const VariableRef ref = variable_ref(body.node(node), owner_);
  const auto [it, fresh] = by_name_.try_emplace(identity_of(ref), variables_.size());
  if (fresh) variables_.push_back({ref.node, it->first, body.ops[node]->kind == OpKind::variable_handle});
  return kFirstGlobal + it->second;
}

std::string VariableNames::name(const Body& body, Key k) const {
  if (k == kUnknownHandle) return "?";
  return k < kFirstGlobal ? body.signature->inputs[k].name : variables_.at(k - kFirstGlobal).node;
}

Accesses::Accesses(const Body& body, VariableNames& names, ResultOf result_of)
    : body_(&body), names_(&names), result_of_(std::move(result_of)), behind_(body.size(), kUnasked) {}

std::vector<Access> Accesses::of(std::uint32_t n) {
  std::vector<Access> found;
  const OpKind kind = body_->ops[n]->kind;
  const auto inputs = body_->inputs_of(n);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Key k = variable_behind(inputs[i]);
    if (k == kNone || (handed_on_input(kind, 0) && names_->is_handle(k))) continue;
    found.push_back({k, kind == OpKind::write_variable && i == 0});
  }
  return found;
}

Key Accesses::variable_behind(InputRef in) {
  std::vector<InputRef> passed;
  std::size_t values = 0;  // the first so many of them hand on what a reference variable held there
  bool entered = false;
  const auto has_outputs = [&](std::size_t n) {  // that differ
    return body_->ops[n]->kind == OpKind::pass_through_each || runs_functions(body_->ops[n]->kind);
  };
  const auto known = [&](const InputRef& at) -> Key& {
    const auto n = static_cast<std::size_t>(at.node);
    if (!has_outputs(n)) return behind_[n];
    const std::uint64_t place = n << 32 | static_cast<std::uint32_t>(at.output);
    return by_output_.try_emplace(place, kUnasked).first->second;
  };
  const auto found = [&](Key k) {  // remembered: else a long chain is walked from each of its nodes
    const bool is_value = k != kNone && values > 0 && !names_->is_handle(k);
    for (std::size_t i = 0; i < passed.size(); ++i) known(passed[i]) = is_value && i < values ? kNone : k;
    if (entered && k != kNone) entered_.insert(k);
    return is_value ? kNone : k;
  };
  for (std::size_t steps = 0; steps <= body_->size(); ++steps) {
    if (in.argument >= 0) return found(static_cast<Key>(in.argument));
    if (in.node < 0) return found(kNone);
    const auto n = static_cast<std::size_t>(in.node);
    const OpKind kind = body_->ops[n]->kind;
    if (const Key k = known(in); k != kUnasked) return found(k);
    if (is_variable(kind)) return found(known(in) = names_->key_of(*body_, n));
    if (runs_functions(kind)) {
      const Key k = result_of_(static_cast<std::uint32_t>(n), static_cast<std::size_t>(in.output));
      return found(known(in) = k);
    }
    const auto inputs = body_->inputs_of(n);
    const bool writes = gives_back_variable(*body_->ops[n]);
    const auto k = writes ? 0 : handed_on_input(kind, static_cast<std::size_t>(in.output));
    if (!k || *k >= inputs.size()) return found(kNone);
    entered = entered || kind == OpKind::enter;
    passed.push_back(in);
    if (!writes && !body_->node(n).op.starts_with("Ref")) values = passed.size();
    in = inputs[*k];
  }
  return found(kNone);
}

std::vector<std::uint32_t> order_of(const Body& body, const std::vector<bool>& runs,
                                    const std::vector<bool>& writes) {
  std::vector<std::uint32_t> missing(body.size()), first(body.size() + 1);
  const auto for_each_edge = [&](auto&& f) {
    for (std::uint32_t n = 0; n < body.size(); ++n)
      if (runs[n])
        for_each_source(body, n, [&](std::uint32_t source, const InputRef*) {
          if (runs[source]) f(source, n);
        });
  };
  for_each_edge([&](std::uint32_t source, std::uint32_t n) {
    ++missing[n];
    ++first[source + 1];
  });
  for (std::size_t n = 0; n < body.size(); ++n) first[n + 1] += first[n];
  std::vector<std::uint32_t> readers(first.back()), fill(first.begin(), first.end() - 1);
  for_each_edge([&](std::uint32_t source, std::uint32_t n) { readers[fill[source]++] = n; });
  std::deque<std::uint32_t> ready;
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, std::greater<>> late;
  const auto add = [&](std::uint32_t n) {
    if (writes[n])
      late.push(n);
    else
      ready.push_back(n);
  };
  for (std::uint32_t n = 0; n < body.size(); ++n)
    if (runs[n] && missing[n] == 0) add(n);
  std::vector<std::uint32_t> order;
  while (!ready.empty() || !late.empty()) {
    const std::uint32_t n = ready.empty() ? late.top() : ready.front();
    if (ready.empty())
      late.pop();
    else
      ready.pop_front();
    order.push_back(n);
    for (std::uint32_t r = first[n]; r < first[n + 1]; ++r)
      if (--missing[readers[r]] == 0) add(readers[r]);
  }
  return order;
}

std::vector<bool> are_ordered(const Body& body, const std::vector<std::uint32_t>& order,
                              const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs) {
  constexpr std::size_t kAtOnce = 256;
  std::vector<bool> result(pairs.size());
  std::vector<std::size_t> open;  // most pairs are connected by one edge
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    for_each_source(body, pairs[i].second, [&](std::uint32_t source, const InputRef*) {
      result[i] = result[i] || source == pairs[i].first;
    });
    if (!result[i]) open.push_back(i);
  }
  for (std::size_t from = 0; from < open.size(); from += kAtOnce) {
    const std::size_t count = std::min(kAtOnce, open.size() - from);
    std::unordered_map<std::uint32_t, std::bitset<kAtOnce>> own;
    for (std::size_t i = 0; i < count; ++i) own[pairs[open[from + i]].first].set(i);
    std::vector<std::bitset<kAtOnce>> before(body.size());
    for (const std::uint32_t n : order)
      for_each_source(body, n, [&](std::uint32_t source, const InputRef*) {
        before[n] |= before[source];
        if (const auto it = own.find(source); it != own.end()) before[n] |= it->second;
      });
    for (std::size_t i = 0; i < count; ++i) result[open[from + i]] = before[pairs[open[from + i]].second][i];
  }
  return result;
}

}  // namespace t2o::tf
