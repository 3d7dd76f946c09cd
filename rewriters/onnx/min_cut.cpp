#include "rewriters/onnx/min_cut.h"

#include <algorithm>

namespace t2o::rewriters {

void MinCut::cost_if(Variable one, Variable zero, std::int64_t cost) {
  if (one == zero || one == kZero || zero == kOne || cost == 0) return;
  edges_.push_back({zero, heads_[one], cost});
  heads_[one] = edges_.size() - 1;
  edges_.push_back({one, heads_[zero], 0});
  heads_[zero] = edges_.size() - 1;
}

void MinCut::cost_of(Variable a, Variable b, const std::array<std::array<std::int64_t, 2>, 2>& cost) {
  const auto [none, only_b] = cost[0];
  const auto [only_a, both] = cost[1];
  const auto add_if_one = [this](Variable v, std::int64_t more) {
    more > 0 ? cost_if(v, kZero, more) : cost_if(kOne, v, -more);
  };
  if (a == kZero) return add_if_one(b, only_b - none);
  add_if_one(a, only_a - none);
  if (b == kZero) return;
  add_if_one(b, both - only_a);
  cost_if(b, a, std::max<std::int64_t>(only_b + only_a - none - both, 0));
}

void MinCut::solve() {
  while (find_levels()) {
    current_ = heads_;
    while (augment()) {
    }
  }
}

// Distances from kOne over the edges with room; false when kZero is out of reach.
bool MinCut::find_levels() {
  level_.assign(heads_.size(), -1);
  std::vector<Variable> queue{kOne};
  level_[kOne] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (std::size_t e = heads_[queue[i]]; e != kNone; e = edges_[e].next)
      if (edges_[e].room > 0 && level_[edges_[e].to] < 0) {
        level_[edges_[e].to] = level_[queue[i]] + 1;
        queue.push_back(edges_[e].to);
      }
  return level_[kZero] >= 0;
}

// One more path down the levels, by a walk with its own stack.
bool MinCut::augment() {
  std::vector<std::size_t> path;
  Variable at = kOne;
  while (at != kZero) {
    std::size_t& e = current_[at];
    while (e != kNone && (edges_[e].room == 0 || level_[edges_[e].to] != level_[at] + 1)) e = edges_[e].next;
    if (e != kNone) {
      path.push_back(e);
      at = edges_[e].to;
    } else {
      if (path.empty()) return false;
      at = edges_[path.back() ^ 1].to;
      path.pop_back();
      current_[at] = edges_[current_[at]].next;
    }
  }
  std::int64_t flow = kForbidden;
  for (const std::size_t e : path) flow = std::min(flow, edges_[e].room);
  for (const std::size_t e : path) {
    edges_[e].room -= flow;
    edges_[e ^ 1].room += flow;
  }
  return true;
}

}  // namespace t2o::rewriters
