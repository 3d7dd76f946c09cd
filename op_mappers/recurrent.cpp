#include <algorithm>
#include <limits>
#include <map>

#include "op_mappers/all.h"
#include "rewriters/tf/recurrent_build.h"

namespace t2o::op_mappers {
namespace {

using rewriters::LayerBlock;

// Which rows take part in which steps. ONNX knows rows that end early; a mask with gaps is made one by moving
// each row's own steps to its front.
struct Schedule {
  Value* lengths = nullptr;  // i32 [batch]; null: every row takes part in every step
  Value* taken = nullptr;    // bool [time, batch] of a mask with gaps
  Value* place = nullptr;    // i64 [time, batch]: where a step is moved to
  Value* before = nullptr;   // i64 [time, batch]: how many steps up to this one are taken
};

enum class Past : std::uint8_t { zero, hold, hold_zero };

struct Layer {
  MapperContext& c;
  std::string op;  // LSTM, GRU, RNN
  Value* x;
  Schedule schedule;
  Past past;
  bool padding_first;  // a reverse layer meets the steps behind a row's end before the row's own, and holds
                       // what was before
  std::int64_t units;
  std::size_t directions;
  std::map<const Value*, Value*> places = {};  // what indices() made
  Value* any_steps = nullptr;                  // what has_steps() made

