#include <gtest/gtest.h>

#include <random>

#include "engines/onnxruntime.h"
#include "engines/tensorflow.h"
#include "harness.h"
#include "pipeline.h"
#include "tests/support/coverage.h"
#include "verify/compare.h"

// TensorFlow has kernels for CudnnRNN on GPUs alone. So the truth is the same layers written out, step by
// step, with TensorFlow's MatMul, Sigmoid and so on: the equations of cuDNN's documentation, from weights
// that are apart for each gate. Into the flat buffer they go in the order that Keras uses for its own cuDNN
// layers.
namespace t2o {
namespace {

struct Setting {
  std::string mode = "lstm";
  std::int64_t layers = 1, directions = 1, features = 2;
  std::string op = "CudnnRNNV3", input_mode = "linear_input";
  bool time_major = true, states = true;
  std::vector<std::int32_t> lengths = {4, 4, 4};
  DType dtype = DType::f32;
};

constexpr std::int64_t kTime = 4, kBatch = 3, kUnits = 3;

std::int64_t gates_of(const Setting& s) { return s.mode == "lstm" ? 4 : s.mode == "gru" ? 3 : 1; }
bool skips(const Setting& s, std::int64_t layer) {
  return layer == 0 &&
         (s.input_mode == "skip_input" || (s.input_mode == "auto_select" && s.features == kUnits));
}

struct Part {  // of one layer in one direction, by gates in cuDNN's order
  std::vector<std::vector<float>> kernels, recurrent, biases, recurrent_biases;
};

class Parts {
 public:
  explicit Parts(const Setting& s) {
    for (std::int64_t layer = 0; layer < s.layers; ++layer)
      for (std::int64_t d = 0; d < s.directions; ++d) {
        Part p;
        for (std::int64_t g = 0; g < gates_of(s); ++g) {
          const std::int64_t width = layer == 0 ? s.features : s.directions * kUnits;
          if (!skips(s, layer)) p.kernels.push_back(random(width * kUnits));
          p.recurrent.push_back(random(kUnits * kUnits));
          p.biases.push_back(random(kUnits));
          p.recurrent_biases.push_back(random(kUnits));
        }
        parts.push_back(std::move(p));
      }
  }

  std::vector<float> flat() const {
    std::vector<float> all;
    const auto add = [&](const std::vector<std::vector<float>>& of) {
      for (const std::vector<float>& v : of) all.insert(all.end(), v.begin(), v.end());
    };
    for (const Part& p : parts) {
      add(p.kernels);
      add(p.recurrent);
    }
    for (const Part& p : parts) {
      add(p.biases);
      add(p.recurrent_biases);
    }
    return all;
  }

  std::vector<float> random(std::int64_t n) {
    std::vector<float> v(static_cast<std::size_t>(n));
    for (float& x : v) x = static_cast<float>(static_cast<int>(random_() % 2001) - 1000) / 1000;
    return v;
  }

  std::vector<Part> parts;

 private:
  std::minstd_rand random_{5};
};

TensorPtr of_type(DType dtype, Ints dims, const std::vector<float>& v) {
  if (dtype == DType::f64)
    return Tensor::of<double>(std::move(dims), std::vector<double>(v.begin(), v.end()));
  if (dtype == DType::f32) return Tensor::of<float>(std::move(dims), v);
  std::vector<std::uint16_t> bits;
  for (const float x : v) bits.push_back(float_to_half(x));
  return Tensor::of<std::uint16_t>(std::move(dims), bits)->with_dtype(dtype);
}

// The layers with TensorFlow's elementary operators.
class WrittenOut {
 public:
  WrittenOut(engines::TfGraph& g, const Setting& s, const Parts& parts) : g_(g), s_(s), parts_(parts) {}

