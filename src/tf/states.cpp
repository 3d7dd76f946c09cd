#include "tf/states.h"

#include <algorithm>
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

// Two names that are free, for a variable whose own ones others have.
void take_free_names(ir::Graph& main, Value* input, Value* output) {
  const std::string name = input->name();
  for (int k = 2;; ++k) {
    const std::string other = name + "_" + std::to_string(k);
    main.rename(input, other);
    main.rename(output, other + "_out");
    if (input->name() == other && output->name() == other + "_out") return;
  }
}

bool is_name_of_variable(const std::vector<Variable>& variables, const std::string& name) {
  return std::any_of(variables.begin(), variables.end(),
                     [&](const Variable& v) { return v.stored && v.initial->name() == name; });
}

}  // namespace

std::vector<State> add_states(ir::Graph& main, const std::vector<Variable>& variables,
                              Diagnostics& diagnostics) {
  std::vector<State> states;
  Strings clashes;
  Values outputs = main.outputs();
  std::unordered_set<const Value*> taken(outputs.begin(), outputs.end());
  for (const Variable& v : variables) {
    if (!v.stored) continue;
    const std::string wanted = v.initial->name() + "_out";
    Value* after = v.last ? v.last : v.initial;
    if (!after->producer() || !taken.insert(after).second)
      after = add_identity(main, after, v.initial->name());
    if (!take_name(main, after, wanted)) {
      if (is_name_of_variable(variables, wanted))
        take_free_names(main, v.initial, after);
      else
        clashes.push_back(v.initial->name());
    }
    const std::string& own = v.ref.shared_name.empty() ? v.ref.node : v.ref.shared_name;
    if (v.initial->name() != own)
      diagnostics.push_back({.severity = Severity::warning,
                             .code = Code::bad_option,
                             .message = "variable '" + own + "' is the input '" + v.initial->name() +
                                        "': another input or output has its name",
                             .origin = {v.ref.node, v.ref.op, ""}});
    outputs.push_back(after);
    states.push_back({v.initial->name(), after->name(), v.stored});
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
