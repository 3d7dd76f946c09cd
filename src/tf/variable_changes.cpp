#include "tf/variable_changes.h"

namespace t2o::tf {

bool takes_old_value(std::string_view op) { return op != "Assign" && op != "AssignVariableOp"; }

void Changes::select(const Body& body, const std::vector<Access>& accesses, const std::vector<Key>& variables,
                     const std::set<Key>& in_loops) {
  if (!body.guarded.empty()) return;
  std::unordered_map<Key, std::vector<std::uint32_t>> changes;
  std::set<Key> others;  // changed by functions
  for (const Access& a : accesses) {
    if (!a.write) continue;
    changes[a.variable].push_back(a.node);
    if (body.ops[a.node]->kind != OpKind::write_variable) others.insert(a.variable);
  }
  for (const Key k : variables) {
    const std::vector<std::uint32_t>& all = changes[k];
    if (others.contains(k) || in_loops.contains(k) || nodes_.size() + all.size() > kMost) continue;
    for (const std::uint32_t n : all) {
      of_variable_[k].set(nodes_.size());
      in_place_.set(nodes_.size(), takes_old_value(body.node(n).op));
      nodes_.push_back(n);
    }
  }
}

void Changes::spread(const Body& body, const Walk& walk) {
  std::unordered_map<std::uint32_t, std::size_t> bit;
  for (std::size_t i = 0; i < nodes_.size(); ++i) bit[nodes_[i]] = i;
  before_.assign(body.size(), {});
  for (const std::uint32_t n : walk.order) {
    Set by_now = before_[n];
    if (const auto own = bit.find(n); own != bit.end()) by_now.set(own->second);
    walk.for_readers(n, [&](std::uint32_t r) { before_[r] |= by_now; });
  }
}

// None where two of them come in no order.
std::optional<std::uint32_t> Changes::last_of(const Set& made) const {
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (made[i] && ((before_[nodes_[i]] & made) | Set{}.set(i)) == made) return nodes_[i];
  return {};
}

}  // namespace t2o::tf