  std::size_t gates() const { return LayerBlock::gates("t2o." + op); }
  std::size_t states() const { return LayerBlock::states("t2o." + op); }
  std::size_t first_input(std::size_t d) const { return 2 + d * LayerBlock::inputs("t2o." + op); }
  Value* state(std::size_t d, std::size_t i) const { return c.in(first_input(d) + i); }
  Value* parameter(std::size_t d, std::size_t group, std::size_t gate) const {
    return c.in(first_input(d) + states() + group * gates() + gate);
  }
  Value* extra(std::size_t d, std::size_t i) const { return parameter(d, 3, i); }
  Value* output(std::size_t d, std::size_t i) const {
    return c.node().output(d * LayerBlock::outputs("t2o." + op) + i);
  }
};

Value* time_of(Layer& l, DType type) { return l.c.cast(l.c.dim(l.x, 0), type); }

// [time, batch, 2]: where a gather or scatter finds step `at` of each row
Value* indices(Layer& l, Value* at) {
  MapperContext& c = l.c;
  Value*& made = l.places[at];
  if (made) return made;
  Value* zero = c.constant<std::int64_t>(0);
  Value* one = c.constant<std::int64_t>(1);
  Value* rows = c.range(zero, c.dim(l.x, 1), one);
  Value* row = c.unsqueeze(c.expand(rows, c.shape_of(at)), {2});
  Value* step = c.unsqueeze(at, {2});
  return made = c.concat({step, row}, 2);
}

Schedule lengths_of(Layer& l, Value* lengths) {
  MapperContext& c = l.c;
  const bool is_flat = lengths->shape().ranked() && lengths->shape().rank() == 1;
  Value* flat = c.cast(is_flat ? lengths : c.reshape(lengths, {-1}), DType::i32);
  Schedule s;
  s.lengths = c.minimum(flat, time_of(l, DType::i32));
  return s;
}

Schedule schedule_of_mask(Layer& l, Value* mask) {
  MapperContext& c = l.c;
  Schedule s;
  s.taken = mask;
  Value* taken = c.cast(s.taken, DType::i64);
  Value* axis = c.constant<std::int64_t>(0);
  s.before = c.cumsum(taken, axis, false, false);
  Value* count = c.reduce("ReduceSum", taken, Ints{0}, false);
  Value* left_out = c.cumsum(c.cast(c.logical_not(s.taken), DType::i64), axis, false, false);
  Value* one = c.constant<std::int64_t>(1);
  Value* behind = c.add(left_out, count);
  s.place = c.sub(c.where(s.taken, s.before, behind), one);
  s.lengths = c.cast(count, DType::i32);
  return s;
}

Value* stacked(Layer& l, std::size_t d, std::size_t group, std::int64_t axis) {
  Values parts;
  for (std::size_t g = 0; g < l.gates(); ++g) parts.push_back(l.parameter(d, group, g));
  return parts.size() == 1 ? parts[0] : l.c.concat(parts, axis);
}

Value* or_zeros(Layer& l, Value* v) {
  if (v) return v;
  return l.c.cast(l.c.constant({l.units}, std::vector<float>(static_cast<std::size_t>(l.units))),
                  l.x->dtype());
}

// The directions of one parameter, side by side.
template <class Make>
Value* per_direction(Layer& l, const Make& make) {
  Values all;
  for (std::size_t d = 0; d < l.directions; ++d) all.push_back(l.c.unsqueeze(make(d), {0}));
  return all.size() == 1 ? all[0] : l.c.concat(all, 0);
}

Value* kernel(Layer& l, std::size_t group) {
  return per_direction(l, [&](std::size_t d) { return l.c.transpose(stacked(l, d, group, 1), {1, 0}); });
}

Value* biases(Layer& l) {
  bool any = false;
  for (std::size_t d = 0; d < l.directions; ++d) {
    for (std::size_t g = 0; g < l.gates(); ++g) any = any || l.parameter(d, 2, g);
    any = any || (l.op == "GRU" && l.extra(d, 0));
  }
  if (!any) return nullptr;
  return per_direction(l, [&](std::size_t d) {
    Values parts;
    for (std::size_t g = 0; g < l.gates(); ++g) parts.push_back(or_zeros(l, l.parameter(d, 2, g)));
    for (std::size_t g = 0; g < l.gates(); ++g)
      parts.push_back(or_zeros(l, l.op == "GRU" && g == 2 ? l.extra(d, 0) : nullptr));
    return l.c.concat(parts, 0);
  });
}

Value* zero_state(Layer& l) {
  Value* units = l.c.ints({l.units});
  Value* dims = l.c.concat({l.c.dims(l.x, 1, 2), units}, 0);
  return l.c.expand(l.c.scalar_like(l.x, 0), dims);
}

Value* initial(Layer& l, std::size_t i) {
  bool any = false;
  for (std::size_t d = 0; d < l.directions; ++d) any = any || l.state(d, i);
  if (!any) return nullptr;
  return per_direction(l, [&](std::size_t d) { return l.state(d, i) ? l.state(d, i) : zero_state(l); });
}

Value* peepholes(Layer& l) {
  bool any = false;
  for (std::size_t d = 0; d < l.directions; ++d)
    for (std::size_t i = 0; i < 3; ++i) any = any || l.extra(d, i);
  if (!any) return nullptr;
  return per_direction(l, [&](std::size_t d) {
    Values parts;
    for (std::size_t i = 0; i < 3; ++i) parts.push_back(or_zeros(l, l.extra(d, i)));
    return l.c.concat(parts, 0);
  });
}

bool one_of(const std::string& s, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), s) != names.end();
}

// ONNX's lists of alpha and beta have values only for the functions that take them.
void add_activations(Layer& l, Attrs& attrs) {
  const auto names = l.c.attr<Strings>("activations");
  const auto alpha = l.c.attr<Floats>("activation_alpha"), beta = l.c.attr<Floats>("activation_beta");
  const Strings usual = l.op == "LSTM"  ? Strings{"Sigmoid", "Tanh", "Tanh"}
                        : l.op == "GRU" ? Strings{"Sigmoid", "Tanh"}
                                        : Strings{"Tanh"};
  bool is_usual = true;
  for (std::size_t i = 0; i < names.size(); ++i) is_usual = is_usual && names[i] == usual[i % usual.size()];
  if (is_usual) return;
  Floats alphas, betas;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (one_of(names[i], {"Affine", "LeakyRelu", "ScaledTanh", "HardSigmoid", "Elu"}))
      alphas.push_back(alpha[i]);
    if (one_of(names[i], {"Affine", "ScaledTanh", "HardSigmoid"})) betas.push_back(beta[i]);
  }
  attrs.push_back({"activations", names});
  if (!alphas.empty()) attrs.push_back({"activation_alpha", alphas});
  if (!betas.empty()) attrs.push_back({"activation_beta", betas});
}

