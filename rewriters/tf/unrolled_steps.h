#pragma once
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/graph.h"

// A loop over time that was drawn out: the same computation once for each step.
namespace t2o::rewriters {

// The nodes of a graph in execution order.
class NodeOrder {
 public:
  explicit NodeOrder(ir::Graph& g);
  std::size_t size() const { return nodes_.size(); }
  ir::Node* node(std::size_t at) const { return nodes_[at]; }  // null: it was erased
  // A node that came later has the place of the known node behind it.
  std::size_t place(const ir::Node& n) const;
  bool is_new(const ir::Node& n) const { return new_.contains(&n); }
  void add_before(std::size_t at);  // tells of the nodes that were put in front of it
  void erase(ir::Node& n);

 private:
  std::vector<ir::Node*> nodes_;
  std::unordered_map<const ir::Node*, std::size_t> places_;
  std::unordered_set<const ir::Node*> new_;
};

struct Unrolled {
  struct State {
    Value* initial = nullptr;
    bool is_own_zero = false;  // and that is zeros in the shape of something of the steps
    Values after;              // each step; the last one may not compute it: null
  };
  ir::Node* source = nullptr;  // the Unpack that hands out the rows of the input
  bool backwards = false;      // the last row comes first
  std::size_t steps = 0;
  std::vector<State> states;
  // The second step stands for all; these are in execution order.
  std::vector<ir::Node*> body;
  std::unordered_set<const ir::Node*> zeros;              // only the shape of what they read matters
  std::unordered_set<const ir::Node*> aside;              // those that depend on no state and no input
  std::unordered_map<const Value*, ir::Node*> items;      // rows of other Unpacks that it reads
  std::unordered_map<const Value*, Values> in_each_step;  // what its values are in each step; null as above

  std::size_t row(std::size_t step) const { return backwards ? steps - 1 - step : step; }
};

// Near-linear: the work that may be spent on one graph is a multiple of its size.
class UnrolledFinder {
 public:
  UnrolledFinder(const NodeOrder& order, std::string& why)
      : order_(&order), why_(&why), budget_(512 * order.size() + 100000) {}
  std::optional<Unrolled> find(ir::Node& unpack, bool backwards);

 private:
  static constexpr int kOutside = -1;
  enum class Kind : std::uint8_t { same, item, made };

  std::nullopt_t no(const char* why) {
    *why_ = why;
    return std::nullopt;
  }
  bool looks_like_steps(const ir::Node& unpack) const;
  void find_levels();
  int level(const Value* v) const;
  int level_of(const ir::Node& n) const;
  void find_keys();
  std::size_t key(const ir::Node& n) const;
  static std::size_t outside_key(const Value* v, int depth);
  bool find_states();
  const ir::Node* same_node(const ir::Node& n, std::size_t step, std::size_t input) const;
  bool is_same_outside(const Value* b, const Value* a, int depth) const;
  std::optional<std::size_t> made_of(const Unrolled::State& s) const;
  bool follow(Value* first);
  bool match_step(std::size_t step);
  bool match(Value* b, Value* a, int depth);
  bool match_producers(const Value* b, const Value* a, int depth);
  bool is_kind(const Value* b, Kind kind) { return kinds_.try_emplace(b, kind).first->second == kind; }

  const NodeOrder* order_;
  std::string* why_;
  std::size_t budget_;

  Unrolled found_;
  std::size_t begin_ = 0;  // of levels_
  std::unordered_set<const ir::Node*> own_zeros_;
  std::vector<int> levels_;                    // the last step that a node depends on
  std::vector<std::vector<ir::Node*>> nodes_;  // of each step but the first
  std::vector<std::unordered_map<std::size_t, std::vector<ir::Node*>>> by_key_;
  std::unordered_map<const ir::Node*, std::size_t> keys_;
  std::unordered_map<const Value*, std::size_t> state_of_;  // what the first step leaves
  std::unordered_map<const Value*, Kind> kinds_;            // of what comes from outside
  std::unordered_map<const Value*, Value*> matched_;
  std::size_t step_ = 0;
};

}  // namespace t2o::rewriters
