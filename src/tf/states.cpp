#include "tf/states.h"

#include <unordered_set>

#include "tf/import_frame.h"

namespace t2o::tf {
namespace {

// The inner value that has the name; null: there is none.
Value* inner_holder(ir::Graph& main, const std::string& name) {
  Value* holder = nullptr;
  std::vector<ir::Graph*> work{&main};
  const auto look = [&](const Values& values) {
    for (Value* other : values)
      if (other && other->name() == name) holder = other;
  };
  while (!work.empty() && !holder) {
    ir::Graph& g = *work.back();
    work.pop_back();
    look(g.constants());
    if (&g != &main) look(g.inputs());
    for (ir::Node& n : g.nodes()) {
      look(n.outputs());
      ir::for_each_subgraph(n, [&](ir::Graph& inner) { work.push_back(&inner); });
    }
  }
  return holder;
}

// An inner tensor that has the name gets another one; an output keeps it.
bool take_name(ir::Graph& main, Value* v, const std::string& wanted) {
  main.rename(v, wanted);
  if (v->name() == wanted) return true;
  Value* holder = inner_holder(main, wanted);
  if (!holder || holder->is_graph_output()) return false;
  holder->graph()->rename(holder, wanted + "/inner");
  main.rename(v, wanted);
  return v->name() == wanted;
}

}  // namespace

std::vector<State> add_states(ir::Graph& main, const std::vector<Variable>& variables,
                              Diagnostics& diagnostics) {
  std::vector<State> states;
  std::vector<std::string> clashes;
  Values outputs = main.outputs();
  std::unordered_set<const Value*> taken(outputs.begin(), outputs.end());
  for (const Variable& v : variables) {
    if (!v.stored) continue;
    const std::string& name = v.initial->name();
    Value* after = v.last ? v.last : v.initial;
    if (!after->producer() || !taken.insert(after).second) after = add_identity(main, after, name);
    if (!take_name(main, after, name + "_out")) clashes.push_back(name);
    outputs.push_back(after);
    states.push_back({name, name + "_out", v.stored});
  }
  main.set_outputs(std::move(outputs));
  if (!clashes.empty())
    diagnostics.push_back(
        {.code = Code::bad_option,
         .message =
             "the new value of variable '" + clashes.front() + "' cannot be called '" + clashes.front() +
             "_out': an input or output has that name" +
             (clashes.size() == 1 ? "" : ". So it is with " + std::to_string(clashes.size() - 1) + " more"),
         .remedy = "give the inputs or outputs other names with --rename-inputs or --rename-outputs"});
  return states;
}

}  // namespace t2o::tf
