#include "tf/states.h"

#include <unordered_map>
#include <unordered_set>

#include "ir/nesting.h"
#include "tf/region.h"

namespace t2o::tf {
namespace {

// The inner values by their names.
class InnerNames {
 public:
  explicit InnerNames(ir::Graph& main) : main_(main) {}

  // A value of the main graph takes the name. An inner value that has it gets another one; an output keeps
  // it.
  bool take(Value* v, const std::string& wanted) {
    main_.rename(v, wanted);
    if (v->name() == wanted) return true;
    if (holders_.empty()) find_holders();
    const auto at = holders_.find(wanted);
    Value* holder = at == holders_.end() || at->second->name() != wanted ? nullptr : at->second;
    if (!holder || holder->is_graph_output()) return false;
    holder->graph()->rename(holder, wanted + "/inner");
    main_.rename(v, wanted);
    return v->name() == wanted;
  }

 private:
  void find_holders() {
    const auto add = [&](const Values& values) {
      for (Value* v : values)
        if (v) holders_[v->name()] = v;
    };
    add(main_.constants());
    ir::for_each_node(main_, [&](ir::Node& n) {
      add(n.outputs());
      ir::for_each_subgraph(n, [&](ir::Graph& inner) {
        add(inner.constants());
        add(inner.inputs());
      });
    });
  }

  ir::Graph& main_;
  std::unordered_map<std::string, Value*> holders_;
};

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

}  // namespace

std::vector<State> add_states(ir::Graph& main, const std::vector<Variable>& variables,
                              Diagnostics& diagnostics) {
  std::vector<State> states;
  Strings clashes;
  Values outputs = main.outputs();
  std::unordered_set<const Value*> taken(outputs.begin(), outputs.end());
  InnerNames names(main);
  std::unordered_set<std::string> names_of_variables;
  for (const Variable& v : variables)
    if (v.stored) names_of_variables.insert(v.initial->name());
  for (const Variable& v : variables) {
    if (!v.stored) continue;
    const std::string wanted = v.initial->name() + "_out";
    Value* after = v.last ? v.last : v.initial;
    if (!after->producer() || !taken.insert(after).second)
      after = add_identity(main, after, v.initial->name());
    if (!names.take(after, wanted)) {
      if (names_of_variables.contains(wanted))
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
