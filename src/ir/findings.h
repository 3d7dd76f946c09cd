#pragma once
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "ir/graph.h"

namespace t2o::ir {

// What others found out about the values of a graph, of its subgraphs and of the graphs around it, which share it. It is dropped
// when an existing node or constant changes. New nodes leave it, and so does replace_all_uses(), which takes an equal value.
std::shared_ptr<void>& findings_of(const Graph&);

// Finds a fact about a value from the same fact about other values, such as those it is computed from. Each value is looked at
// once, whatever the number of paths to it. Chains may be of any length, because nothing recurs.
template <class Fact> class Findings {
 public:
  using Ask = std::function<Fact(const Value*)>;
  // While a fact that find() asks for is missing, it gets `unknown`; once the fact is there, find() is called again.
  explicit Findings(Fact unknown) : unknown_(unknown) {}

  // find(v, ask): computes the fact about v. It calls ask() for other values, which must not depend on v.
  template <class Find> Fact of(const Value* wanted, const Find& find) {
    if (const auto it = found_.find(wanted); it != found_.end()) return it->second;
    std::vector<const Value*> todo = {wanted};
    const Ask ask = [&](const Value* v) {
      const auto it = found_.find(v);
      if (it != found_.end()) return it->second;
      todo.push_back(v);
      return unknown_;
    };
    while (!todo.empty()) {
      const Value* v = todo.back();
      const std::size_t before = todo.size();
      if (!found_.contains(v)) {
        const Fact fact = find(v, ask);
        if (todo.size() != before) continue;
        found_.emplace(v, fact);
      }
      todo.pop_back();
    }
    return found_.at(wanted);
  }

 private:
  const Fact unknown_;
  std::unordered_map<const Value*, Fact> found_;
};

}  // namespace t2o::ir
