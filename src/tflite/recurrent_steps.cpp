#include "tflite/recurrent.h"

// A loop over the steps of a layer, in TensorFlow's operators.
namespace t2o::tflite {
namespace {

Value* flat_shape(Op& op) { return op.scalar(DType::i32, -1); }

// The loop's variables: number of the step, of all steps, the list of results, the list of x, states,
// constants.
constexpr std::size_t kCount = 4;

GraphPtr make_graph(Op& op, const std::string& name, const Values& variables,
                    const std::function<Values(Op&, const Values&)>& fill) {
  GraphPtr g = op.scope().graph->make_subgraph();
  g->set_name(name);
  Values inputs;
  for (const Value* v : variables)
    inputs.push_back(g->add_input(name + "/" + std::to_string(inputs.size()), v->dtype(), v->shape()));
  Scope scope{.subgraph = op.scope().subgraph, .graph = g.get()};
  Op inner = op.within(scope);
  Values outputs = fill(inner, inputs);
  g->set_outputs(std::move(outputs));
  return g;
}

Values tail(const Values& v, std::size_t from, std::size_t count) {
  const auto first = v.begin() + static_cast<std::ptrdiff_t>(from);
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

Value* count_of(Op& op, Value* x) {
  Value* shape = op.make("Shape", {x}, {{"out_type", DType::i32}});
  Value* first = op.scalar(DType::i32, 0);
  Value* axis = op.scalar(DType::i32, 0);
  return op.make("GatherV2", {shape, first, axis});
}

Values run_body(Op& op, const Values& v, DType x_type, std::size_t states, const Step& step) {
  const DType type = v[kCount]->dtype();
  Value* shape = flat_shape(op);
  Value* x = op.make("TensorListGetItem", {v[3], v[0], shape}, {{"element_dtype", x_type}});
  const Values after =
      step(op, {x, tail(v, kCount, states), tail(v, kCount + states, v.size() - kCount - states)});
  Value* one = op.scalar(DType::i32, 1);
  Values out{op.make("AddV2", {v[0], one})};
  out.push_back(op.make("Identity", {v[1]}));
  out.push_back(op.make("TensorListSetItem", {v[2], v[0], after[0]}, {{"element_dtype", type}}));
  out.push_back(op.make("Identity", {v[3]}));
  out.insert(out.end(), after.begin(), after.end());
  for (std::size_t i = kCount + states; i < v.size(); ++i) out.push_back(op.make("Identity", {v[i]}));
  return out;
}

Steps loop(Op& op, Value* x, const Values& initial, const Values& constants, const Step& step) {
  const DType type = initial[0]->dtype(), x_type = x->dtype();
  Value* count = count_of(op, x);
  Value* shape = flat_shape(op);
  Value* results = op.make("TensorListReserve", {shape, count}, {{"element_dtype", type}});
  Value* list = op.make("TensorListFromTensor", {x, shape}, {{"element_dtype", x_type}});
  Values variables{op.scalar(DType::i32, 0), count, results, list};
  variables.insert(variables.end(), initial.begin(), initial.end());
  variables.insert(variables.end(), constants.begin(), constants.end());
  const GraphPtr cond = make_graph(op, "steps/cond", variables, [](Op& in, const Values& v) {
    return Values{in.make("Less", {v[0], v[1]})};
  });
  const GraphPtr body = make_graph(op, "steps/body", variables, [&](Op& in, const Values& v) {
    return run_body(in, v, x_type, initial.size(), step);
  });
  const Values after = op.make_all("StatelessWhile", variables, {{"cond", cond}, {"body", body}});
  return {{op.make("TensorListStack", {after[2], shape}, {{"element_dtype", type}})},
          tail(after, kCount, initial.size())};
}

Value* state_dims(Op& op, Value* x, std::int64_t units) {
  Value* shape = op.make("Shape", {x}, {{"out_type", DType::i32}});
  Value* batch = op.make("GatherV2", {shape, op.ints({1}), op.scalar(DType::i32, 0)});
  Value* size = op.ints({units});
  return op.make("ConcatV2", {batch, size, op.scalar(DType::i32, 0)});
}

}  // namespace

Value* zero_state(Op& op, Value* x, std::int64_t units, Value* zero) {
  return op.make("Fill", {state_dims(op, x, units), zero});
}

Value* zero_state(Op& op, Value* x, std::int64_t units) {
  Value* dims = state_dims(op, x, units);
  return op.make("Fill", {dims, op.scalar_like(x, 0)});
}

Steps run_steps(Op& op, Value* x, const Values& initial, const Values& constants, Dim known_count,
                bool reverse, const Step& step) {
  if (known_count == 1) {
    Value* only = op.make("Squeeze", {x}, {{"squeeze_dims", Ints{0}}});
    const Values after = step(op, {only, initial, constants});
    return {{op.make("ExpandDims", {after[0], op.scalar(DType::i32, 0)})}, after};
  }
  Value* axis = op.ints({0});
  if (reverse) x = op.make("ReverseV2", {x, axis});
  Steps all = loop(op, x, initial, constants, step);
  if (reverse) all.outputs[0] = op.make("ReverseV2", {all.outputs[0], axis});
  return all;
}

}  // namespace t2o::tflite
