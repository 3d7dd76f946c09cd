#include <limits>
#include <map>

#include "op_mappers/all.h"
#include "op_mappers/onnx_recurrent.h"

namespace t2o::op_mappers {
namespace {

using tfgraph::CellKind;
using tfgraph::Past;
using tfgraph::RecurrentLayer;

// Which rows take part in which steps. ONNX knows rows that end early; a mask with gaps is made one by moving
// each row's own steps to its front.
struct Schedule {
  Value* lengths = nullptr;  // i32 [batch]; null: every row takes part in every step
  Value* taken = nullptr;    // bool [time, batch] of a mask with gaps
  Value* place = nullptr;    // i64 [time, batch]: where a step is moved to
  Value* before = nullptr;   // i64 [time, batch]: how many steps up to this one are taken
};

struct Layer {
  MapperContext& c;
  RecurrentLayer layer;
  Value* x;
  Schedule schedule;
  std::map<const Value*, Value*> places = {};  // what indices() made
  Value* steps = nullptr;                      // what has_steps() made

  Value* has_steps() {  // [batch, 1]: whether the row takes part in a step at all
    if (!steps) steps = c.unsqueeze(c.greater(schedule.lengths, c.scalar(DType::i32, 0)), {1});
    return steps;
  }
  bool is(CellKind k) const { return layer.kind == k; }
  Past past() const { return layer.past.value_or(Past::zero); }
  std::size_t gates() const { return layer.gates(); }
  Value* state(std::size_t d, std::size_t i) const { return c.in(layer.first_input(d) + i); }
  Value* parameter(std::size_t d, std::size_t group, std::size_t gate) const {
    return c.in(layer.first_input(d) + layer.states() + group * gates() + gate);
  }
  Value* extra(std::size_t d, std::size_t i) const { return parameter(d, 3, i); }
  Value* output(std::size_t d, std::size_t i) const { return c.node().output(d * layer.outputs() + i); }
};

Value* time_of(Layer& l, DType type) { return l.c.cast(l.c.dim(l.x, 0), type); }

// [time, batch, 2]: where a gather or scatter finds step `at` of each row
Value* indices(Layer& l, Value* at) {
  MapperContext& c = l.c;
  Value*& made = l.places[at];
  if (made) return made;
  Value* zero = c.i64(0);
  Value* one = c.i64(1);
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
  Value *none = c.scalar(DType::i32, 0), *all = time_of(l, DType::i32);
  const bool has_clip = c.target().opset >= 12;  // of integers
  s.lengths = has_clip ? c.emit("Clip", {flat, none, all}) : c.minimum(c.maximum(flat, none), all);
  return s;
}

Schedule schedule_of_mask(Layer& l, Value* mask) {
  MapperContext& c = l.c;
  Schedule s;
  s.taken = mask;
  Value* taken = c.cast(s.taken, DType::i64);
  Value* axis = c.i64(0);
  s.before = c.cumsum(taken, axis, false, false);
  Value* count = c.reduce("ReduceSum", taken, Ints{0}, false);
  Value* left_out = c.cumsum(c.cast(c.logical_not(s.taken), DType::i64), axis, false, false);
  Value* one = c.i64(1);
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
  return l.c.cast(l.c.constant({l.layer.units}, std::vector<float>(static_cast<std::size_t>(l.layer.units))),
                  l.x->dtype());
}

Value* kernel(Layer& l, std::size_t group) {
  return per_direction(l.c, l.layer.directions(), [&](std::size_t d) {
    return l.c.transpose(stacked(l, d, group, 1), {1, 0});
  });
}

Value* biases(Layer& l) {
  bool any = false;
  for (std::size_t d = 0; d < l.layer.directions(); ++d) {
    for (std::size_t g = 0; g < l.gates(); ++g) any = any || l.parameter(d, 2, g);
    any = any || (l.is(CellKind::gru) && l.extra(d, 0));
  }
  if (!any) return nullptr;
  return per_direction(l.c, l.layer.directions(), [&](std::size_t d) {
    Values parts;
    for (std::size_t g = 0; g < l.gates(); ++g) parts.push_back(or_zeros(l, l.parameter(d, 2, g)));
    for (std::size_t g = 0; g < l.gates(); ++g)
      parts.push_back(or_zeros(l, l.is(CellKind::gru) && g == 2 ? l.extra(d, 0) : nullptr));
    return l.c.concat(parts, 0);
  });
}

Value* zero_state(Layer& l) {
  Value* units = l.c.ints({l.layer.units});
  Value* dims = l.c.concat({l.c.dims(l.x, 1, 2), units}, 0);
  return l.c.expand(l.c.scalar_like(l.x, 0), dims);
}

Value* initial(Layer& l, std::size_t i) {
  bool any = false;
  for (std::size_t d = 0; d < l.layer.directions(); ++d) any = any || l.state(d, i);
  if (!any) return nullptr;
  return per_direction(l.c, l.layer.directions(),
                       [&](std::size_t d) { return l.state(d, i) ? l.state(d, i) : zero_state(l); });
}

Value* peepholes(Layer& l) {
  bool any = false;
  for (std::size_t d = 0; d < l.layer.directions(); ++d)
    for (std::size_t i = 0; i < 3; ++i) any = any || l.extra(d, i);
  if (!any) return nullptr;
  return per_direction(l.c, l.layer.directions(), [&](std::size_t d) {
    Values parts;
    for (std::size_t i = 0; i < 3; ++i) parts.push_back(or_zeros(l, l.extra(d, i)));
    return l.c.concat(parts, 0);
  });
}

// ---- what ONNX gives, made into what TensorFlow gives

// What stands in the sequence while nothing was computed yet.
Value* first_held(Layer& l, std::size_t d) {
  Value* h = l.state(d, 0);
  return h && l.past() == Past::hold ? h : l.c.scalar_like(l.x, 0);
}

Value* held_past_end(Layer& l, std::size_t d, Value* y, Value* last, bool reverse) {
  MapperContext& c = l.c;
  Value* zero = c.constant<std::int32_t>(0);
  Value* one = c.constant<std::int32_t>(1);
  Value* steps = c.reshape(c.range(zero, time_of(l, DType::i32), one), {-1, 1, 1});
  Value* runs = c.less(steps, c.unsqueeze(l.schedule.lengths, {1}));
  if (reverse && l.layer.padding_first) return c.where(runs, y, first_held(l, d));
  Value* held = last;
  if (l.past() == Past::hold_zero && l.state(d, 0))
    held = c.where(l.has_steps(), last, c.scalar_like(l.x, 0));
  return c.where(runs, y, held);
}

// Each step's own output, or that of the step before it in the layer's direction.
Value* held_in_gaps(Layer& l, std::size_t d, Value* y, bool reverse) {
  MapperContext& c = l.c;
  const Schedule& s = l.schedule;
  Value* one = c.i64(1);
  Value* zero = c.i64(0);
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
    if (l.past() != Past::zero) return held_in_gaps(l, d, y, reverse);
    return l.c.emit("GatherND", {y, indices(l, s.place)});
  }
  return l.past() == Past::zero ? y : held_past_end(l, d, y, last, reverse);
}

Value* last_output(Layer& l, std::size_t d, Value* last, bool reverse) {
  MapperContext& c = l.c;
  if (!l.schedule.lengths || l.past() == Past::hold) return last;
  Value* zero = c.scalar_like(l.x, 0);
  if (l.past() == Past::hold_zero) return l.state(d, 0) ? c.where(l.has_steps(), last, zero) : last;
  Value* taken = nullptr;
  if (l.schedule.taken) {
    taken = reverse ? c.slice(l.schedule.taken, Ints{0}, Ints{1}, Ints{0})
                    : c.slice(l.schedule.taken, Ints{-1}, Ints{std::numeric_limits<std::int64_t>::max()},
                              Ints{0});
    taken = c.transpose(taken, {1, 0});
  } else if (reverse && l.layer.padding_first) {
    taken = l.has_steps();
  } else {
    taken = c.unsqueeze(c.greater_equal(l.schedule.lengths, time_of(l, DType::i32)), {1});
  }
  return c.where(taken, last, zero);
}

Values onnx_layer(Layer& l, Value* x) {
  OnnxRecurrent in{.x = x};
  in.kernels = kernel(l, 0);
  in.recurrent_kernels = kernel(l, 1);
  in.biases = biases(l);
  in.lengths = l.schedule.lengths;
  in.h = initial(l, 0);
  if (l.is(CellKind::lstm)) {
    in.c = initial(l, 1);
    in.peepholes = peepholes(l);
  }
  return emit_recurrent(l.c, l.layer, in);
}

// One direction of an output: the axis of directions goes.
Values by_direction(Layer& l, Value* y, std::int64_t axis) {
  if (l.layer.directions() == 1) return {l.c.squeeze(y, {axis})};
  Values all = l.c.split(y, Ints{1, 1}, axis);
  for (Value*& v : all) v = l.c.squeeze(v, {axis});
  return all;
}

Layer read(MapperContext& c) {
  auto layer = RecurrentLayer::of(c.node());
  if (!layer)
    c.fail(Code::bad_model, "its inputs, outputs and attributes are not those of a recurrent layer");
  for (const ir::NamedAttr& a : layer->attrs()) (void)c.raw_attr(a.name);
  Layer l{.c = c, .layer = std::move(*layer), .x = c.in(0), .schedule = {}};
  if (Value* mask = c.in(1))
    l.schedule = mask->dtype() == DType::boolean ? schedule_of_mask(l, mask) : lengths_of(l, mask);
  return l;
}

Values map_layer(MapperContext& c) {
  Layer l = read(c);
  Value* x = l.x;
  if (l.schedule.taken) x = c.emit("ScatterND", {x, indices(l, l.schedule.place), x});
  const Values y = onnx_layer(l, x);
  std::vector<Values> parts;
  for (std::size_t i = 0; i < y.size(); ++i) parts.push_back(by_direction(l, y[i], i == 0 ? 1 : 0));
  Values out;
  const std::size_t states = l.layer.states();
  for (std::size_t d = 0; d < l.layer.directions(); ++d) {
    const bool reverse = l.layer.direction == tfgraph::Direction::reverse || d == 1;
    Values finals;
    for (std::size_t i = 0; i < states; ++i) finals.push_back(parts[i + 1][d]);
    out.push_back(l.output(d, 0)->is_used() ? sequence(l, d, parts[0][d], finals[0], reverse) : nullptr);
    append(out, finals);
    out.push_back(l.output(d, states + 1)->is_used() ? last_output(l, d, finals[0], reverse) : nullptr);
  }
  return out;
}

}  // namespace

void register_recurrent(OpRegistry& r) { r.op("t2o.LSTM", "t2o.GRU", "t2o.RNN").by(map_layer); }

}  // namespace t2o::op_mappers
