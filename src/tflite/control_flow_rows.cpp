#include "tflite/lowering_scope.h"
#include "tflite/op.h"

// Operators that hold subgraphs.
namespace t2o::tflite {
namespace {

using namespace schema;

DTypes types_of(const Values& values) {
  DTypes types;
  for (const Value* v : values) types.push_back(v->dtype());
  return types;
}

void check_types(const DTypes& have, const DTypes& wanted, const std::string& what) {
  if (have.size() != wanted.size())
    fail(Code::bad_model,
         what + " are " + std::to_string(have.size()) + " instead of " + std::to_string(wanted.size()));
  for (std::size_t i = 0; i < have.size(); ++i)
    if (have[i] != wanted[i])
      fail(Code::bad_model, what + ": number " + std::to_string(i) + " is of type " +
                                std::string(name(have[i])) + " instead of " + std::string(name(wanted[i])));
}

// An error within a subgraph is reported already: then it has no outputs.
bool is_whole(const ir::Graph& g) { return !g.outputs().empty(); }

Values nothing(const Op& op) { return Values(op.output_count(), nullptr); }

// The subgraphs of an operator. The states that any of them reads or changes are inputs of all of them, and
// of the operator, behind the tensors of the file. Handles of variables are no values; the subgraphs know
// them.
class Subgraphs {
 public:
  Subgraphs(Op& op, std::size_t first, const std::vector<std::int64_t>& indices) : op_(op) {
    op.as_codes(true);
    Scope& s = op.scope();
    Lowering& l = op.lowering();
    for (std::size_t i = first; i < op.input_count(); ++i) {
      op.input(i);
      flow_.handles.push_back(s.slots[static_cast<std::size_t>(op.input_index(i))].state);
      if (!flow_.handles.back()) inputs_.push_back(op.codes(i));
    }
    use_ = l.use_of_states(indices, flow_.handles);
    flow_.layers = use_.layers;
    for (const auto* states : {&use_.changed, &use_.read})
      for (const std::size_t state : *states)
        if (states == &use_.changed || !use_.changed.contains(state)) take(state, l.states().value(s, state));
    flow_.given.assign(use_.changed.begin(), use_.changed.end());
  }

  // The states of layers go on from round to round of a loop.
  void take_layers() {
    for (const std::size_t state : use_.layers) take(state, op_.lowering().states().zero(op_.scope(), state));
  }

  const Values& inputs() const { return inputs_; }
  const StateUse& use() const { return use_; }
  const Handles& handles() const { return flow_.handles; }
  void give_all() { flow_.given = flow_.taken; }
  void give_none() { flow_.given.clear(); }
  void repeat() { flow_.is_loop = true; }

  GraphPtr lower(std::int64_t index, const char* what) {
    const GraphPtr g = op_.lowering().body(op_.scope(), index, flow_, results_);
    check_types(types_of(g->inputs()), types_of(inputs_), "the inputs of " + std::string(what));
    return g;
  }
  const Handles& results() const { return results_; }  // handles among the outputs of the last one

  // The operator's outputs for the file's tensors; the states take theirs.
  Values bind(const Values& values) {
    Values outputs;
    auto next = values.begin();
    for (std::size_t i = 0; i < results_.size(); ++i) {
      if (results_[i] && i < op_.output_count()) op_.bind_handle(i, *results_[i]);
      outputs.push_back(results_[i] ? nullptr : *next++);
    }
    for (const std::size_t state : flow_.given) {
      if (use_.changed.contains(state)) op_.lowering().states().set_value(state, *next);
      ++next;
    }
    return outputs;
  }

 private:
  void take(std::size_t state, Value* v) {
    flow_.taken.push_back(state);
    flow_.types.push_back(v->dtype());
    inputs_.push_back(v);
  }

