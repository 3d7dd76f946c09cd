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

Values passed(Op& op, std::size_t first) {
  Values values;
  for (std::size_t i = first; i < op.input_count(); ++i) values.push_back(op.codes(i));
  return values;
}

// An error within a subgraph is reported already: then it has no outputs.
bool is_whole(const ir::Graph& g) { return !g.outputs().empty(); }

Values nothing(const Op& op) { return Values(op.output_count(), nullptr); }

template <class Options>
Values while_loop(Op& op, const Options& o) {
  op.as_codes(true);
  const Values variables = passed(op, 0);
  const GraphPtr cond = op.lowering().body(op.scope(), o.cond_subgraph_index());
  const GraphPtr body = op.lowering().body(op.scope(), o.body_subgraph_index());
  const DTypes types = types_of(variables);
  check_types(types_of(cond->inputs()), types, "the inputs of its condition");
  check_types(types_of(body->inputs()), types, "the inputs of its body");
  if (!is_whole(*cond) || !is_whole(*body)) return nothing(op);
  check_types(types_of(cond->outputs()), {DType::boolean}, "the results of its condition");
  check_types(types_of(body->outputs()), types, "the results of its body");
  return op.make_all("StatelessWhile", variables, {{"cond", cond}, {"body", body}});
}

Values tflite_while(Op& op) { return while_loop(op, op.options<WhileOptions>()); }
Values stablehlo_while(Op& op) { return while_loop(op, op.options2<StablehloWhileOptions>()); }

// The first input chooses the branch; one that is out of range chooses the last.
Values case_of(Op& op) {
  op.as_codes(true);
  Values inputs = passed(op, 1);
  const DTypes types = types_of(inputs);
  const auto indices = items(op.options2<StablehloCaseOptions>().branch_subgraph_indices());
  if (indices.empty()) op.fail(Code::bad_model, "it has no branches");
  Graphs branches;
  for (const std::int32_t i : indices) {
    branches.push_back(op.lowering().body(op.scope(), i));
    check_types(types_of(branches.back()->inputs()), types, "the inputs of a branch");
    if (!is_whole(*branches.back())) return nothing(op);
    check_types(types_of(branches.back()->outputs()), types_of(branches[0]->outputs()),
                "the results of a branch");
  }
  inputs.insert(inputs.begin(), op.in(0));
  return op.make_all("StatelessCase", inputs,
                     {{"branches", branches}, {"Tout", types_of(branches[0]->outputs())}});
}

Values conditional(Op& op) {
  const auto& o = op.options<IfOptions>();
  op.as_codes(true);
  Values inputs = passed(op, 1);
  const GraphPtr yes = op.lowering().body(op.scope(), o.then_subgraph_index());
  const GraphPtr no = op.lowering().body(op.scope(), o.else_subgraph_index());
  const DTypes types = types_of(inputs);
  check_types(types_of(yes->inputs()), types, "the inputs of its first branch");
  check_types(types_of(no->inputs()), types, "the inputs of its second branch");
  if (!is_whole(*yes) || !is_whole(*no)) return nothing(op);
  const DTypes results = types_of(yes->outputs());
  check_types(types_of(no->outputs()), results, "the results of its second branch");
  inputs.insert(inputs.begin(), op.in(0));
  return op.make_all("StatelessIf", inputs, {{"then_branch", yes}, {"else_branch", no}, {"Tout", results}});
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
