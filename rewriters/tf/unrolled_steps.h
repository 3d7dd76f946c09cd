#pragma once
#include <algorithm>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rewriters/tf/node_order.h"

// An unrolled loop over time: the same computation once for each step.
namespace t2o::rewriters {

struct Unrolled {
  struct State {
    Value* initial = nullptr;
    bool is_own_zero = false;  // `initial` is zeros with the shape of a value of the steps
    Values after;              // the state after each step; null if the last step does not compute it
  };
  ir::Node* source = nullptr;  // the Unpack that hands out the rows of the input
  bool backwards = false;      // the last row comes first
  std::size_t steps = 0;
  std::vector<State> states;
  // The nodes of the second step, which stands for all, in execution order.
  std::vector<ir::Node*> body;
  std::unordered_set<const ir::Node*> zeros;              // nodes that use only the shape of their input
  std::unordered_set<const ir::Node*> aside;              // nodes that depend on no state and no input
  std::vector<std::pair<const Value*, ir::Node*>> items;  // rows of other Unpacks that the step reads
  Values numbers;     // constants that equal the number of the step in each step
  Values read_zeros;  // the results of `zeros` that each step reads
  std::unordered_map<const Value*, Values> in_each_step;  // each value of the second step as it is in every step; null as above

  std::size_t row(std::size_t step) const { return backwards ? steps - 1 - step : step; }
};

// Looks at the nodes that depend on an Unpack, no further than its steps are deep. The work for one graph is limited to a
// multiple of its size.
class UnrolledFinder {
 public:
  UnrolledFinder(const NodeOrder& order, std::string& why)
      : order_(&order), why_(&why), budget_(64 * order.size() + 100000), marks_(order.size()) {}
  std::optional<Unrolled> find(ir::Node& unpack, bool backwards);

 private:
  static constexpr int kOutside = -1;
  enum class Kind : std::uint8_t { same, item, made, number };
  struct Mark {
    int level = kOutside;  // the last step that the node depends on
    int depth = 0;         // the most nodes of this level in a row up to it
    bool is_reached = false, is_done = false, has_key = false;
    std::size_t key = 0;
  };

  struct Trial {  // what match() notes
    std::unordered_map<const Value*, Value*> matched;
    std::unordered_map<const Value*, Kind> kinds;
    std::unordered_set<const Value*> items;
    std::size_t item_count, number_count, zero_count;
  };

  std::nullopt_t no(const char* why) {
    *why_ = why;
    return std::nullopt;
  }
  std::nullopt_t too_big() { return no("the graph is too big to look at all its sequences"); }
  void spend(std::size_t work) { budget_ -= std::min(work, budget_); }

  bool looks_like_steps(const ir::Node& unpack) const;
  void forget();
  int level(const Value* v) const;
  int level_of(const ir::Node& n) const;
  void reach_readers(const ir::Node& n, int level, int depth);
  void reach(const ir::Node& n, int level, int depth);
  void visit(std::size_t at);
  bool find_levels();
  bool has_second_step() const;
  void find_keys();
  const Mark* keyed(const ir::Node& n) const;  // null: it has no key
  std::size_t key(const ir::Node& n) const;
  static std::size_t outside_key(const Value* v, int depth);
  bool find_states();
  const ir::Node* same_node(const ir::Node& n, std::size_t step, std::size_t input);
  bool is_same_outside(const Value* b, const Value* a, int depth) const;
  std::optional<std::size_t> made_of(const Unrolled::State& s) const;
  bool follow(Value* first);
  void find_tails();
  Trial trial() const;
  void undo(const Trial&);
  bool match_tail(Value* b);
  bool match_step(std::size_t step);
  bool match(Value* b, Value* a, int depth);
  bool match_constants(Value* b, const Value* a);
  bool match_same(Value* b);
  bool match_producers(const Value* b, const Value* a, int depth);
  bool is_kind(const Value* b, Kind kind) { return kinds_.try_emplace(b, kind).first->second == kind; }

  const NodeOrder* order_;
  std::string* why_;
  std::size_t budget_;

  Unrolled found_;
  std::unordered_set<const ir::Node*> own_zeros_;
  std::vector<Mark> marks_;           // by place
  std::vector<std::size_t> reached_;  // those that are no longer blank
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> waiting_;
  std::size_t first_waiting_ = 0;  // how many of them may be of the first two levels
  int deepest_ = 0;                // in the second one
  std::unordered_set<const ir::Node*> reached_new_;
  std::vector<std::vector<ir::Node*>> nodes_;  // of each step
  std::vector<std::unordered_map<std::size_t, std::vector<ir::Node*>>> by_key_;
  std::unordered_map<const Value*, std::size_t> state_of_;  // what the first step leaves
  Values tails_;                                            // what the second one gives beside its states
  std::unordered_map<const Value*, Kind> kinds_;            // of what comes from outside
  std::unordered_map<const Value*, Value*> matched_;
  std::unordered_set<const Value*> items_;
  std::size_t step_ = 0;
};

}  // namespace t2o::rewriters
