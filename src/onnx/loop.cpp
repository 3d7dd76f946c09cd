#include "onnx/loop.h"

namespace t2o::onnx {

namespace {

Shape without_sizes(const Shape& s) {
  return s.ranked() ? Shape(std::vector<Dim>(static_cast<std::size_t>(s.rank()), kUnknownDim)) : s;
}

// What the rounds give of that shape, one behind the other.
Shape rows_of(const Shape& row, const Value* count) {
  if (!row.ranked()) return {};
  const auto rounds = constant_ints(count);
  Ints dims = row.dims();
  dims.insert(dims.begin(),
              rounds && rounds->size() == 1 && rounds->front() >= 0 ? rounds->front() : kUnknownDim);
  return Shape(std::move(dims));
}

Values loop(Emitter& c, Value* count, const Values& initial, const Step& step, bool any_size) {
  const auto shape = [&](const Value* v) { return any_size ? without_sizes(v->shape()) : v->shape(); };
  const GraphPtr body = c.graph().make_subgraph();
  const std::string prefix = c.origin().label() + "/";
  body->set_name(prefix + "body");
  Value* k = body->add_input(prefix + "k", DType::i64, Shape(Ints{}));
  Value* going = body->add_input(prefix + "going", DType::boolean, Shape(Ints{}));
  Values state;
  for (const Value* v : initial) state.push_back(body->add_input(prefix + "state", v->dtype(), shape(v)));
  Emitter e(*body, c.target(), c.shared_origin());
  Values outputs{e.emit("Identity", {going})};
  const Values after = step(e, e.reshape(k, {1}), state);
  for (std::size_t i = 0; i < after.size(); ++i) {
    const bool again = contains(outputs, after[i]);
    const bool own = !again && after[i]->graph() == body.get() && after[i]->producer();
    outputs.push_back(own ? after[i] : e.emit("Identity", {after[i]}));
    if (i < initial.size()) body->set_type(outputs.back(), initial[i]->dtype(), shape(initial[i]));
  }
  body->set_outputs(outputs);
  Values in{count, c.constant(Tensor::of<bool>({}, {true}))};
  append(in, initial);
  const Values out = c.emit_n("Loop", in, {{"body", body}}, after.size());
  for (std::size_t i = 0; i < initial.size(); ++i)
    c.graph().set_type(out[i], initial[i]->dtype(), shape(initial[i]));
  for (std::size_t i = initial.size(); i < out.size(); ++i)
    c.graph().set_type(out[i], outputs[i + 1]->dtype(), rows_of(outputs[i + 1]->shape(), count));
  return out;
}

}  // namespace

Values counted_loop(Emitter& c, Value* count, const Values& initial, const Step& step) {
  return loop(c, count, initial, step, false);
}
Values counted_loop_of_any_size(Emitter& c, Value* count, const Values& initial, const Step& step) {
  return loop(c, count, initial, step, true);
}

}  // namespace t2o::onnx
