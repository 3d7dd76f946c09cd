#include <algorithm>

#include "op_mappers/all.h"
#include "op_mappers/loop.h"
#include "op_mappers/numbers.h"

namespace t2o::op_mappers {
namespace {

Value* sigmoid(Emitter& c, Value* x) { return c.emit("Sigmoid", {x}); }
Value* tanh_of(Emitter& c, Value* x) { return c.emit("Tanh", {x}); }

// [x, h] @ weight + bias
Value* combined(Emitter& c, Value* x, Value* h, Value* weight, Value* bias) {
  Value* xh = c.concat({x, h}, 1);
  return c.add(c.matmul(xh, weight), bias);
}

Value* with_peephole(Emitter& c, Value* z, Value* weight, Value* cell) {
  return weight ? c.add(z, c.mul(weight, cell)) : z;
}

// The weights of an LSTM's cell; its gates stand as i ci f o, or as i f ci o.
struct LstmCell {
  Value *w, *b;
  Value *at_i = nullptr, *at_f = nullptr, *at_o = nullptr;  // peepholes
  std::int64_t units;
  double forget_bias, clip;
  bool forget_second;
};

// A step; gives i, c', f, o, ci, tanh(c'), h'
Values lstm_step(Emitter& c, const LstmCell& k, Value* x, Value* before, Value* h) {
  Value* z = combined(c, x, h, k.w, k.b);
  const Values gates = c.split(z, Ints(4, k.units), 1);
  Value* i = sigmoid(c, with_peephole(c, gates[0], k.at_i, before));
  Value* ci = tanh_of(c, gates[k.forget_second ? 2 : 1]);
  Value* forget = gates[k.forget_second ? 1 : 2];
  if (k.forget_bias != 0) forget = c.add(forget, c.scalar_like(z, k.forget_bias));
  Value* f = sigmoid(c, with_peephole(c, forget, k.at_f, before));
  Value* added = c.mul(ci, i);
  Value* cs = c.add(added, c.mul(f, before));
  if (k.clip > 0) cs = c.clip(cs, -k.clip, k.clip);
  Value* o = sigmoid(c, with_peephole(c, gates[3], k.at_o, cs));
  Value* co = tanh_of(c, cs);
  return {i, cs, f, o, ci, co, c.mul(co, o)};
}

// b tells it, and w, and the states.
std::int64_t units_of(MapperContext& c, std::size_t first) {
  for (const std::size_t i : {first, first - 1, first - 2}) {
    const Shape& s = c.in(i)->shape();
    if (!s.ranked() || s.rank() != 2 || !is_known(s[1])) continue;
    return i == first ? s[1] / 4 : s[1];
  }
  return c.dim_of(first + 4, 0) / 4;
}

// The weights are the inputs from `first` on: w, peepholes i f o, b.
LstmCell lstm_cell(MapperContext& c, std::size_t first, bool forget_second) {
  LstmCell k{.w = c.in(first),
             .b = c.in(first + 4),
             .units = units_of(c, first),
             .forget_bias = forget_second ? 0 : static_cast<double>(c.attr_or<float>("forget_bias", 1)),
             .clip = static_cast<double>(c.attr_or<float>("cell_clip", forget_second ? 0 : 3)),
             .forget_second = forget_second};
  if (!c.flag("use_peephole")) return k;
  k.at_i = c.in(first + 1);
  k.at_f = c.in(first + 2);
  k.at_o = c.in(first + 3);
  return k;
}

// x, c, h, the cell's weights
Values map_lstm_block_cell(MapperContext& c) {
  const LstmCell k = lstm_cell(c, 3, false);
  return lstm_step(c, k, c.in(0), c.in(1), c.in(2));
}

// Both halves of the columns.
Values two_gates(MapperContext& c, Value* both) {
  const Shape &b = c.in(5)->shape(), &h = c.in(1)->shape();
  Dim units = b.ranked() ? b[0] : kUnknownDim;
  if (!is_known(units) && h.ranked()) units = h[1];
  if (is_known(units)) return c.split(both, Ints(2, units), 1);
  Value* middle = c.dims(c.in(1), 1, 2);
  return {head(c, both, middle, 1), after(c, both, middle, 1)};
}

// x, h, weights of [r u] and c, their biases; gives r, u, c, h' = u * h + (1 - u) * c
Values map_gru_block_cell(MapperContext& c) {
  Value* h = c.in(1);
  Value* ru = sigmoid(c, combined(c, c.in(0), h, c.in(2), c.in(4)));
  const Values gates = two_gates(c, ru);
  Value* reset = c.mul(gates[0], h);
  Value* candidate = tanh_of(c, combined(c, c.in(0), reset, c.in(3), c.in(5)));
  Value* kept = c.mul(gates[1], h);
  Value* rest = c.sub(c.scalar_like(ru, 1), gates[1]);
  return {gates[0], gates[1], candidate, c.add(kept, c.mul(rest, candidate))};
}

Value* part(MapperContext& c, Value* v, std::int64_t begin, std::int64_t size, std::int64_t axis) {
  return c.slice(v, Ints{begin}, Ints{begin + size}, Ints{axis});
}

// The gates of the last axis in ONNX's order i o f c.
Value* reordered(MapperContext& c, const LstmCell& k, Value* v, std::int64_t axis) {
  Values g;
  for (std::int64_t i = 0; i < 4; ++i) g.push_back(part(c, v, i * k.units, k.units, axis));
  return k.forget_second ? c.concat({g[0], g[3], g[1], g[2]}, axis)
                         : c.concat({g[0], g[3], g[2], g[1]}, axis);
}

// ONNX's LSTM gives the outputs h, and does not bound the cell's state.
Value* as_lstm(MapperContext& c, const LstmCell& k) {
  const bool second = k.forget_second;
  const std::int64_t units = k.units, features = c.dim_of(1, 2);
  Value* w = c.transpose(reordered(c, k, k.w, 1), {1, 0});
  Value* bias = reordered(c, k, k.b, 0);
  std::vector<float> forget(static_cast<std::size_t>(4 * units));
  for (std::int64_t i = 2 * units; i < 3 * units; ++i)
    nth(forget, i) = static_cast<float>(second ? 0 : k.forget_bias);
  bias = c.add(bias, c.cast(c.constant({4 * units}, forget), bias->dtype()));
  Value* zeros =
      c.cast(c.constant({4 * units}, std::vector<float>(static_cast<std::size_t>(4 * units))), bias->dtype());
  Value* b = c.unsqueeze(c.concat({bias, zeros}, 0), {0});
  Value* peepholes = k.at_i ? c.unsqueeze(c.concat({k.at_i, k.at_o, k.at_f}, 0), {0}) : nullptr;
  Value* time = c.cast(c.dim(c.in(1), 0), DType::i32);
  Value* steps = c.minimum(c.cast(c.in(0), DType::i32), time);
  Value* lengths = c.expand(steps, c.dims(c.in(1), 1, 2));
  Value* h0 = c.unsqueeze(c.in(3), {0});
  Value* c0 = c.unsqueeze(c.in(2), {0});
  Value* kernel = c.unsqueeze(part(c, w, 0, features, 1), {0});
  Value* recurrent = c.unsqueeze(part(c, w, features, units, 1), {0});
  Values in{c.in(1), kernel, recurrent, b, lengths, h0, c0};
  if (peepholes) in.push_back(peepholes);
  const Values y = c.emit_n("LSTM", in, {{"hidden_size", units}}, 3);
  return c.squeeze(y[0], {1});
}

// All that a step computes; zeros behind the last one, where TensorFlow leaves some of it undefined.
Values as_loop(MapperContext& c, const LstmCell& k, const std::vector<bool>& wanted) {
  Value* x = c.in(1);
  Value* time = c.dim(x, 0);
  const Values all =
      counted_loop(c, time, {c.in(2), c.in(3)}, [&](Emitter& e, Value* at, const Values& state) {
        Value* now = e.squeeze(e.gather(x, at, 0), {0});
        const Values made = lstm_step(e, k, now, state[0], state[1]);
        Values out{made[1], made[6]};
        for (std::size_t i = 0; i < made.size(); ++i)
          if (wanted[i]) out.push_back(made[i]);
        return out;
      });
  Value* zero = c.i64(0);
  Value* one = c.i64(1);
  Value* at = c.reshape(c.range(zero, time, one), {-1, 1, 1});
  Value* runs = c.less(at, c.cast(c.in(0), DType::i64));
  Value* none = c.scalar_like(x, 0);
  Values out(wanted.size());
  for (std::size_t i = 0, from = 2; i < wanted.size(); ++i)
    if (wanted[i]) out[i] = c.where(runs, all[from++], none);
  return out;
}

// steps, x [time, batch, features], c, h, the cell's weights
Values map_block_lstm(MapperContext& c) {
  const LstmCell k = lstm_cell(c, 4, c.node().op() == "BlockLSTMV2");
  std::vector<bool> wanted;
  for (std::size_t i = 0; i < 7; ++i) wanted.push_back(c.node().output(i)->is_used());
  const Shape& x = c.in(1)->shape();
  const bool is_plain = k.clip <= 0 && x.ranked() && is_known(x[2]) &&
                        std::find(wanted.begin(), wanted.end() - 1, true) == wanted.end() - 1;
  if (!is_plain) return as_loop(c, k, wanted);
  Values out(wanted.size());
  out.back() = as_lstm(c, k);
  return out;
}

}  // namespace

void register_recurrent_cells(OpRegistry& r) {
  r.op("LSTMBlockCell").by(map_lstm_block_cell);
  r.op("GRUBlockCell").by(map_gru_block_cell);
  r.op("BlockLSTM", "BlockLSTMV2").by(map_block_lstm);
}

}  // namespace t2o::op_mappers