  Strings build(const std::string& input, const std::string& h, const std::string& c) {
    const std::string x = s_.time_major ? input : transposed(input);
    h0_ = unstack(s_.time_major ? h : transposed(h), s_.layers * s_.directions);
    c0_ = unstack(s_.time_major ? c : transposed(c), s_.layers * s_.directions);
    Strings steps = unstack(x, kTime);
    for (std::int64_t layer = 0; layer < s_.layers; ++layer) {
      std::vector<Strings> sequences;
      for (std::int64_t d = 0; d < s_.directions; ++d) sequences.push_back(run(layer, d, steps));
      for (std::size_t t = 0; t < steps.size(); ++t)
        steps[t] = s_.directions == 1 ? sequences[0][t] : concat({sequences[0][t], sequences[1][t]}, 1);
    }
    Strings results{op("Pack", {steps}), op("Pack", {h_})};
    if (s_.mode == "lstm") results.push_back(op("Pack", {c_}));
    if (!s_.time_major)
      for (std::string& r : results) r = transposed(r);
    return results;
  }

 private:
  std::string op(const std::string& name, std::vector<engines::TfInput> in,
                 std::vector<engines::TfAttr> attrs = {}) {
    return g_.add({.op = name,
                   .name = "n" + std::to_string(next_++),
                   .inputs = std::move(in),
                   .attrs = std::move(attrs)});
  }
  std::string constant(const TensorPtr& t) { return g_.constant("n" + std::to_string(next_++), t); }
  std::string number(float v) { return constant(of_type(s_.dtype, {}, {v})); }
  std::string transposed(const std::string& v) {
    return op("Transpose", {v, constant(Tensor::of<std::int32_t>({3}, {1, 0, 2}))});
  }
  std::string concat(Strings of, std::int32_t axis) {
    return op("ConcatV2", {engines::TfInput(std::move(of)), constant(Tensor::scalar<std::int32_t>(axis))});
  }
  Strings unstack(const std::string& v, std::int64_t count) {
    const std::string n = op("Unpack", {v}, {{"num", count}});
    Strings all;
    for (std::int64_t i = 0; i < count; ++i) all.push_back(n + ":" + std::to_string(i));
    return all;
  }
  std::string add(const std::string& a, const std::string& b) { return op("AddV2", {a, b}); }
  std::string mul(const std::string& a, const std::string& b) { return op("Mul", {a, b}); }

  // x @ W' + b, the kernel as cuDNN has it: [units, inputs]
  std::string affine(const std::string& x, const std::vector<float>* kernel, const std::vector<float>& bias) {
    std::string y = x;
    if (kernel) {
      const std::int64_t width = static_cast<std::int64_t>(kernel->size()) / kUnits;
      y = op("MatMul", {x, constant(of_type(s_.dtype, {kUnits, width}, *kernel))}, {{"transpose_b", true}});
    }
    return add(y, constant(of_type(s_.dtype, {kUnits}, bias)));
  }
  std::string input_part(const Part& p, std::size_t g, const std::string& x) {
    return affine(x, p.kernels.empty() ? nullptr : &p.kernels[g], p.biases[g]);
  }
  std::string recurrent_part(const Part& p, std::size_t g, const std::string& h) {
    return affine(h, &p.recurrent[g], p.recurrent_biases[g]);
  }
  std::string both(const Part& p, std::size_t g, const std::string& x, const std::string& h) {
    return add(input_part(p, g, x), recurrent_part(p, g, h));
  }

  std::pair<std::string, std::string> step(const Part& p, const std::string& x, const std::string& h,
                                           const std::string& c) {
    if (s_.mode == "lstm") {  // i f g o
      const std::string i = op("Sigmoid", {both(p, 0, x, h)}), f = op("Sigmoid", {both(p, 1, x, h)});
      const std::string g = op("Tanh", {both(p, 2, x, h)}), o = op("Sigmoid", {both(p, 3, x, h)});
      const std::string cell = add(mul(f, c), mul(i, g));
      return {mul(o, op("Tanh", {cell})), cell};
    }
    if (s_.mode == "gru") {  // r z n: n = tanh(Wn x + bn + r * (Rn h + rbn)), h' = (1 - z) * n + z * h
      const std::string r = op("Sigmoid", {both(p, 0, x, h)}), z = op("Sigmoid", {both(p, 1, x, h)});
      const std::string n = op("Tanh", {add(input_part(p, 2, x), mul(r, recurrent_part(p, 2, h)))});
      return {add(mul(op("Sub", {number(1), z}), n), mul(z, h)), c};
    }
    return {op(s_.mode == "rnn_relu" ? "Relu" : "Tanh", {both(p, 0, x, h)}), c};
  }

