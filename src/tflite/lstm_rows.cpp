#include <algorithm>

#include "tfgraph/internal_ops.h"
#include "tflite/lowering_scope.h"
#include "tflite/op.h"

// The recurrent layer UNIDIRECTIONAL_SEQUENCE_LSTM. Its gates are i, f, g (the candidate) and o:
//   c = f * c + i * g, clipped;  h = o * tanh(c), then projected and clipped
namespace t2o::tflite {
namespace {

using namespace schema;

enum Input : std::size_t {  // of four gates, in the order i f g o
  kX = 0,
  kKernels = 1,
  kRecurrent = 5,
  kPeepholes = 9,  // of i f o
  kBiases = 12,
  kProjection = 16,
  kProjectionBias = 17,
  kOutputState = 18,
  kCellState = 19,
  kNormalization = 20,
};

struct StateCodes : Quantization {
  bool is_wide = false;  // of 16 bits
};
using Quantized = std::optional<StateCodes>;

struct Cell {
  Value *kernels = nullptr, *recurrent = nullptr, *biases = nullptr;  // of all gates: [gates * units, ...]
  Value* peepholes[3] = {};
  Value *projection = nullptr, *projection_bias = nullptr;
  bool has_input_gate = true;  // else i = 1 - f
  float cell_clip = 0, projection_clip = 0;
  ActivationFunctionType activation = ActivationFunctionType::TANH;
  Quantized h, c;  // of states that are codes after each step
};

// The numbers of the codes of x.
Value* rounded(Op& op, Value* x, const Quantized& q) {
  if (!q) return x;
  const double zero = static_cast<double>(q->zero_points[0]), scale = static_cast<double>(q->scales[0]);
  const double low = q->is_wide ? -32768 : -128;
  Value* steps = op.make("Round", {op.make("RealDiv", {x, op.scalar_like(x, scale)})});
  Value* from = op.scalar_like(x, low - zero);
  Value* kept = op.make("ClipByValue", {steps, from, op.scalar_like(x, -1 - low - zero)});
  return op.make("Mul", {kept, op.scalar_like(x, scale)});
}

// The scale of a 32-bit bias stands in the file.
Value* numbers_of(Op& op, std::size_t i) {
  Value* v = op.weights(i);
  if (v->dtype() == DType::f32) return v;
  const auto q = op.lowering().model().quantization(op.input(i));
  if (v->dtype() != DType::i32 || !q || !q->is_per_tensor())
    op.fail(Code::not_yet, "its input " + std::to_string(i) + " is of type " + std::string(name(v->dtype())));
  Value* codes = op.make("Cast", {v}, {{"DstT", DType::f32}});
  return op.make("Mul", {codes, op.scalar(DType::f32, static_cast<double>(q->scales[0]))});
}

Value* joined(Op& op, Values parts) {
  parts.push_back(op.scalar(DType::i32, 0));
  return op.make("ConcatV2", parts);
}

Value* of_gates(Op& op, std::size_t first, bool has_input_gate) {
  Values parts;
  for (std::size_t g = has_input_gate ? 0 : 1; g < 4; ++g) parts.push_back(numbers_of(op, first + g));
  return joined(op, parts);
}

Quantized codes_of_state(const Op& op, std::size_t i) {
  const auto q = op.lowering().model().quantization(op.input(i));
  if (!q) return {};
  return StateCodes{*q, op.input_type(i) == DType::i16};
}

Cell read_cell(Op& op, const UnidirectionalSequenceLSTMOptions& o) {
  for (std::size_t i = kNormalization; i < kNormalization + 4; ++i)
    if (op.has(i)) op.fail(Code::not_yet, "layers with normalized gates are not supported yet");
  if (o.diagonal_recurrent_tensors())
    op.fail(Code::not_yet, "diagonal recurrent weights are not supported yet");
  Cell c;
  c.has_input_gate = op.has(kKernels);
  c.kernels = of_gates(op, kKernels, c.has_input_gate);
  c.recurrent = of_gates(op, kRecurrent, c.has_input_gate);
  c.biases = of_gates(op, kBiases, c.has_input_gate);
  for (std::size_t i = 0; i < 3; ++i)
    if (op.has(kPeepholes + i)) c.peepholes[i] = numbers_of(op, kPeepholes + i);
  if (op.has(kProjection)) c.projection = numbers_of(op, kProjection);
  if (op.has(kProjectionBias)) c.projection_bias = numbers_of(op, kProjectionBias);
  c.cell_clip = o.cell_clip();
  c.projection_clip = o.proj_clip();
  c.activation = o.fused_activation_function();
  c.h = codes_of_state(op, kOutputState);
  c.c = codes_of_state(op, kCellState);
  return c;
}

Value* clipped(Op& op, Value* x, float limit) {
  if (!(limit > 0)) return x;
  const auto l = static_cast<double>(limit);
  Value* low = op.scalar_like(x, -l);
  return op.make("ClipByValue", {x, low, op.scalar_like(x, l)});
}

struct Step {
  Value *h, *c;
};

// One step: `x` has the weighted inputs and the biases of all gates.
Step step(Op& op, const Cell& cell, Value* x, Value* h, Value* c) {
  const Attrs transposed{{"transpose_b", std::int64_t{1}}};
  Value* sum = op.make("AddV2", {x, op.make("MatMul", {h, cell.recurrent}, transposed)});
  const std::int64_t gates = cell.has_input_gate ? 4 : 3;
  Values z = op.make_all("Split", {op.scalar(DType::i32, 1), sum}, {{"num_split", gates}});
  if (!cell.has_input_gate) z.insert(z.begin(), nullptr);
  const auto gate = [&](std::size_t i, Value* peephole, Value* state) {
    Value* v = z[i];
    if (peephole) v = op.make("AddV2", {v, op.make("Mul", {state, peephole})});
    return op.make("Sigmoid", {v});
  };
  Value* f = gate(1, cell.peepholes[1], c);
  Value* i = cell.has_input_gate ? gate(0, cell.peepholes[0], c) : op.make("Sub", {op.scalar_like(f, 1), f});
  Value* kept = op.make("Mul", {f, c});
  Value* added = op.make("Mul", {i, op.activation(z[2], cell.activation)});
  Value* next = rounded(op, clipped(op, op.make("AddV2", {kept, added}), cell.cell_clip), cell.c);
  Value* o = gate(3, cell.peepholes[2], next);
  Value* y = op.make("Mul", {o, op.activation(next, cell.activation)});
  if (cell.projection) y = op.make("MatMul", {y, cell.projection}, transposed);
  if (cell.projection_bias) y = op.make("AddV2", {y, cell.projection_bias});
  if (cell.projection) y = clipped(op, y, cell.projection_clip);
  return {rounded(op, y, cell.h), next};
}

constexpr std::int64_t kUnknown = -1;

Value* element_shape(Op& op) { return op.scalar(DType::i32, static_cast<double>(kUnknown)); }

struct Layer {
  Value* y;  // [time, batch, units]
  Step last;
};

// Variables of the loop: the number of the step, the list of outputs, the states, and then what stays the
// same: the number of steps, the weighted inputs, the weights.
Layer loop(Op& op, const Cell& cell, Value* inputs, Step start) {
  Value* shape = op.make("Shape", {inputs}, {{"out_type", DType::i32}});
  Value* steps = op.make("GatherV2", {shape, op.scalar(DType::i32, 0), op.scalar(DType::i32, 0)});
  Value* list = op.make("TensorListReserve", {element_shape(op), steps}, {{"element_dtype", DType::f32}});
  Values variables = {op.scalar(DType::i32, 0), list, start.h, start.c, steps, inputs, cell.recurrent};
  for (Value* const* v :
       {&cell.peepholes[0], &cell.peepholes[1], &cell.peepholes[2], &cell.projection, &cell.projection_bias})
    if (*v) variables.push_back(*v);

  const auto graph = [&](const char* role) {
    GraphPtr g = op.scope().graph->make_subgraph();
    g->set_name(role);
    for (const Value* v : variables) g->add_input(std::string(role) + "/variable", v->dtype(), Shape());
    return g;
  };
  const GraphPtr condition = graph("lstm_condition"), body = graph("lstm_step");
  Scope inside;
  inside.graph = condition.get();
  Op test = op.within(inside);
  condition->set_outputs({test.make("Less", {condition->inputs()[0], condition->inputs()[4]})});

  Scope within;
  within.graph = body.get();
  Op in = op.within(within);
  const Values& v = body->inputs();
  Cell own = cell;
  own.recurrent = v[6];
  std::size_t at = 7;
  for (Value** w :
       {&own.peepholes[0], &own.peepholes[1], &own.peepholes[2], &own.projection, &own.projection_bias})
    if (*w) *w = v[at++];
  Value* x = in.make("GatherV2", {v[5], v[0], in.scalar(DType::i32, 0)});
  const Step next = step(in, own, x, v[2], v[3]);
  Value* written = in.make("TensorListSetItem", {v[1], v[0], next.h});
  Value* number = in.make("AddV2", {v[0], in.scalar(DType::i32, 1)});
  Values results = {number, written, next.h, next.c};
  for (std::size_t i = results.size(); i < v.size(); ++i) results.push_back(identity(*body, v[i]));
  body->set_outputs(results);

  const Values ends = op.make_all("StatelessWhile", variables, {{"cond", condition}, {"body", body}});
  Value* y = op.make("TensorListStack", {ends[1], element_shape(op)}, {{"element_dtype", DType::f32}});
  return {y, {ends[2], ends[3]}};
}

// ONNX's own operator, where nothing is clipped.
Layer layer(Op& op, Value* x, Step start) {
  tfgraph::RecurrentLayer l;
  l.kind = tfgraph::CellKind::lstm;
  l.units = op.dims(kRecurrent + 1, 2)[0];
  l.activations = {{"Sigmoid"}, {"Tanh"}, {"Tanh"}};
  Values inputs = {x, nullptr, start.h, start.c};
  constexpr std::size_t kOnnxOrder[] = {0, 3, 1, 2};  // i o f g
  for (const std::size_t first : {kKernels, kRecurrent})
    for (const std::size_t g : kOnnxOrder) inputs.push_back(op.transpose(numbers_of(op, first + g), {1, 0}));
  for (const std::size_t g : kOnnxOrder) inputs.push_back(numbers_of(op, kBiases + g));
  for (const std::size_t p : {0U, 2U, 1U})
    inputs.push_back(op.has(kPeepholes + p) ? numbers_of(op, kPeepholes + p) : nullptr);
  const Values y = op.make_own_all(std::string(l.op()), inputs, l.attrs(), l.outputs());
  return {y[0], {y[1], y[2]}};
}

// The cell's state grows by less than 1 in a step.
bool never_clips(Op& op, float limit, bool time_major, const State& c) {
  if (!(limit > 0)) return true;
  const Shape shape = op.lowering().model().shape(op.input(kX));
  if (c.input || !shape.ranked() || shape.rank() != 3) return false;
  const Dim steps = shape[time_major ? 0 : 1];
  return is_known(steps) && static_cast<float>(steps) <= limit;
}

Values sequence_lstm(Op& op) {
  const auto& o = op.options<UnidirectionalSequenceLSTMOptions>();
  const Ints recurrent = op.dims(kRecurrent + 1, 2);
  const std::int64_t units = op.has(kProjection) ? op.dims(kProjection, 2)[1] : recurrent[0];
  if (op.dims(kOutputState, 2)[1] != recurrent[1] || op.dims(kCellState, 2)[1] != units)
    op.fail(Code::bad_model, "the sizes of its states do not fit its weights");
  State& h = op.state(kOutputState);
  State& c = op.state(kCellState);
  const Step start{op.number_of(h), op.number_of(c)};
  Value* x = op.in(kX);
  if (!o.time_major()) x = op.transpose(x, {1, 0, 2});
  const bool has_codes = op.quantization(kOutputState) || op.quantization(kCellState);
  const bool is_plain = !has_codes && op.has(kKernels) && !op.has(kProjection) &&
                        !op.has(kNormalization + 1) && !o.diagonal_recurrent_tensors() &&
                        o.fused_activation_function() == ActivationFunctionType::TANH;
  Layer l{};
  if (is_plain && never_clips(op, o.cell_clip(), o.time_major(), c)) {
    l = layer(op, x, start);
  } else {
    const Cell cell = read_cell(op, o);
    Value* weighted = op.make("BatchMatMulV2", {x, cell.kernels}, {{"adj_y", std::int64_t{1}}});
    l = loop(op, cell, op.make("AddV2", {weighted, cell.biases}), start);
  }
  op.set_state(kOutputState, h, l.last.h);
  op.set_state(kCellState, c, l.last.c);
  return {o.time_major() ? l.y : op.transpose(l.y, {1, 0, 2})};
}

constexpr Row kRows[] = {
    {B::UNIDIRECTIONAL_SEQUENCE_LSTM, nullptr, nullptr, sequence_lstm},
};

}  // namespace

std::span<const Row> lstm_rows() { return kRows; }

}  // namespace t2o::tflite
