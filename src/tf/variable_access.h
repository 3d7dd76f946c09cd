#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "tf/body.h"

// Which variables the nodes of a body read and write, and in which order the nodes can run.
namespace t2o::tf {

// A variable as a body sees it: the number of an argument, or kFirstGlobal + the number of a variable of the model.
using Key = std::size_t;
constexpr Key kNone = static_cast<Key>(-1), kUnasked = static_cast<Key>(-2), kFirstGlobal = Key{1} << 32;
constexpr Key kUnknownHandle = static_cast<Key>(-3);  // of a variable, but the data decides of which one

struct Access {
  Key variable;
  bool write;
};

bool takes_old_value(std::string_view write);  // the value that the op leaves depends on the value before
bool is_sum(std::string_view write);           // it adds or subtracts: two such writes give the same in both orders

// Calls f(node, data edge) for the sources of a node's data and control edges. A loop's back edges say what runs, but not in which
// order.
template <class F>
void for_each_source(const Body& body, std::size_t n, F&& f, bool back_edges = false) {
  for (const InputRef& in : body.inputs_of(n))
    if (in.node >= 0 && (back_edges || !is_back_edge(body, n, in))) f(static_cast<std::uint32_t>(in.node), &in);
  for (const std::string_view ref : body.node(n).inputs) {
    if (!ref.starts_with('^')) continue;
    if (const auto it = body.index.find(ref.substr(1))) f(*it, static_cast<const InputRef*>(nullptr));
  }
}

// The variables of the model. Nodes of one container and name are one variable, in whatever function they are.
class VariableNames {
 public:
  explicit VariableNames(Owner owner) : owner_(std::move(owner)) {}
  Key key_of(const Body&, std::size_t node);
  std::string name(const Body&, Key) const;
  bool is_handle(Key k) const { return k < kFirstGlobal || k == kUnknownHandle || variables_.at(k - kFirstGlobal).is_handle; }
  const std::string& identity(Key k) const { return variables_.at(k - kFirstGlobal).identity; }

 private:
  struct Variable {
    std::string node, identity;
    bool is_handle;  // else a reference variable of TensorFlow 1
  };
  Owner owner_;
  std::vector<Variable> variables_;
  std::unordered_map<std::string, std::size_t> by_name_;
};

// The accesses of one body.
class Accesses {
 public:
  using ResultOf = std::function<Key(std::uint32_t node, std::size_t output)>;  // of a node that runs functions
  Accesses(const Body&, VariableNames&, ResultOf);
  std::vector<Access> of(std::uint32_t node);  // of a node that calls no function
  Key variable_behind(InputRef);
  bool enters_loop(Key k) const { return entered_.contains(k); }  // it goes through an Enter that was looked at

 private:
  const Body* body_;
  VariableNames* names_;
  ResultOf result_of_;
  std::unordered_map<std::uint64_t, Key> by_output_;  // the same as `behind_`, of nodes whose outputs differ
  std::unordered_set<Key> entered_;
  std::vector<Key> behind_;  // of variables and pass-through nodes: what variable_behind() found
};

// The nodes that run, sources first. A node that writes variables comes as late as the edges allow: nodes that no edge puts behind it
// come before it.
std::vector<std::uint32_t> order_of(const Body&, const std::vector<bool>& runs, const std::vector<bool>& writes);

// Are the nodes of each pair connected, so that the first always runs before the second? `order`: sources first.
std::vector<bool> are_ordered(const Body&, const std::vector<std::uint32_t>& order,
                              const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs);

}  // namespace t2o::tf
