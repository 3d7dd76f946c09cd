#include "tf/frozen_seeds.h"

#include <unordered_set>

#include "ir/nesting.h"
#include "tf/op_defs.h"
#include "tfgraph/drawn.h"

namespace t2o::tf {
namespace {

constexpr std::size_t kMostSteps = 10'000;  // from a draw to its seed

// The inputs from which a stateless operator draws; empty: it draws nothing.
Values seeds_of(const ir::Node& n) {
  if (!n.op().starts_with("Stateless") || n.op().starts_with("StatelessRandomGet")) return {};
  const OpDef* def = find_op_def(n.op());
  Values seeds;
  for (std::size_t i = 0; def && i < def->inputs.size() && i < n.input_count(); ++i)
    for (const char* name : {"seed", "key", "counter"})
      if (def->inputs[i].name == name && n.input(i)) seeds.push_back(n.input(i));
  return seeds;
}

class Search {
 public:
  explicit Search(const std::unordered_map<const Value*, std::string>& variables) : variables_(variables) {}

  std::vector<Draw> run(const ir::Graph& whole) {
    ir::for_each_node(whole, [&](const ir::Node& n) {
      ir::for_each_subgraph(n, [&](const ir::Graph& inner) { holder_[&inner] = &n; });
      const Values seeds = seeds_of(n);
      if (const std::string* variable = seeds.empty() ? nullptr : variable_of(seeds))
        draws_.push_back({&n, *variable, name_of(n, seeds)});
    });
    return std::move(draws_);
  }

 private:
  // Null: the seed is no variable's value, or depends on something else that is not the same in each run.
  const std::string* variable_of(const Values& seeds) const {
    const std::string* found = nullptr;
    std::vector<const Value*> work(seeds.begin(), seeds.end());
    std::unordered_set<const Value*> seen;
    while (!work.empty()) {
      const Value* v = work.back();
      work.pop_back();
      if (!v || !seen.insert(v).second) continue;
      if (seen.size() > kMostSteps) return nullptr;
      if (const auto it = variables_.find(v); it != variables_.end()) found = &it->second;
      if (v->is_graph_input()) {
        const auto holder = holder_.find(v->graph());
        const Value* outer = holder == holder_.end() ? nullptr : given(*holder->second, *v);
        if (!outer) return nullptr;
        work.push_back(outer);
      }
      if (!v->producer()) continue;
      const OpDef* def = find_op_def(v->producer()->op());
      if (def && def->stateful && v->producer()->op() != "While" && v->producer()->op() != "If")
        return nullptr;
      work.insert(work.end(), v->producer()->inputs().begin(), v->producer()->inputs().end());
    }
    return found;
  }

  // The input of a loop or branch that is this one of its subgraph: the last ones, in their order.
  static const Value* given(const ir::Node& holder, const Value& input) {
    const Values& inputs = input.graph()->inputs();
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i] == &input && holder.input_count() >= inputs.size())
        return holder.input(holder.input_count() - inputs.size() + i);
    return nullptr;
  }

  std::string name_of(const ir::Node& n, const Values& seeds) const {
    const Value* v = seeds.front();
    if (v->producer() && v->producer()->op().starts_with("StatelessRandomGetKey"))
      v = v->producer()->input(0);
    const ir::Node* p = v->producer();
    const bool is_main = p && !holder_.contains(p->graph()) && !holder_.contains(n.graph());
    if (!is_main || p->op() != p->origin().op || p->attr(tfgraph::kDrawn)) return "";
    const bool is_short =  // without the levels that only tell of calls
        !p->origin().function.empty() && p->name().find('/') != std::string::npos;
    return (is_short ? p->name() : p->origin().node) + ":" + std::to_string(v->index());
  }

  const std::unordered_map<const Value*, std::string>& variables_;
  std::unordered_map<const ir::Graph*, const ir::Node*> holder_;
  std::vector<Draw> draws_;
};

}  // namespace

std::vector<Draw> find_draws(const ir::Graph& g,
                             const std::unordered_map<const Value*, std::string>& variables) {
  return variables.empty() ? std::vector<Draw>() : Search(variables).run(g);
}

}  // namespace t2o::tf
