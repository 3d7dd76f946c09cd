#include <algorithm>
#include <cmath>

#include "tfgraph/internal_ops.h"
#include "tflite/integer_lstm.h"
#include "tflite/lowering_scope.h"
#include "tflite/recurrent.h"

// Recurrent layers, as the file has them. Their states are tensors that keep their values from run to run.
namespace t2o::tflite {
namespace {

using namespace schema;
using F = ActivationFunctionType;

// Weights, as numbers. Codes without a scale are none.
Value* kernel(Op& op, std::size_t i) {
  Value* v = op.layer_weights(i);
  if (!is_float(v->dtype())) op.fail(Code::bad_model, "its weights are integers that have no scale");
  return v;
}

Value* optional(Op& op, std::size_t i) { return op.has(i) ? kernel(op, i) : nullptr; }

std::int64_t size_of(const Op& op, std::size_t input, unsigned axis) {
  if (axis >= op.rank(input))
    op.fail(Code::bad_model, "input " + std::to_string(input) + " has too few axes");
  return (*op.sizes(input))[axis];
}

// A bias of integers has a scale of its own or that of the products.
Value* bias(Op& op, std::size_t i, std::size_t x, std::size_t kernel) {
  Value* b = op.has(i) ? op.layer_weights(i) : nullptr;
  if (!b || !is_int(b->dtype())) return b;
  float scale = 0;
  if (const auto q = op.lowering().model().quantization(op.input(i)))
    scale = q->scales[0];
  else if (op.quantization_in_file(x) && op.quantization_in_file(kernel))
    scale = op.quantization_in_file(x)->scales[0] * op.quantization_in_file(kernel)->scales[0];
  else
    op.fail(Code::bad_model, "it has a bias of integers without a scale");
  Value* numbers = op.make("Cast", {b}, {{"DstT", DType::f32}});
  return op.make("Mul", {numbers, op.scalar(DType::f32, static_cast<double>(scale))});
}

// An input that keeps its value; another one is an ordinary input.
class Memory {
 public:
  Memory(Op& op, std::size_t input) : op_(op), input_(input) {
    if (!op.input(input).is_variable()) return;
    state_ = op.lowering().states().of_tensor(op.scope(), op.input_index(input));
  }
  Value* value() const {
    return state_ ? op_.lowering().states().numbers(op_.scope(), *state_) : op_.in(input_);
  }
  Value* codes() const {
    return state_ ? op_.lowering().states().codes(op_.scope(), *state_) : op_.codes(input_);
  }
  void set(Value* v) const {
    if (state_) op_.lowering().states().write_numbers(op_.scope(), *state_, v);
  }
  void set_codes(Value* v) const {
    if (state_) op_.lowering().states().write_codes(op_.scope(), *state_, v);
  }

