#include <algorithm>

#include "op_mappers/all.h"
#include "op_mappers/onnx_recurrent.h"
#include "tfgraph/facts.h"

namespace t2o::op_mappers {
namespace {

// cuDNN's recurrent layers: a stack, each in one or both directions, with all parameters in one buffer. The
// buffer has a part for each layer and direction, and each part has the gates in cuDNN's order. First come
// the kernels and recurrent kernels [units, inputs] of all parts, then their biases and recurrent biases.
struct CudnnRnn {
  MapperContext& c;
  tfgraph::CellKind kind = tfgraph::CellKind::lstm;
  std::string activation = {};           // where it is not the usual one
  std::vector<std::int64_t> gates = {};  // ONNX's, by their number in cuDNN
  bool time_major = true;
  bool skips_input = false;  // the first layer adds its input as it is
  std::int64_t units = 0, layers = 0, directions = 1, features = 0;
  Value* lengths = nullptr;

  bool has_cell() const { return kind == tfgraph::CellKind::lstm; }
  std::int64_t gate_count() const { return static_cast<std::int64_t>(gates.size()); }
  std::int64_t width(std::int64_t layer) const { return layer == 0 ? features : directions * units; }
  std::int64_t kernel_size(std::int64_t layer) const {
    return layer == 0 && skips_input ? 0 : units * width(layer);
  }
  // The numbers of one part's kernels.
  std::int64_t kernels_of(std::int64_t layer) const {
    return gate_count() * (kernel_size(layer) + units * units);
  }
  // Where the kernels of a part begin; of the part behind the last: where the biases do.
  std::int64_t kernels_at(std::int64_t part) const {
    const std::int64_t of_first = std::min(part, directions);
    return of_first * kernels_of(0) + (part - of_first) * kernels_of(1);
  }
  std::int64_t biases_at(std::int64_t part) const {
    return kernels_at(layers * directions) + part * 2 * gate_count() * units;
  }
};

void read_mode(CudnnRnn& r) {
  const auto mode = r.c.attr_or<std::string>("rnn_mode", "lstm");
  if (mode == "lstm") {  // i f c o, ONNX: i o f c
    r.gates = {0, 3, 1, 2};
  } else if (mode == "gru") {  // r z h, ONNX: z r h
    r.kind = tfgraph::CellKind::gru;
    r.gates = {1, 0, 2};
  } else if (mode == "rnn_tanh" || mode == "rnn_relu") {
    r.kind = tfgraph::CellKind::rnn;
    r.gates = {0};
    if (mode == "rnn_relu") r.activation = "Relu";
  } else {
    r.c.fail(Code::unsupported_attr, "its rnn_mode '" + mode + "' is not known");
  }
}

constexpr std::int64_t kMostLayers = 1000, kMostFeatures = 1LL << 31, kLargestUnitKernel = 1 << 26;

// Where these hold, no number of parameters overflows.
void check_sizes(const CudnnRnn& r) {
  if (r.layers >= 1 && r.layers <= kMostLayers && r.units >= 1 &&
      r.units <= tfgraph::RecurrentLayer::kMostUnits && r.features <= kMostFeatures)
    return;
  r.c.fail(Code::unsupported_attr,
           "by the shapes of its input and states it has " + std::to_string(r.layers) + " layers of " +
               std::to_string(r.units) + " units and " + std::to_string(r.features) + " features",
           "{shapes} | {cut}");
}

bool skips_input(const CudnnRnn& r) {
  const auto mode = r.c.attr_or<std::string>("input_mode", "linear_input");
  if (mode == "linear_input" || (mode == "auto_select" && r.features != r.units)) return false;
  if (mode != "skip_input" && mode != "auto_select")
    r.c.fail(Code::unsupported_attr, "its input_mode '" + mode + "' is not known");
  if (r.features != r.units)
    r.c.fail(Code::bad_model,
             "with input_mode skip_input its input must have as many features as it has units");
  if (r.gate_count() * r.units * r.units > kLargestUnitKernel)
    r.c.fail(Code::unsupported_attr,
             "with input_mode skip_input the kernel that ONNX needs for its " + std::to_string(r.units) +
                 " units would be too large",
             "use the layer with input_mode linear_input");
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
  check_sizes(r);
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
    nth(ones, row * r.units + row % r.units) = 1;
  return r.c.cast(r.c.constant({r.gate_count() * r.units, r.units}, ones), r.c.in(0)->dtype());
}

// [layers * directions, batch, units], of one layer; null: zeros.
Value* initial(CudnnRnn& r, std::size_t input, std::int64_t layer) {
  MapperContext& c = r.c;
  if (tfgraph::is_zero(c.node().input(input))) return nullptr;
  Value* all = r.time_major ? c.in(input) : c.transpose(c.in(input), {1, 0, 2});
  return r.layers == 1 ? all
                       : c.slice(all, Ints{layer * r.directions}, Ints{(layer + 1) * r.directions}, Ints{0});
}

tfgraph::RecurrentLayer onnx_layer(const CudnnRnn& r) {
  tfgraph::RecurrentLayer l{.kind = r.kind, .units = r.units, .linear_before_reset = true};
  if (r.directions == 2) l.direction = tfgraph::Direction::both;
  if (!r.activation.empty()) l.activations.resize(static_cast<std::size_t>(r.directions), {r.activation});
  return l;
}

Values map_layer(CudnnRnn& r, std::int64_t layer, Value* x) {
  MapperContext& c = r.c;
  const std::int64_t kernel = r.kernel_size(layer), n = r.gate_count();
  const auto part = [&](std::int64_t d) { return layer * r.directions + d; };
  const auto for_each_direction = [&](const auto& make) {
    return per_direction(c, static_cast<std::size_t>(r.directions),
                         [&](std::size_t d) { return make(static_cast<std::int64_t>(d)); });
  };
  OnnxRecurrent in{.x = x};
  in.kernels = for_each_direction([&](std::int64_t d) {
    return kernel == 0 ? unit_kernel(r) : gathered(r, r.kernels_at(part(d)), {r.units, r.width(layer)});
  });
  in.recurrent_kernels = for_each_direction([&](std::int64_t d) {
    return gathered(r, r.kernels_at(part(d)) + n * kernel, {r.units, r.units});
  });
  in.biases = for_each_direction([&](std::int64_t d) {
    Value* input_bias = gathered(r, r.biases_at(part(d)), {r.units});
    Value* recurrent_bias = gathered(r, r.biases_at(part(d)) + n * r.units, {r.units});
    return c.concat({input_bias, recurrent_bias}, 0);
  });
  in.lengths = r.lengths;
  in.h = initial(r, 1, layer);
  if (r.has_cell()) in.c = initial(r, 2, layer);
  Values y = emit_recurrent(c, onnx_layer(r), in);
  y[0] = r.directions == 1 ? c.squeeze(y[0], {1})
                           : c.reshape(c.transpose(y[0], {0, 2, 1, 3}), {0, 0, r.directions * r.units});
  return y;
}

Values map_cudnn_rnn(MapperContext& c) {
  CudnnRnn r = read(c);
  Value* x = r.time_major ? c.in(0) : c.transpose(c.in(0), {1, 0, 2});
  Values h, cell;
  for (std::int64_t layer = 0; layer < r.layers; ++layer) {
    const Values y = map_layer(r, layer, x);
    x = y[0];
    h.push_back(y[1]);
    if (r.has_cell()) cell.push_back(y[2]);
  }
  const auto stacked = [&](const Values& states) {
    Value* all = states.size() == 1 ? states[0] : c.concat(states, 0);
    return r.time_major ? all : c.transpose(all, {1, 0, 2});
  };
  Values out(c.node().outputs().size());
  out[0] = r.time_major ? x : c.transpose(x, {1, 0, 2});
  if (c.node().output(1)->is_used()) out[1] = stacked(h);
  if (r.has_cell() && c.node().output(2)->is_used()) out[2] = stacked(cell);
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