// ---- what ONNX gives, made into what TensorFlow gives

Value* has_steps(Layer& l) {
  if (!l.any_steps) {
    Value* zero = l.c.scalar(DType::i32, 0);
    l.any_steps = l.c.unsqueeze(l.c.greater(l.schedule.lengths, zero), {1});
  }
  return l.any_steps;
}

// ONNX Runtime gives zeros for rows of length 0, TensorFlow the state before.
Value* final_state(Layer& l, std::size_t d, std::size_t i, Value* y) {
  Value* before = l.state(d, i);
  if (!l.schedule.lengths || !before) return y;
  return l.c.where(has_steps(l), y, before);
}

// What stands in the sequence while nothing was computed yet.
Value* first_held(Layer& l, std::size_t d) {
  Value* h = l.state(d, 0);
  return h && l.past == Past::hold ? h : l.c.scalar_like(l.x, 0);
}

Value* held_past_end(Layer& l, std::size_t d, Value* y, Value* last, bool reverse) {
  MapperContext& c = l.c;
  Value* zero = c.constant<std::int32_t>(0);
  Value* one = c.constant<std::int32_t>(1);
  Value* steps = c.reshape(c.range(zero, time_of(l, DType::i32), one), {-1, 1, 1});
  Value* runs = c.less(steps, c.unsqueeze(l.schedule.lengths, {1}));
  if (reverse && l.padding_first) return c.where(runs, y, first_held(l, d));
  Value* held = last;
  if (l.past == Past::hold_zero && l.state(d, 0)) held = c.where(has_steps(l), last, c.scalar_like(l.x, 0));
  return c.where(runs, y, held);
}

// Each step's own output, or that of the step before it in the layer's direction.
Value* held_in_gaps(Layer& l, std::size_t d, Value* y, bool reverse) {
  MapperContext& c = l.c;
  const Schedule& s = l.schedule;
  Value* one = c.constant<std::int64_t>(1);
  Value* zero = c.constant<std::int64_t>(0);
  Value* earlier = c.sub(s.before, one);
  Value* at = reverse ? c.where(s.taken, earlier, s.before) : earlier;
  Value* count = reverse ? c.cast(s.lengths, DType::i64) : nullptr;
  Value* is_first = reverse ? c.greater_equal(at, count) : c.less(at, zero);
  Value* last = c.sub(time_of(l, DType::i64), one);
  Value* safe = reverse ? c.minimum(at, last) : c.maximum(at, zero);
  Value* gathered = c.emit("GatherND", {y, indices(l, safe)});
  Value* none = c.unsqueeze(is_first, {2});
  return c.where(none, first_held(l, d), gathered);
}

Value* sequence(Layer& l, std::size_t d, Value* y, Value* last, bool reverse) {
  const Schedule& s = l.schedule;
  if (!s.lengths) return y;
  if (s.taken) {
    if (l.past != Past::zero) return held_in_gaps(l, d, y, reverse);
    return l.c.emit("GatherND", {y, indices(l, s.place)});
  }
  return l.past == Past::zero ? y : held_past_end(l, d, y, last, reverse);
}

