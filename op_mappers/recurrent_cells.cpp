#include "op_mappers/all.h"

namespace t2o::op_mappers {
namespace {

Value* sigmoid(MapperContext& c, Value* x) { return c.emit("Sigmoid", {x}); }
Value* tanh_of(MapperContext& c, Value* x) { return c.emit("Tanh", {x}); }

// [x, h] @ weight + bias
Value* combined(MapperContext& c, Value* x, Value* h, Value* weight, Value* bias) {
  Value* xh = c.concat({x, h}, 1);
  return c.add(c.emit("MatMul", {xh, weight}), bias);
}

Value* with_peephole(MapperContext& c, Value* z, Value* weight, Value* cell) {
  return weight ? c.add(z, c.mul(weight, cell)) : z;
}

// x, c, h, w, peepholes i f o, b; gives i, c', f, o, ci, tanh(c'), h'; gates stand as i ci f o
Values map_lstm_block_cell(MapperContext& c) {
  const bool peephole = c.flag("use_peephole");
  const auto forget_bias = static_cast<double>(c.attr_or<float>("forget_bias", 1));
  const auto clip = static_cast<double>(c.attr_or<float>("cell_clip", 3));
  const std::int64_t units = c.dim_of(7, 0) / 4;
  Value* before = c.in(1);
  Value* z = combined(c, c.in(0), c.in(2), c.in(3), c.in(7));
  const Values gates = c.split(z, Ints(4, units), 1);
  Value* i = sigmoid(c, with_peephole(c, gates[0], peephole ? c.in(4) : nullptr, before));
  Value* ci = tanh_of(c, gates[1]);
  Value* forget = c.add(gates[2], c.scalar_like(z, forget_bias));
  Value* f = sigmoid(c, with_peephole(c, forget, peephole ? c.in(5) : nullptr, before));
  Value* added = c.mul(ci, i);
  Value* cs = c.add(added, c.mul(f, before));
  if (clip > 0) cs = c.clip(cs, -clip, clip);
  Value* o = sigmoid(c, with_peephole(c, gates[3], peephole ? c.in(6) : nullptr, cs));
  Value* co = tanh_of(c, cs);
  return {i, cs, f, o, ci, co, c.mul(co, o)};
}

// x, h, weights of [r u] and c, their biases; gives r, u, c, h' = u * h + (1 - u) * c
Values map_gru_block_cell(MapperContext& c) {
  const std::int64_t units = c.dim_of(5, 0);
  Value* h = c.in(1);
  Value* ru = sigmoid(c, combined(c, c.in(0), h, c.in(2), c.in(4)));
  const Values gates = c.split(ru, Ints(2, units), 1);
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
Value* reordered(MapperContext& c, Value* v, bool second_version, std::int64_t axis) {
  const std::int64_t units = c.dim_of(8, 0) / 4;
  Values g;
  for (std::int64_t i = 0; i < 4; ++i) g.push_back(part(c, v, i * units, units, axis));
  return second_version ? c.concat({g[0], g[3], g[1], g[2]}, axis) : c.concat({g[0], g[3], g[2], g[1]}, axis);
}

// steps, x [time, batch, features], c, h, w, peepholes i f o, b; gates stand as i c f o, in V2 as i f c o
Values map_block_lstm(MapperContext& c) {
  const bool second = c.node().op() == "BlockLSTMV2";
  const auto clip = c.attr_or<float>("cell_clip", second ? 0 : 3);
  if (clip > 0)
    c.fail(Code::unsupported_attr, "cell_clip bounds the cell's state, which ONNX's LSTM cannot do",
           "use no cell_clip");
  const auto forget_bias = second ? 0.0 : static_cast<double>(c.attr_or<float>("forget_bias", 1));
  const std::int64_t units = c.dim_of(8, 0) / 4, features = c.dim_of(1, 2);
  Value* w = c.transpose(reordered(c, c.in(4), second, 1), {1, 0});
  Value* bias = reordered(c, c.in(8), second, 0);
  std::vector<float> forget(static_cast<std::size_t>(4 * units));
  for (std::int64_t i = 2 * units; i < 3 * units; ++i)
    forget[static_cast<std::size_t>(i)] = static_cast<float>(forget_bias);
  bias = c.add(bias, c.cast(c.constant({4 * units}, forget), bias->dtype()));
  Value* zeros =
      c.cast(c.constant({4 * units}, std::vector<float>(static_cast<std::size_t>(4 * units))), bias->dtype());
  Value* b = c.unsqueeze(c.concat({bias, zeros}, 0), {0});
  Value* peepholes =
      c.flag("use_peephole") ? c.unsqueeze(c.concat({c.in(5), c.in(7), c.in(6)}, 0), {0}) : nullptr;
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
  return {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, c.squeeze(y[0], {1})};
}

}  // namespace

void register_recurrent_cells(OpRegistry& r) {
  r.op("LSTMBlockCell").by(map_lstm_block_cell);
  r.op("GRUBlockCell").by(map_gru_block_cell);
  r.op("BlockLSTM", "BlockLSTMV2").note("without cell_clip; only the outputs h").by(map_block_lstm);
}

}  // namespace t2o::op_mappers
