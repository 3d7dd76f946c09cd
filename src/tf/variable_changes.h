#pragma once
#include <bitset>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tf/body.h"

// What a body does to its variables, and in which order.
namespace t2o::tf {

// A variable as a body sees it: an argument's number, or behind the arguments the number of its node.
using Key = std::size_t;
constexpr Key kNone = static_cast<Key>(-1), kUnasked = static_cast<Key>(-2);

struct Access {
  std::uint32_t node;
  Key variable;
  bool write;
  std::optional<std::uint32_t>
      through;  // the change whose output, a reference to the variable, the node takes
  bool operator==(const Access&) const = default;
};

// The nodes that run in an order in which they may, and who waits for each.
struct Walk {
  std::vector<std::uint32_t> order, first, readers;
  template <class F>
  void for_readers(std::uint32_t n, F&& f) const {
    for (std::uint32_t r = first[n]; r < first[n + 1]; ++r) f(readers[r]);
  }
};

bool takes_old_value(std::string_view op);  // the change depends on what was there

// The changes of a body's variables that can be followed, and which of them are made before a node runs.
class Changes {
 public:
  static constexpr std::size_t kMost = 256;  // in one body
  using Set = std::bitset<kMost>;

  void select(const Body&, const std::vector<Access>&, const std::vector<Key>& variables,
              const std::set<Key>& in_loops);
  void spread(const Body&, const Walk&);
  bool none() const { return nodes_.empty(); }
  bool follows(Key k) const { return of_variable_.contains(k); }
  Set made_before(std::uint32_t node, Key k) const { return before_[node] & of_variable_.at(k); }
  Set in_place() const { return in_place_; }
  std::optional<std::uint32_t> last_of(const Set&) const;

 private:
  std::vector<std::uint32_t> nodes_;  // of each bit
  std::unordered_map<Key, Set> of_variable_;
  Set in_place_;             // they change the variable's memory; others may give it new one
  std::vector<Set> before_;  // of each node of the body
};

}  // namespace t2o::tf