  std::string masked(std::int64_t t, const std::string& active, const std::string& other) {
    std::vector<std::uint8_t> runs;
    for (const std::int32_t n : s_.lengths) runs.push_back(t < n ? 1 : 0);
    const std::string mask =
        constant(Tensor::of<std::uint8_t>({kBatch, 1}, runs)->with_dtype(DType::boolean));
    return op("SelectV2", {mask, active, other});
  }

  Strings run(std::int64_t layer, std::int64_t direction, const Strings& x) {
    const auto at = static_cast<std::size_t>(layer * s_.directions + direction);
    std::string h = h0_[at], c = c0_[at];
    Strings y(x.size());
    for (std::int64_t i = 0; i < kTime; ++i) {
      const std::int64_t t = direction == 0 ? i : kTime - 1 - i;
      const auto [h1, c1] = step(parts_.parts[at], x[static_cast<std::size_t>(t)], h, c);
      y[static_cast<std::size_t>(t)] = masked(t, h1, number(0));
      h = masked(t, h1, h);
      c = masked(t, c1, c);
    }
    h_.push_back(h);
    c_.push_back(c);
    return y;
  }

  engines::TfGraph& g_;
  const Setting& s_;
  const Parts& parts_;
  Strings h0_, c0_, h_, c_;
  int next_ = 0;
};

Bytes as_bytes(const std::string& s) { return std::as_bytes(std::span(s.data(), s.size())); }

std::string name_of(const Setting& s) {
  return s.op + " " + s.mode + " layers " + std::to_string(s.layers) + " directions " +
         std::to_string(s.directions) + " " + s.input_mode + (s.time_major ? "" : " batch first") + " " +
         std::string(name(s.dtype));
}

struct Model {
  engines::TfGraph graph;
  engines::Feeds feeds;
  Strings outputs;
};

Model cudnn(const Setting& s, Parts& parts) {
  Model m;
  const std::int64_t rows = s.layers * s.directions;
  const Ints x_dims = s.time_major ? Ints{kTime, kBatch, s.features} : Ints{kBatch, kTime, s.features};
  const Ints h_dims = s.time_major ? Ints{rows, kBatch, kUnits} : Ints{kBatch, rows, kUnits};
  const auto feed = [&](const char* input, const Ints& dims, bool zero) {
    std::vector<float> v = parts.random(element_count(dims));
    if (zero) v.assign(v.size(), 0);
    const TensorPtr value = of_type(s.dtype, dims, v);
    if (zero) {
      m.graph.constant(input, value);
      return;
    }
    Shape shape(dims);
    m.graph.placeholder(input, s.dtype, shape);
    m.feeds.emplace_back(std::string(input), value);
  };
  feed("x", x_dims, false);
  feed("h", h_dims, !s.states);
  feed("c", h_dims, !s.states);
  const std::vector<float> flat = parts.flat();
  m.graph.constant("params", of_type(s.dtype, {static_cast<std::int64_t>(flat.size())}, flat));
  std::vector<engines::TfInput> in{"x", "h", "c", "params"};
  std::vector<engines::TfAttr> attrs{
      {"rnn_mode", s.mode},
      {"input_mode", s.input_mode},
      {"is_training", true},
      {"direction", std::string(s.directions == 2 ? "bidirectional" : "unidirectional")}};
  if (s.op == "CudnnRNNV3") {
    m.graph.placeholder("lengths", DType::i32, Shape(Ints{kBatch}));
    m.feeds.emplace_back("lengths", Tensor::of<std::int32_t>({kBatch}, s.lengths));
    in.push_back("lengths");
    attrs.push_back({"time_major", s.time_major});
  }
  m.graph.add({.op = s.op, .name = "rnn", .inputs = in, .attrs = attrs});
  m.outputs = {"rnn:0", "rnn:1"};
  if (s.mode == "lstm") m.outputs.push_back("rnn:2");
  return m;
}

void run_onnx(const Setting& s, const Model& m, const std::vector<TensorPtr>& truth, int opset) {
  const std::string graph_def = m.graph.graph_def();
  Options options;
  for (const auto& feed : m.feeds)
    if (feed.first != "c" || s.mode == "lstm") options.inputs.push_back(feed.first + ":0");
  options.outputs = m.outputs;
  options.opset = opset;
  const Conversion c = convert(options, as_bytes(graph_def));
  const std::string title = name_of(s) + ", opset " + std::to_string(opset);
  ASSERT_TRUE(c.ok()) << title << ": " << (c.diagnostics.empty() ? "" : to_string(c.diagnostics[0]));
  std::string model;
  ASSERT_FALSE(has_errors(write_model_bytes(c, options, model)));
  const auto session = engines::OrtSession::from_bytes(as_bytes(model), {.threads = 1});
  engines::Feeds feeds;
  for (const auto& [input, value] : m.feeds)
    if (input != "c" || s.mode == "lstm") feeds.emplace_back(session.inputs()[feeds.size()].name, value);
  const std::vector<TensorPtr> got = session.run(feeds);
  ASSERT_EQ(got.size(), truth.size());
  const double tolerance = s.dtype == DType::f16 ? 5e-3 : 1e-5;
  for (std::size_t i = 0; i < got.size(); ++i)
    EXPECT_EQ(verify::compare(*truth[i], *got[i], {tolerance, tolerance}).problem, "")
        << title << ", output " << i;
  test::record_coverage(*c.source_graph, opset);
}

void check(const Setting& s) {
  if (numeric::engines_missing()) return;
  Parts parts(s);
  const Model m = cudnn(s, parts);
  engines::TfGraph written;
  for (const char* name : {"x", "h", "c"}) written.placeholder(name, s.dtype, Shape::unknown_dims(3));
  const Strings fetches = WrittenOut(written, s, parts).build("x", "h", "c");
  engines::Feeds feeds = m.feeds;
  std::erase_if(feeds, [](const auto& f) { return f.first == "lengths"; });
  if (!s.states) {
    const std::int64_t rows = s.layers * s.directions;
    const Ints dims = s.time_major ? Ints{rows, kBatch, kUnits} : Ints{kBatch, rows, kUnits};
    for (const char* name : {"h", "c"})
      feeds.emplace_back(
          name, of_type(s.dtype, dims, std::vector<float>(static_cast<std::size_t>(element_count(dims)))));
  }
  const auto truth = engines::TfSession(written, {.single_threaded = true}).run(feeds, fetches);
  for (const int opset : {11, 13, 14, 18, 21, 26}) run_onnx(s, m, truth, opset);
}

TEST(CudnnRnn, Modes) {
  for (const char* mode : {"lstm", "gru", "rnn_tanh", "rnn_relu"}) {
    check({.mode = mode});
    check({.mode = mode, .op = "CudnnRNN"});
    check({.mode = mode, .op = "CudnnRNNV2", .states = false});
  }
}

TEST(CudnnRnn, LayersAndDirections) {
  for (const char* mode : {"lstm", "gru", "rnn_relu"}) {
    check({.mode = mode, .layers = 3});
    check({.mode = mode, .directions = 2});
    check({.mode = mode, .layers = 2, .directions = 2, .lengths = {2, 4, 1}});
    check({.mode = mode, .layers = 2, .directions = 2, .time_major = false, .lengths = {3, 1, 4}});
  }
}

TEST(CudnnRnn, LengthsOfZero) {
  check({.directions = 2, .lengths = {0, 4, 1}});
  check({.mode = "gru", .layers = 2, .states = false, .lengths = {0, 0, 2}});
}

TEST(CudnnRnn, InputsAsTheyAre) {
  for (const char* mode : {"lstm", "gru", "rnn_tanh"}) {
    check({.mode = mode, .layers = 2, .directions = 2, .features = kUnits, .input_mode = "skip_input"});
    check({.mode = mode, .features = kUnits, .input_mode = "auto_select"});
    check({.mode = mode, .input_mode = "auto_select"});
  }
}

TEST(CudnnRnn, Types) {
  for (const DType dtype : {DType::f16, DType::f64}) {
    check({.layers = 2, .directions = 2, .dtype = dtype});
    check({.mode = "gru", .dtype = dtype});
  }
}

}  // namespace
}  // namespace t2o