  Op& op_;
  Values inputs_;
  StateFlow flow_;
  StateUse use_;
  Handles results_;
};

template <class Options>
Values while_loop(Op& op, const Options& o) {
  const std::int64_t cond_index = o.cond_subgraph_index(), body_index = o.body_subgraph_index();
  Subgraphs graphs(op, 0, {cond_index, body_index});
  if (!op.lowering().use_of_states({cond_index}, graphs.handles()).changed.empty())
    op.fail(Code::not_yet, "its condition changes a variable, which is not supported yet");
  graphs.take_layers();
  const DTypes types = types_of(graphs.inputs());
  graphs.give_none();
  const GraphPtr cond = graphs.lower(cond_index, "its condition");
  graphs.give_all();
  graphs.repeat();
  const GraphPtr body = graphs.lower(body_index, "its body");
  if (!is_whole(*cond) || !is_whole(*body)) return nothing(op);
  if (graphs.results() != graphs.handles())
    op.fail(Code::not_yet, "its variables change from round to round, which is not supported yet");
  check_types(types_of(cond->outputs()), {DType::boolean}, "the results of its condition");
  check_types(types_of(body->outputs()), types, "the results of its body");
  return graphs.bind(op.make_all("StatelessWhile", graphs.inputs(), {{"cond", cond}, {"body", body}}));
}

Values tflite_while(Op& op) { return while_loop(op, op.options<WhileOptions>()); }
Values stablehlo_while(Op& op) { return while_loop(op, op.options2<StablehloWhileOptions>()); }

// Nothing: a branch has errors, which are reported.
std::optional<std::pair<Subgraphs, Graphs>> branches_of(Op& op, const std::vector<std::int64_t>& indices) {
  Subgraphs graphs(op, 1, indices);
  Graphs branches;
  Handles first;
  for (const std::int64_t i : indices) {
    branches.push_back(graphs.lower(i, "a branch"));
    if (!is_whole(*branches.back())) return std::nullopt;
    check_types(types_of(branches.back()->outputs()), types_of(branches[0]->outputs()),
                "the results of a branch");
    if (branches.size() == 1) first = graphs.results();
    if (graphs.results() != first)
      op.fail(Code::not_yet, "its branches give different variables, which is not supported yet");
  }
  return std::pair(std::move(graphs), std::move(branches));
}

Values with_selector(Op& op, const Subgraphs& graphs) {
  Values inputs = graphs.inputs();
  inputs.insert(inputs.begin(), op.in(0));
  return inputs;
}

// The first input chooses the branch; one that is out of range chooses the last.
Values case_of(Op& op) {
  const auto indices = items(op.options2<StablehloCaseOptions>().branch_subgraph_indices());
  if (indices.empty()) op.fail(Code::bad_model, "it has no branches");
  auto all = branches_of(op, {indices.begin(), indices.end()});
  if (!all) return nothing(op);
  auto& [graphs, branches] = *all;
  const DTypes types = types_of(branches[0]->outputs());
  return graphs.bind(
      op.make_all("StatelessCase", with_selector(op, graphs), {{"branches", branches}, {"Tout", types}}));
}

Values conditional(Op& op) {
  const auto& o = op.options<IfOptions>();
  auto all = branches_of(op, {o.then_subgraph_index(), o.else_subgraph_index()});
  if (!all) return nothing(op);
  auto& [graphs, branches] = *all;
  const DTypes types = types_of(branches[0]->outputs());
  return graphs.bind(
      op.make_all("StatelessIf", with_selector(op, graphs),
                  {{"then_branch", branches[0]}, {"else_branch", branches[1]}, {"Tout", types}}));
}

Values inlined(Op& op, std::int64_t subgraph) {
  op.as_codes(true);
  std::vector<Slot> inputs;
  for (std::size_t i = 0; i < op.input_count(); ++i) {
    op.input(i);
    inputs.push_back(op.lowering().slot_or_handle(op.scope(), op.input_index(i)));
  }
  Values results;
  for (const Slot& s : op.lowering().inlined(op.scope(), subgraph, std::move(inputs))) {
    if (s.state && results.size() < op.output_count()) op.bind_handle(results.size(), *s.state);
    results.push_back(s.quantization ? s.codes : s.numbers);
  }
  return results;
}

Values call(Op& op) { return inlined(op, op.options<CallOptions>().subgraph()); }

// The subgraph says in other operators what it computes.
Values composite(Op& op) {
  return inlined(op, op.options2<StableHLOCompositeOptions>().decomposition_subgraph_index());
}

constexpr Row kRows[] = {
    {B::CALL, nullptr, nullptr, call},
    {B::IF, nullptr, nullptr, conditional},
    {B::STABLEHLO_CASE, nullptr, nullptr, case_of},
    {B::STABLEHLO_COMPOSITE, nullptr, nullptr, composite},
    {B::STABLEHLO_WHILE, nullptr, nullptr, stablehlo_while},
    {B::WHILE, nullptr, nullptr, tflite_while},
};

}  // namespace

std::span<const Row> control_flow_rows() { return kRows; }

}  // namespace t2o::tflite
