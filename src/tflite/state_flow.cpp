#include <algorithm>

#include "support/wire.h"
#include "tflite/callees.h"
#include "tflite/lowering_scope.h"

// Which states a subgraph reads and changes. Loops and branches take these as inputs and give them as
// outputs.
namespace t2o::tflite {
namespace {

constexpr std::size_t kDeepestNesting = 48;

void check_depth(std::size_t depth, std::size_t subgraph, const Model& model) {
  if (depth >= kDeepestNesting)
    fail(Code::bad_model, "subgraph '" + model.subgraph_name(subgraph) + "' is nested too deep");
}

}  // namespace

Callees callees(B op, const schema::Operator& o) {
  switch (op) {
    case B::CALL:
      if (const auto* t = o.builtin_options_as_CallOptions())
        return {{static_cast<std::int64_t>(t->subgraph())}, 0};
      break;
    case B::IF:
      if (const auto* t = o.builtin_options_as_IfOptions())
        return {{t->then_subgraph_index(), t->else_subgraph_index()}, 1};
      break;
    case B::WHILE:
      if (const auto* t = o.builtin_options_as_WhileOptions())
        return {{t->cond_subgraph_index(), t->body_subgraph_index()}, 0};
      break;
    case B::STABLEHLO_WHILE:
      if (const auto* t = o.builtin_options2_as_StablehloWhileOptions())
        return {{t->cond_subgraph_index(), t->body_subgraph_index()}, 0};
      break;
    case B::STABLEHLO_COMPOSITE:
      if (const auto* t = o.builtin_options2_as_StableHLOCompositeOptions())
        return {{t->decomposition_subgraph_index()}, 0};
      break;
    case B::STABLEHLO_CASE:
      if (const auto* t = o.builtin_options2_as_StablehloCaseOptions()) {
        const auto indices = items(t->branch_subgraph_indices());
        return {{indices.begin(), indices.end()}, 1};
      }
      break;
    default:
      break;
  }
  return {};
}

Nested::Nested(std::vector<std::size_t>& open, std::size_t subgraph, const Model& model) : open_(open) {
  if (std::find(open.begin(), open.end(), subgraph) != open.end())
    fail(Code::bad_model, "subgraph '" + model.subgraph_name(subgraph) + "' calls itself");
  check_depth(open.size(), subgraph, model);
  open.push_back(subgraph);
}

bool Lowering::touches_states(std::size_t subgraph, bool changes, std::size_t depth) const {
  check_depth(depth, subgraph, *model_);
  const auto [known, is_new] =
      touches_.emplace(std::pair(subgraph, changes), false);  // one that calls itself is refused later
  if (!is_new) return known->second;
  const auto* operators = model_->subgraph(subgraph).operators();
  bool any = false;
  for (unsigned k = 0; k < count(operators) && !any; ++k)
    any = touches_states(subgraph, *operators->Get(k), changes, depth);
  touches_[{subgraph, changes}] = any;
  return any;
}

bool Lowering::touches_states(std::size_t subgraph, const schema::Operator& o, bool changes,
                              std::size_t depth) const {
  const B op = model_->builtin(o);
  if (changes ? op == B::ASSIGN_VARIABLE || op == B::CALL_ONCE || op == B::HASHTABLE_IMPORT
              : op == B::READ_VARIABLE || op == B::HASHTABLE_FIND || op == B::HASHTABLE_SIZE)
    return true;
  const auto read = items(o.inputs());
  if (changes && states_.are_kept() && std::any_of(read.begin(), read.end(), [&](std::int32_t t) {
        return t >= 0 && model_->tensor(subgraph, t).is_variable();
      }))
    return true;
  const Callees all = callees(op, o);
  return std::any_of(all.subgraphs.begin(), all.subgraphs.end(),
                     [&](std::int64_t i) { return touches_states(subgraph_index(i), changes, depth + 1); });
}

StateUse Lowering::use_of_states(const std::vector<std::int64_t>& subgraphs, const Handles& inputs) {
  StateUse use;
  for (const std::int64_t i : subgraphs) add_use(subgraph_index(i), inputs, use);
  return use;
}

// Gives the handles among the outputs.
Handles Lowering::add_use(std::size_t subgraph, const Handles& inputs, StateUse& use) {
  const Nested nested(nesting_, subgraph, *model_);
  const schema::SubGraph& g = model_->subgraph(subgraph);
  std::map<std::int32_t, std::size_t> handles;  // by tensor
  const auto handle_of = [&](std::int32_t t) {
    const auto found = handles.find(t);
    return found == handles.end() ? std::optional<std::size_t>() : found->second;
  };
  const auto formal = items(g.inputs());
  for (std::size_t i = 0; i < std::min(formal.size(), inputs.size()); ++i)
    if (inputs[i]) handles[formal[i]] = *inputs[i];
  for (unsigned k = 0; k < count(g.operators()); ++k) {
    if (++seen_ > most_operators_) fail_reading("its subgraphs call each other too often");
    const schema::Operator& o = *g.operators()->Get(k);
    const auto read = items(o.inputs()), made = items(o.outputs());
    const B op = model_->builtin(o);
    if (const auto* t = o.builtin_options_as_VarHandleOptions(); t && op == B::VAR_HANDLE && !made.empty())
      handles[made[0]] = states_.of_variable(text(t->container()), text(t->shared_name()));
    if (const auto state = read.empty() ? std::nullopt : handle_of(read[0])) {
      if (op == B::READ_VARIABLE) use.read.insert(*state);
      if (op == B::ASSIGN_VARIABLE) use.changed.insert(*state);
    }
    for (const std::int32_t t : read)
      if (t >= 0 && model_->tensor(subgraph, t).is_variable()) {
        Scope s;
        s.subgraph = subgraph;
        use.layers.insert(states_.of_tensor(s, t));
      }
    const Callees all = callees(op, o);
    Handles passed, results;
    for (std::size_t i = all.first; i < read.size(); ++i) passed.push_back(handle_of(read[i]));
    const bool is_part = op == B::CALL || op == B::STABLEHLO_COMPOSITE;
    StateUse inner;
    for (const std::int64_t i : all.subgraphs)
      results = add_use(subgraph_index(i), passed, is_part ? use : inner);
    use.read.merge(inner.read);
    use.changed.merge(inner.changed);  // the layers of a loop or a branch start anew in each of its runs
    for (std::size_t i = 0; i < std::min(results.size(), made.size()); ++i)
      if (results[i]) handles[made[i]] = *results[i];
  }
  Handles results;
  for (const std::int32_t t : items(g.outputs())) results.push_back(handle_of(t));
  return results;
}

}  // namespace t2o::tflite
