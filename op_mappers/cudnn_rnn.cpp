#include <algorithm>

#include "op_mappers/all.h"
#include "tfgraph/facts.h"

namespace t2o::op_mappers {
namespace {

// cuDNN's recurrent layers: several on top of each other, each in one or both directions, with all parameters
// in one buffer. Its parts are the layers and their directions, and in each part the gates in cuDNN's order:
// first the kernels and recurrent kernels [units, inputs] of all parts, then the biases and recurrent biases
// of all.
struct CudnnRnn {
  MapperContext& c;
  std::string op = {};                   // of ONNX
  std::string activation = {};           // where it is not the usual one
  std::vector<std::int64_t> gates = {};  // ONNX's, by their number in cuDNN
  bool time_major = true;
  bool skips_input = false;  // the first layer adds its input as it is
  std::int64_t units = 0, layers = 0, directions = 1, features = 0;
  Value* lengths = nullptr;
  Value* has_steps = nullptr;  // bool [1, batch, 1], when asked for

  std::int64_t gate_count() const { return static_cast<std::int64_t>(gates.size()); }
  std::int64_t width(std::int64_t layer) const { return layer == 0 ? features : directions * units; }
  std::int64_t kernel_size(std::int64_t layer) const {
    return layer == 0 && skips_input ? 0 : units * width(layer);
  }
  // Where the kernels of a part begin; of the part behind the last: where the biases do.
  std::int64_t kernels_at(std::int64_t part) const {
    std::int64_t at = 0;
    for (std::int64_t p = 0; p < part; ++p)
      at += gate_count() * (kernel_size(p / directions) + units * units);
    return at;
  }
  std::int64_t biases_at(std::int64_t part) const {
    return kernels_at(layers * directions) + part * 2 * gate_count() * units;
  }
};

void read_mode(CudnnRnn& r) {
  const auto mode = r.c.attr_or<std::string>("rnn_mode", "lstm");
  if (mode == "lstm") {  // i f c o, ONNX: i o f c
    r.op = "LSTM";
    r.gates = {0, 3, 1, 2};
  } else if (mode == "gru") {  // r z h, ONNX: z r h
    r.op = "GRU";
    r.gates = {1, 0, 2};
  } else if (mode == "rnn_tanh" || mode == "rnn_relu") {
    r.op = "RNN";
    r.gates = {0};
    if (mode == "rnn_relu") r.activation = "Relu";
  } else {
    r.c.fail(Code::unsupported_attr, "its rnn_mode '" + mode + "' is not known");
  }
}

bool skips_input(const CudnnRnn& r) {
  const auto mode = r.c.attr_or<std::string>("input_mode", "linear_input");
  if (mode == "linear_input" || (mode == "auto_select" && r.features != r.units)) return false;
  if (mode != "skip_input" && mode != "auto_select")
    r.c.fail(Code::unsupported_attr, "its input_mode '" + mode + "' is not known");
  if (r.features != r.units)
    r.c.fail(Code::bad_model,
             "with input_mode skip_input its input must have as many features as it has units");
  return true;
}

// All of them take part in all steps: fill(batch, time).
bool is_time(const CudnnRnn& r, Value* lengths) {
  using namespace tfgraph;
  lengths = through_identities(lengths);
  if (!is_op(lengths, "Fill")) return false;
  const auto time = extent_value(lengths->producer()->input(1));
  return time && *time == extent_of(r.c.node().input(0), r.time_major ? 0 : 1);
}

CudnnRnn read(MapperContext& c) {
  CudnnRnn r{.c = c};
  read_mode(r);
  r.time_major = c.attr_or<std::int64_t>("time_major", 1) != 0;
  if (c.attr_or<std::int64_t>("num_proj", 0) > 0)
    c.fail(Code::unsupported_attr,
           "its num_proj makes the output smaller than the cell, which ONNX's LSTM cannot do",
           "use a layer without projection, or one that is computed step by step in a loop");
  r.directions = c.attr_or<std::string>("direction", "unidirectional") == "bidirectional" ? 2 : 1;
  r.features = c.dim_of(0, 2);
  r.units = c.dim_of(1, 2);
  r.layers = c.dim_of(1, r.time_major ? 0 : 1) / r.directions;
  const bool is_training = c.attr_or<std::int64_t>("is_training", 1) != 0;
  if (c.attr_or<float>("dropout", 0) > 0 && is_training && r.layers > 1)
    c.fail(Code::unsupported_attr, "it is in training mode, with dropout between its layers",
           "export the model for inference (is_training=False)");
  r.skips_input = skips_input(r);
  const std::int64_t size = r.biases_at(r.layers * r.directions);
  if (c.dim_of(3, 0) != size)
    c.fail(Code::unsupported_attr, "its parameters are " + std::to_string(c.dim_of(3, 0)) +
                                       " numbers, where such a layer has " + std::to_string(size) +
                                       ": they are laid out in another way than cuDNN's usual one");
  if (c.input_count() > 4 && !is_time(r, c.node().input(4))) r.lengths = c.in(4);
  return r;
}

// Each gate's own piece of the buffer, in ONNX's order, one below the other.
Value* gathered(CudnnRnn& r, std::int64_t at, Ints dims) {
  MapperContext& c = r.c;
  const std::int64_t size = element_count(dims);
  Values parts;
  for (const std::int64_t gate : r.gates) {
    Value* part = c.slice(c.in(3), Ints{at + gate * size}, Ints{at + (gate + 1) * size}, Ints{0});
    parts.push_back(dims.size() == 1 ? part : c.reshape(part, dims));
  }
  return parts.size() == 1 ? parts[0] : c.concat(parts, 0);
}

Value* unit_kernel(CudnnRnn& r) {
  std::vector<float> ones(static_cast<std::size_t>(r.gate_count() * r.units * r.units));
  for (std::int64_t row = 0; row < r.gate_count() * r.units; ++row)
    ones[static_cast<std::size_t>(row * r.units + row % r.units)] = 1;
  return r.c.cast(r.c.constant({r.gate_count() * r.units, r.units}, ones), r.c.in(0)->dtype());
}

template <class Make>
Value* per_direction(CudnnRnn& r, const Make& make) {
  Values all;
  for (std::int64_t d = 0; d < r.directions; ++d) all.push_back(r.c.unsqueeze(make(d), {0}));
  return all.size() == 1 ? all[0] : r.c.concat(all, 0);
}

// [layers * directions, batch, units], of one layer; null: zeros.
Value* initial(CudnnRnn& r, std::size_t input, std::int64_t layer) {
  MapperContext& c = r.c;
  if (tfgraph::is_zero(c.node().input(input))) return nullptr;
  Value* all = r.time_major ? c.in(input) : c.transpose(c.in(input), {1, 0, 2});
  return r.layers == 1 ? all
                       : c.slice(all, Ints{layer * r.directions}, Ints{(layer + 1) * r.directions}, Ints{0});
}

// A row without steps keeps its state; ONNX Runtime gives zeros.
Value* final_state(CudnnRnn& r, Value* y, Value* before) {
  if (!r.lengths || !before) return y;
  MapperContext& c = r.c;
  if (!r.has_steps) {
    Value* zero = c.scalar(DType::i32, 0);
    r.has_steps = c.unsqueeze(c.greater(r.lengths, zero), {0, 2});
  }
  return c.where(r.has_steps, y, before);
}

Values map_layer(CudnnRnn& r, std::int64_t layer, Value* x) {
  MapperContext& c = r.c;
  const std::int64_t kernel = r.kernel_size(layer), n = r.gate_count();
  const auto part = [&](std::int64_t d) { return layer * r.directions + d; };
  Value* w = per_direction(r, [&](std::int64_t d) {
    return kernel == 0 ? unit_kernel(r) : gathered(r, r.kernels_at(part(d)), {r.units, r.width(layer)});
  });
  Value* rec = per_direction(r, [&](std::int64_t d) {
    return gathered(r, r.kernels_at(part(d)) + n * kernel, {r.units, r.units});
  });
  Value* b = per_direction(r, [&](std::int64_t d) {
    Value* input_bias = gathered(r, r.biases_at(part(d)), {r.units});
    Value* recurrent_bias = gathered(r, r.biases_at(part(d)) + n * r.units, {r.units});
    return c.concat({input_bias, recurrent_bias}, 0);
  });
  const bool has_cell = r.op == "LSTM";
  Value* h0 = initial(r, 1, layer);
  Value* c0 = has_cell ? initial(r, 2, layer) : nullptr;
  Values in{x, w, rec, b, r.lengths, h0, c0};
  while (!in.back()) in.pop_back();
  Attrs attrs{{"hidden_size", r.units}};
  if (r.directions == 2) attrs.push_back({"direction", std::string("bidirectional")});
  if (!r.activation.empty())
    attrs.push_back({"activations", Strings(static_cast<std::size_t>(r.directions), r.activation)});
  if (r.op == "GRU") attrs.push_back({"linear_before_reset", std::int64_t{1}});
  Values y = c.emit_n(r.op, in, attrs, has_cell ? 3 : 2);
  y[1] = final_state(r, y[1], h0);
  if (has_cell) y[2] = final_state(r, y[2], c0);
  y[0] = r.directions == 1 ? c.squeeze(y[0], {1})
                           : c.reshape(c.transpose(y[0], {0, 2, 1, 3}), {0, 0, r.directions * r.units});
  return y;
}

Values map_cudnn_rnn(MapperContext& c) {
  CudnnRnn r = read(c);
  const bool has_cell = r.op == "LSTM";
  Value* x = r.time_major ? c.in(0) : c.transpose(c.in(0), {1, 0, 2});
  Values h, cell;
  for (std::int64_t layer = 0; layer < r.layers; ++layer) {
    const Values y = map_layer(r, layer, x);
    x = y[0];
    h.push_back(y[1]);
    if (has_cell) cell.push_back(y[2]);
  }
  const auto stacked = [&](const Values& states) {
    Value* all = states.size() == 1 ? states[0] : c.concat(states, 0);
    return r.time_major ? all : c.transpose(all, {1, 0, 2});
  };
  Values out(c.node().outputs().size());
  out[0] = r.time_major ? x : c.transpose(x, {1, 0, 2});
  if (c.node().output(1)->is_used()) out[1] = stacked(h);
  if (has_cell && c.node().output(2)->is_used()) out[2] = stacked(cell);
  return out;
}

}  // namespace

void register_cudnn_rnn(OpRegistry& r) {
  r.op("CudnnRNN", "CudnnRNNV2", "CudnnRNNV3")
      .note("num_proj is 0; the sizes of input, states and parameters are known; no dropout in training mode")
      .ignores({"seed", "seed2"})
      .by(map_cudnn_rnn);
}

}  // namespace t2o::op_mappers