 private:
  Op& op_;
  std::size_t input_;
  std::optional<std::size_t> state_;
};

// x as [time, batch, features], and the results in the form that x had.
enum class Form : std::uint8_t { step, time_first, batch_first };

Form form_of(const Op& op, bool time_major) {
  return op.rank(0) == 2 ? Form::step : time_major ? Form::time_first : Form::batch_first;
}

Value* steps_first(Op& op, Value* x, Form f) {
  if (f == Form::step) return op.make("ExpandDims", {x, op.scalar(DType::i32, 0)});
  return f == Form::time_first ? x : op.transpose(x, {1, 0, 2});
}

Value* as_given(Op& op, Value* y, Form f) {
  if (f == Form::step) return op.make("Squeeze", {y}, {{"squeeze_dims", Ints{0}}});
  return f == Form::time_first ? y : op.transpose(y, {1, 0, 2});
}

Dim step_count(const Op& op, Form f) {
  if (f == Form::step) return 1;
  const Shape s = op.shape(op.input(0));
  return s.rank() == 3 ? s[f == Form::time_first ? 0 : 1] : kUnknownDim;
}

// ---- LSTM

struct Places {  // of the inputs of one direction; 0: it has none
  std::size_t kernels, recurrent, peepholes, biases, projection, h, c, norms, aux;
};
constexpr Places kOneDirection{1, 5, 9, 12, 16, 18, 19, 20, 0};
constexpr Places kForward{1, 5, 9, 12, 16, 35, 36, 0, 40}, kBackward{18, 22, 26, 29, 33, 37, 38, 0, 44};

Value* recurrent_kernel(Op& op, std::size_t i, bool diagonal) {
  Value* v = optional(op, i);
  return v && diagonal && op.rank(i) == 1 ? op.make("MatrixDiag", {v}) : v;
}

Value* with_columns(Op& op, Value* a, Value* b) {
  return b ? op.make("ConcatV2", {a, b, op.scalar(DType::i32, 1)}) : a;
}

template <class Options>
Lstm read_lstm(Op& op, const Options& o, const Places& at, bool use_aux, bool diagonal = false) {
  Lstm l;
  l.cell_clip = o.cell_clip();
  l.projection_clip = o.proj_clip();
  l.activation = o.fused_activation_function();
  for (std::size_t g = 0; g < 4; ++g) {
    if (g == 0 && !op.has(at.kernels)) continue;
    l.kernels[g] = kernel(op, at.kernels + g);
    if (use_aux) l.kernels[g] = with_columns(op, l.kernels[g], optional(op, at.aux + g));
    l.recurrent[g] = recurrent_kernel(op, at.recurrent + g, diagonal);
    l.biases[g] = bias(op, at.biases + g, 0, at.kernels + g);
    if (at.norms != 0) l.norms[g] = optional(op, at.norms + g);
    if (!l.recurrent[g] || !l.biases[g])
      op.fail(Code::bad_model, "a gate has no recurrent weights or no bias");
    if (g == 3 && (l.norms[1] != nullptr) != (l.norms[3] != nullptr))
      op.fail(Code::bad_model, "not all of its gates are normalized");
  }
  constexpr std::size_t kPeepholes = 3;
  for (std::size_t i = 0; i < kPeepholes; ++i) l.peepholes[i] = optional(op, at.peepholes + i);
  if (!l.kernels[0]) l.peepholes[0] = nullptr;
  l.projection = optional(op, at.projection);
  if (l.projection) l.projection_bias = bias(op, at.projection + 1, at.h, at.projection);
  l.units = size_of(op, at.kernels + 1, 0);
  l.outputs = l.projection ? size_of(op, at.projection, 0) : l.units;
  if (op.dims(at.h, 2)[1] != l.outputs || op.dims(at.c, 2)[1] != l.units)
    op.fail(Code::bad_model, "the sizes of its states do not fit its weights");
  return l;
}

// Of a state that is codes in the file.
std::optional<Rounding> rounding(const Op& op, std::size_t input) {
  const auto q = op.lowering().quantization(op.scope(), op.input_index(input));
  if (!q) return {};
  const int bits = static_cast<int>(bit_width(op.input_type(input)));
  const double half = static_cast<double>(std::int64_t{1} << (bits - 1)),
               zero = static_cast<double>(q->zero_points[0]);
  return Rounding{static_cast<double>(q->scales[0]), -half - zero, half - 1 - zero};
}

// Runs one direction, whose states are inputs.
Value* run_lstm(Op& op, Lstm& l, const Places& at) {
  l.h_codes = rounding(op, at.h);
  l.c_codes = rounding(op, at.c);
  const Memory h(op, at.h), c(op, at.c);
  l.h = h.value();
  l.c = c.value();
  const Ran ran = run(op, l);
  h.set(ran.states[0]);
  c.set(ran.states[1]);
  return ran.y;
}

std::optional<double> scale_in_file(const Op& op, std::size_t input) {
  const auto q = op.has(input) ? op.quantization(input) : std::nullopt;
  if (!q || !q->is_per_tensor()) return {};
  return static_cast<double>(q->scales[0]);
}

// Of the last of five tensors that the operator keeps for itself: what a step computes.
std::optional<Quantization> hidden_quantization(const Op& op) {
  constexpr unsigned kHidden = 4;
  const auto* kept = op.raw().intermediates();
  if (!kept || kept->size() <= kHidden || kept->Get(kHidden) < 0) return {};
  const tflite::Model& m = op.lowering().model();
  return m.quantization(m.tensor(op.scope().subgraph, kept->Get(kHidden)));
}

// Nothing: LiteRT computes the layer in floats, or in another way.
std::optional<LstmCodes> codes_of(const Op& op, const Lstm& l, const Places& at) {
  const auto is = [&](std::size_t input, DType t) {
    return op.has(input) && op.input_type(input) == t && scale_in_file(op, input);
  };
  if (!is(0, DType::i8) || !is(at.h, DType::i8) || !is(at.c, DType::i16) || l.norms[1]) return {};
  if (l.activation != F::TANH || l.projection) return {};
  constexpr int kBits = 15, kMostBits = 6;
  int exponent = 0;
  if (std::frexp(*scale_in_file(op, at.c), &exponent) != 0.5) return {};
  LstmCodes q{.cell_bits = kBits + exponent - 1, .h = *op.quantization(at.h)};
  if (q.cell_bits < 0 || q.cell_bits > kMostBits) return {};
  const double x = *scale_in_file(op, 0), h = *scale_in_file(op, at.h), c = *scale_in_file(op, at.c);
  for (std::size_t g = 0; g < 4; ++g) {
    if (!l.kernels[g]) continue;
    if (!is(at.kernels + g, DType::i8) || !is(at.recurrent + g, DType::i8)) return {};
    q.kernels[g] = x * *scale_in_file(op, at.kernels + g);
    q.recurrent[g] = h * *scale_in_file(op, at.recurrent + g);
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (!l.peepholes[i]) continue;
    if (!is(at.peepholes + i, DType::i16)) return {};
    q.peepholes[i] = c * *scale_in_file(op, at.peepholes + i);
  }
  q.hidden = hidden_quantization(op).value_or(q.h);
  return q;
}

// LiteRT adds a bias to sums of products, whatever scale the file states for it.
Value* bias_of_products(Op& op, std::size_t input, double scale) {
  Value* codes = op.layer_weights(input);
  if (!is_int(codes->dtype())) return codes;
  return op.make("Mul", {op.make("Cast", {codes}, {{"DstT", DType::f32}}), op.scalar(DType::f32, scale)});
}

// Runs one direction on codes. The results are codes, too.
Value* run_lstm_on_codes(Op& op, Lstm& l, const LstmCodes& q, const Places& at, Form f) {
  Value* steps = op.scalar(DType::f32, *scale_in_file(op, 0) * kGateSteps);
  Value* zero = op.scalar(DType::i8, static_cast<double>(op.quantization(0)->zero_points[0]));
  const auto x = op.make_foreign(std::string(tfgraph::kDequantize), {op.codes(0), steps, zero}, {},
                                 {{"", DType::f32, Shape()}});
  l.x = steps_first(op, x[0], f);
  for (std::size_t g = 0; g < 4; ++g)
    if (l.biases[g]) l.biases[g] = bias_of_products(op, at.biases + g, q.kernels[g]);
  const Memory h(op, at.h), c(op, at.c);
  l.h = h.codes();
  l.c = c.codes();
  const Ran ran = run_in_integers(op, l, q);
  h.set_codes(ran.states[0]);
  c.set_codes(ran.states[1]);
  op.as_codes(true);
  return as_given(op, ran.y, f);
}

template <class Options>
Values one_direction(Op& op, const Options& o, bool time_major, bool diagonal) {
  const Form f = form_of(op, time_major);
  Lstm l = read_lstm(op, o, kOneDirection, false, diagonal);
  l.steps = step_count(op, f);
  if (const auto q = diagonal ? std::nullopt : codes_of(op, l, kOneDirection))
    return {run_lstm_on_codes(op, l, *q, kOneDirection, f)};
  l.x = steps_first(op, op.in(0), f);
  return {as_given(op, run_lstm(op, l, kOneDirection), f)};
}

Values sequence_lstm(Op& op) {
  const auto& o = op.options<UnidirectionalSequenceLSTMOptions>();
  return one_direction(op, o, o.time_major(), o.diagonal_recurrent_tensors());
}

// Weights [4 units, features + units] of the gates input, candidate, forget, output. Further results are what
// it has computed in between.
Values basic_lstm(Op& op, const LSTMOptions& o) {
  const std::int64_t units = size_of(op, 2, 0) / 4, features = size_of(op, 2, 1) - units;
  Lstm l{.steps = 1, .units = units, .outputs = units, .cell_clip = o.cell_clip(), .activation = F::TANH};
  Value *weights = kernel(op, 2), *biases = bias(op, 3, 0, 2);
  Value* zero = op.scalar(DType::i32, 0);
  const Values rows = op.make_all("Split", {zero, weights}, {{"num_split", std::int64_t{4}}});
  const Values parts = op.make_all("Split", {zero, biases}, {{"num_split", std::int64_t{4}}});
  constexpr std::size_t kGates[] = {0, 2, 1, 3};
  for (std::size_t g = 0; g < 4; ++g) {
    const Values columns =
        op.make_all("SplitV", {rows[kGates[g]], op.ints({features, units}), op.scalar(DType::i32, 1)},
                    {{"num_split", std::int64_t{2}}});
    l.kernels[g] = columns[0];
    l.recurrent[g] = columns[1];
    l.biases[g] = parts[kGates[g]];
  }
  Value* x = op.in(0);
  l.x = steps_first(op, x, Form::step);
  const Memory h(op, 1), c(op, 4);
  l.h = h.value();
  l.c = c.value();
  const Ran ran = run(op, l);
  Value* before = l.h ? l.h : zero_state(op, l.x, units);
  Value* joined = with_columns(op, x, before);
  Value* sums =
      op.make("BiasAdd", {op.make("MatMul", {joined, weights}, {{"transpose_b", std::int64_t{1}}}), biases});
  return {ran.states[0], ran.states[1], joined, sums};
}

Values lstm(Op& op) {
  const auto& o = op.options<LSTMOptions>();
  if (o.kernel_type() == LSTMKernelType::BASIC) return basic_lstm(op, o);
  return one_direction(op, o, true, false);
}

// Both directions of a layer: the results of all, or side by side.
Values both(Op& op, Value* forward, Value* backward, bool merged) {
  if (!merged) return {forward, backward};
  return {op.make("ConcatV2", {forward, backward, op.scalar(DType::i32, 2)})};
}

// A second sequence is beside the first one for both directions (then it has weights), or it is what the
// second direction reads.
struct Sequences {
  Value *forward, *backward;
  bool use_aux;
};
Sequences sequences(Op& op, Form f, std::size_t aux, std::size_t aux_weights) {
  Value* x = steps_first(op, op.in(0), f);
  if (!op.has(aux)) return {x, x, false};
  Value* second = steps_first(op, op.in(aux), f);
  if (!op.has(aux_weights)) return {x, second, false};
  x = op.make("ConcatV2", {x, second, op.scalar(DType::i32, 2)});
  return {x, x, true};
}

Values bidirectional_lstm(Op& op) {
  const auto& o = op.options<BidirectionalSequenceLSTMOptions>();
  const Form f = form_of(op, o.time_major());
  const Sequences from = sequences(op, f, 39, kForward.aux + 1);
  Value* results[2] = {};
  for (const bool back : {false, true}) {
    const Places& at = back ? kBackward : kForward;
    Lstm l = read_lstm(op, o, at, from.use_aux);
    l.x = back ? from.backward : from.forward;
    l.steps = step_count(op, f);
    l.reverse = back;
    results[back] = as_given(op, run_lstm(op, l, at), f);
  }
  return both(op, results[0], results[1], o.merge_outputs());
}

// ---- RNN

struct RnnPlaces {
  std::size_t kernel, recurrent, bias, h, aux;
};

Value* run_rnn(Op& op, Value* x, Form f, const RnnPlaces& at, F activation, bool use_aux, bool reverse) {
  Rnn l{.x = x,
        .steps = step_count(op, f),
        .units = size_of(op, at.kernel, 0),
        .activation = activation,
        .reverse = reverse};
  l.kernel = kernel(op, at.kernel);
  if (use_aux) l.kernel = with_columns(op, l.kernel, optional(op, at.aux));
  l.recurrent = kernel(op, at.recurrent);
  l.bias = bias(op, at.bias, 0, at.kernel);
  const Memory h(op, at.h);
  l.h = h.value();
  const Ran ran = run(op, l);
  h.set(ran.states[0]);
  return as_given(op, ran.y, f);
}

constexpr RnnPlaces kRnn{1, 2, 3, 4, 0}, kRnnForward{1, 2, 3, 4, 10}, kRnnBackward{5, 6, 7, 8, 11};

Values rnn(Op& op) {
  const F activation = op.options<RNNOptions>().fused_activation_function();
  Value* x = steps_first(op, op.in(0), Form::step);
  return {run_rnn(op, x, Form::step, kRnn, activation, false, false)};
}

Values sequence_rnn(Op& op) {
  const auto& o = op.options<SequenceRNNOptions>();
  const Form f = form_of(op, o.time_major());
  Value* x = steps_first(op, op.in(0), f);
  return {run_rnn(op, x, f, kRnn, o.fused_activation_function(), false, false)};
}

Values bidirectional_rnn(Op& op) {
  const auto& o = op.options<BidirectionalSequenceRNNOptions>();
  const Form f = form_of(op, o.time_major());
  const Sequences from = sequences(op, f, 9, 10);
  const F activation = o.fused_activation_function();
  Value* forward = run_rnn(op, from.forward, f, kRnnForward, activation, from.use_aux, false);
  Value* backward = run_rnn(op, from.backward, f, kRnnBackward, activation, from.use_aux, true);
  return both(op, forward, backward, o.merge_outputs());
}

// ---- SVDF

// Each filter's products with x of the last steps are weighted and summed. State [batch, filters * steps];
// the filters of one unit (rank of them) are summed.
Values svdf(Op& op) {
  const auto& o = op.options<SVDFOptions>();
  const std::int64_t filters = size_of(op, 1, 0), steps = size_of(op, 2, 1), rank = o.rank();
  if (rank <= 0 || filters % rank != 0)
    op.fail(Code::bad_model, "its rank does not divide the number of its filters");
  Value* products = op.make("MatMul", {op.in(0), kernel(op, 1)}, {{"transpose_b", std::int64_t{1}}});
  const Memory memory(op, 4);
  Value* before = memory.value();
  if (!before) before = zero_state(op, steps_first(op, products, Form::step), filters * steps);
  before = op.reshape(before, {-1, filters, steps});
  Value* begin = op.ints({0, 0, 1});
  Value* recent = op.make("Slice", {before, begin, op.ints({-1, -1, -1})});
  Value* newest = op.make("ExpandDims", {products, op.scalar(DType::i32, 2)});
  Value* now = op.make("ConcatV2", {recent, newest, op.scalar(DType::i32, 2)});
  memory.set(op.reshape(now, {-1, filters * steps}));
  Value* weighted = op.make("Sum", {op.make("Mul", {now, kernel(op, 2)}), op.ints({2})});
  if (rank != 1) weighted = op.make("Sum", {op.reshape(weighted, {-1, filters / rank, rank}), op.ints({2})});
  if (Value* b = bias(op, 3, 0, 1)) weighted = op.make("BiasAdd", {weighted, b});
  return {op.activation(weighted, o.fused_activation_function())};
}

constexpr Row kRows[] = {
    {B::BIDIRECTIONAL_SEQUENCE_LSTM, nullptr, nullptr, bidirectional_lstm},
    {B::BIDIRECTIONAL_SEQUENCE_RNN, nullptr, nullptr, bidirectional_rnn},
    {B::LSTM, nullptr, nullptr, lstm},
    {B::RNN, nullptr, nullptr, rnn},
    {B::SVDF, nullptr, nullptr, svdf},
    {B::UNIDIRECTIONAL_SEQUENCE_LSTM, nullptr, nullptr, sequence_lstm},
    {B::UNIDIRECTIONAL_SEQUENCE_RNN, nullptr, nullptr, sequence_rnn},
};

}  // namespace

std::span<const Row> recurrent_rows() { return kRows; }

}  // namespace t2o::tflite