Value* last_output(Layer& l, std::size_t d, Value* last, bool reverse) {
  MapperContext& c = l.c;
  if (!l.schedule.lengths || l.past == Past::hold) return last;
  Value* zero = c.scalar_like(l.x, 0);
  if (l.past == Past::hold_zero) return l.state(d, 0) ? c.where(has_steps(l), last, zero) : last;
  Value* taken = nullptr;
  if (l.schedule.taken) {
    taken = reverse ? c.slice(l.schedule.taken, Ints{0}, Ints{1}, Ints{0})
                    : c.slice(l.schedule.taken, Ints{-1}, Ints{std::numeric_limits<std::int64_t>::max()},
                              Ints{0});
    taken = c.transpose(taken, {1, 0});
  } else if (reverse && l.padding_first) {
    taken = has_steps(l);
  } else {
    taken = c.unsqueeze(c.greater_equal(l.schedule.lengths, time_of(l, DType::i32)), {1});
  }
  return c.where(taken, last, zero);
}

Past past_of(const std::string& text) {
  return text == "zero" ? Past::zero : text == "hold" ? Past::hold : Past::hold_zero;
}

Values onnx_layer(Layer& l, Value* x, const std::string& direction) {
  MapperContext& c = l.c;
  Value* w = kernel(l, 0);
  Value* r = kernel(l, 1);
  Value* b = biases(l);
  Values in{x, w, r, b, l.schedule.lengths, initial(l, 0)};
  if (l.op == "LSTM") {
    in.push_back(initial(l, 1));
    in.push_back(peepholes(l));
  }
  while (!in.back()) in.pop_back();
  Attrs attrs{{"hidden_size", l.units}};
  if (direction != "forward") attrs.push_back({"direction", direction});
  add_activations(l, attrs);
  if (l.op == "GRU") attrs.push_back({"linear_before_reset", c.attr<std::int64_t>("linear_before_reset")});
  return c.emit_n(l.op, in, attrs, l.states() + 1);
}

// One direction of an output: the axis of directions goes.
Values by_direction(Layer& l, Value* y, std::int64_t axis) {
  if (l.directions == 1) return {l.c.squeeze(y, {axis})};
  Values all = l.c.split(y, Ints{1, 1}, axis);
  for (Value*& v : all) v = l.c.squeeze(v, {axis});
  return all;
}

Values map_layer(MapperContext& c) {
  const auto direction = c.attr<std::string>("direction");
  Layer l{.c = c,
          .op = c.node().op().substr(4),
          .x = c.in(0),
          .schedule = {},
          .past = past_of(c.attr_or<std::string>("past", "zero")),
          .padding_first = c.flag("padding_first"),
          .units = c.attr<std::int64_t>("hidden_size"),
          .directions = direction == "bidirectional" ? std::size_t{2} : std::size_t{1}};
  if (Value* mask = c.in(1))
    l.schedule = mask->dtype() == DType::boolean ? schedule_of_mask(l, mask) : lengths_of(l, mask);
  Value* x = l.x;
  if (l.schedule.taken) x = c.emit("ScatterND", {x, indices(l, l.schedule.place), x});
  const Values y = onnx_layer(l, x, direction);
  std::vector<Values> parts;
  for (std::size_t i = 0; i < y.size(); ++i) parts.push_back(by_direction(l, y[i], i == 0 ? 1 : 0));
  Values out;
  for (std::size_t d = 0; d < l.directions; ++d) {
    const bool reverse = direction == "reverse" || d == 1;
    Values finals;
    for (std::size_t i = 0; i < l.states(); ++i) finals.push_back(final_state(l, d, i, parts[i + 1][d]));
    out.push_back(l.output(d, 0)->is_used() ? sequence(l, d, parts[0][d], finals[0], reverse) : nullptr);
    out.insert(out.end(), finals.begin(), finals.end());
    out.push_back(l.output(d, l.states() + 1)->is_used() ? last_output(l, d, finals[0], reverse) : nullptr);
  }
  return out;
}

}  // namespace

void register_recurrent(OpRegistry& r) { r.op("t2o.LSTM", "t2o.GRU", "t2o.RNN").by(map_layer); }

}  // namespace t2o::op_mappers
