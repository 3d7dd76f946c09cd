#pragma once
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

namespace t2o::rewriters {

// Chooses 0 or 1 for each variable so that the total cost is minimal (Dinic's maximum flow).
class MinCut {
 public:
  using Variable = std::size_t;
  static constexpr Variable kZero = 0, kOne = 1;  // the constants
  static constexpr std::int64_t kForbidden = std::numeric_limits<std::int64_t>::max() / 4;

  MinCut() : heads_(2, kNone) {}
  Variable add() { return heads_.push_back(kNone), heads_.size() - 1; }
  void cost_if(Variable one, Variable zero, std::int64_t cost);  // adds `cost` if `one` is 1 and `zero` is 0
  // Adds cost[a][b]. Of a table that no cut has, the nearest one that does not make (0, 1) cheaper.
  void cost_of(Variable a, Variable b, const std::array<std::array<std::int64_t, 2>, 2>& cost);
  void solve();
  bool is_one(Variable v) const { return level_[v] >= 0; }  // after solve(); of solutions with equal cost, the one with the fewest ones

 private:
  static constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  struct Edge {
    Variable to;
    std::size_t next;
    std::int64_t room;
  };
  bool find_levels();
  bool augment();

  std::vector<std::size_t> heads_, current_;
  std::vector<Edge> edges_;  // edge e and its reverse e ^ 1
  std::vector<int> level_;
};

}  // namespace t2o::rewriters
