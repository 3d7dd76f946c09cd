#include "tflite/recurrent.h"

#include <algorithm>

#include "tfgraph/internal_ops.h"

namespace t2o::tflite {
namespace {

using F = schema::ActivationFunctionType;
using tfgraph::Activation;
using tfgraph::CellKind;
using tfgraph::Direction;
using tfgraph::RecurrentLayer;

std::optional<Activation> onnx_activation(F f) {
  switch (f) {
    case F::NONE:
      return Activation{"Affine", 1, 0};
    case F::RELU:
      return Activation{"Relu"};
    case F::TANH:
      return Activation{"Tanh"};
    default:
      return {};
  }
}

Value* transposed(Op& op, Value* v) { return op.transpose(v, {1, 0}); }
Value* negated(Op& op, Value* v) { return v ? op.make("Neg", {v}) : nullptr; }

Value* stacked(Op& op, Values parts) {
  if (parts.size() == 1) return parts[0];
  parts.push_back(op.scalar(DType::i32, 0));
  return op.make("ConcatV2", parts);
}

Value* clipped(Op& op, Value* v, float limit) {
  if (limit <= 0) return v;
  Value* low = op.scalar_like(v, -static_cast<double>(limit));
  Value* high = op.scalar_like(v, static_cast<double>(limit));
  return op.make("ClipByValue", {v, low, high});
}

Value* rounded(Op& op, Value* v, const std::optional<Rounding>& r) {
  if (!r) return v;
  Value* steps = op.make("Round", {op.make("RealDiv", {v, op.scalar_like(v, r->scale)})});
  Value* lowest = op.scalar_like(v, r->lowest);
  Value* kept = op.make("ClipByValue", {steps, lowest, op.scalar_like(v, r->highest)});
  return op.make("Mul", {kept, op.scalar_like(v, r->scale)});
}

Ran make_layer(Op& op, const RecurrentLayer& l, Values inputs) {
  const Values all = op.make_own_all(std::string(l.op()), std::move(inputs), l.attrs(), l.outputs());
  return {all[0], Values(all.begin() + 1, all.begin() + 1 + static_cast<std::ptrdiff_t>(l.states()))};
}

bool is_coupled(const Lstm& l) { return !l.kernels[0]; }

// A cell grows by at most 1 in each step, if it starts with 0.
bool may_clip(const Lstm& l) {
  if (l.cell_clip <= 0) return false;
  const bool grows_slowly = l.activation == F::TANH && !l.c && is_known(l.steps);
  return !grows_slowly || static_cast<double>(l.steps) > static_cast<double>(l.cell_clip);
}

bool is_onnx_layer(const Lstm& l) {
  return !may_clip(l) && !l.h_codes && !l.c_codes && !l.projection && !l.norms[1] &&
         onnx_activation(l.activation);
}

// With coupled gates the input gate is 1 - sigmoid(z) = sigmoid(-z), where z is the forget gate's sum.
Ran onnx_layer(Op& op, Lstm l) {
  if (is_coupled(l)) {
    l.kernels[0] = negated(op, l.kernels[1]);
    l.recurrent[0] = negated(op, l.recurrent[1]);
    l.biases[0] = negated(op, l.biases[1]);
    l.peepholes[0] = negated(op, l.peepholes[1]);
  }
  RecurrentLayer layer{.kind = CellKind::lstm,
                       .direction = l.reverse ? Direction::reverse : Direction::forward};
  layer.units = l.units;
  const Activation a = *onnx_activation(l.activation);
  layer.activations = {{"Sigmoid"}, a, a};
  Values in{l.x, nullptr, l.h, l.c};
  constexpr std::size_t kOrder[] = {0, 3, 1, 2};  // ONNX's: input, output, forget, cell
  for (const std::size_t g : kOrder) in.push_back(transposed(op, l.kernels[g]));
  for (const std::size_t g : kOrder) in.push_back(transposed(op, l.recurrent[g]));
  for (const std::size_t g : kOrder) in.push_back(l.biases[g]);
  in.insert(in.end(), {l.peepholes[0], l.peepholes[2], l.peepholes[1]});
  return make_layer(op, layer, std::move(in));
}

// The values that a step reads from outside, each with its place in the list.
class Constants {
 public:
  explicit Constants(const Lstm& l) {
    for (Value* const* group : {l.biases, l.norms}) add(group, 4);
    add(l.peepholes, 3);
    add(&l.projection_bias, 1);
  }
  void add(Value* const* v, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      if (v[i]) all_.push_back(v[i]);
  }
  const Values& all() const { return all_; }
  Value* find(const StepInputs& in, const Value* v) const {
    if (!v) return nullptr;
    return in.constants[static_cast<std::size_t>(std::find(all_.begin(), all_.end(), v) - all_.begin())];
  }

 private:
  Values all_;
};

// (z - mean) / sqrt(variance + 1e-8), in each row
Value* normalized(Op& op, Value* z) {
  const Attrs keep{{"keep_dims", std::int64_t{1}}};
  Value* axis = op.ints({1});
  Value* mean = op.make("Mean", {z, axis}, keep);
  Value* off = op.make("Sub", {z, mean});
  Value* variance = op.make("Mean", {op.make("Square", {off}), axis}, keep);
  Value* sum = op.make("AddV2", {variance, op.scalar_like(z, 1e-8)});
  return op.make("Mul", {off, op.make("Rsqrt", {sum})});
}

class LstmStep {
 public:
  LstmStep(const Lstm& l, const Constants& constants, const Value* recurrent, const Value* projection)
      : l_(l), constants_(constants), recurrent_(recurrent), projection_(projection) {}

  Values operator()(Op& op, const StepInputs& in) const {
    Value *h = in.states[0], *c = in.states[1];
    Value* product = op.make("MatMul", {h, constants_.find(in, recurrent_)});
    Value* sums = op.make("AddV2", {in.x, product});
    const std::int64_t gates = is_coupled(l_) ? 3 : 4;
    Values z = op.make_all("Split", {op.scalar(DType::i32, 1), sums}, {{"num_split", gates}});
    if (is_coupled(l_)) z.insert(z.begin(), nullptr);
    Value* forget = op.make("Sigmoid", {finished(op, in, z[1], 1, 1, c)});
    Value* input = is_coupled(l_) ? op.make("Sub", {op.scalar_like(forget, 1), forget})
                                  : op.make("Sigmoid", {finished(op, in, z[0], 0, 0, c)});
    Value* candidate = op.activation(finished(op, in, z[2], 2, 3, nullptr), l_.activation);
    Value* kept = op.make("Mul", {forget, c});
    Value* added = op.make("Mul", {input, candidate});
    Value* cell = clipped(op, op.make("AddV2", {kept, added}), l_.cell_clip);
    cell = rounded(op, cell, l_.c_codes);
    Value* output = op.make("Sigmoid", {finished(op, in, z[3], 3, 2, cell)});
    Value* y = op.make("Mul", {output, op.activation(cell, l_.activation)});
    if (projection_) {
      y = op.make("MatMul", {y, constants_.find(in, projection_)});
      if (Value* b = constants_.find(in, l_.projection_bias)) y = op.make("AddV2", {y, b});
      y = clipped(op, y, l_.projection_clip);
    }
    return {rounded(op, y, l_.h_codes), cell};
  }

 private:
  // The sum of a gate, with the part that the cells give (peephole: 3 is none), normalized if the layer does
  // that.
  Value* finished(Op& op, const StepInputs& in, Value* z, std::size_t gate, std::size_t peephole,
                  Value* cell) const {
    if (cell && l_.peepholes[peephole]) {
      Value* part = op.make("Mul", {cell, constants_.find(in, l_.peepholes[peephole])});
      z = op.make("AddV2", {z, part});
    }
    if (!l_.norms[gate]) return z;
    z = op.make("Mul", {normalized(op, z), constants_.find(in, l_.norms[gate])});
    Value* b = constants_.find(in, l_.biases[gate]);
    return b ? op.make("AddV2", {z, b}) : z;
  }

  const Lstm& l_;
  const Constants& constants_;
  const Value *recurrent_, *projection_;
};

// x times the kernels of all gates, for all steps at once
Value* input_sums(Op& op, const Lstm& l) {
  Values kernels, biases;
  for (std::size_t g = is_coupled(l) ? 1 : 0; g < 4; ++g) {
    kernels.push_back(l.kernels[g]);
    biases.push_back(l.biases[g]);
  }
  Value* all = stacked(op, kernels);
  Value* sums = op.make("BatchMatMulV2", {l.x, all}, {{"adj_y", std::int64_t{1}}});
  if (l.norms[1]) return sums;  // the step adds them
  return op.make("AddV2", {sums, stacked(op, biases)});
}

Ran layer_by_steps(Op& op, Lstm l) {
  Value* sums = input_sums(op, l);
  Values recurrent;
  for (std::size_t g = is_coupled(l) ? 1 : 0; g < 4; ++g) recurrent.push_back(l.recurrent[g]);
  Value* all = transposed(op, stacked(op, recurrent));
  Value* projection = l.projection ? transposed(op, l.projection) : nullptr;
  if (!l.norms[1]) std::fill(std::begin(l.biases), std::end(l.biases), nullptr);
  Constants constants(l);
  constants.add(&all, 1);
  constants.add(&projection, 1);
  Value* h = l.h ? l.h : zero_state(op, l.x, l.outputs);
  Value* c = l.c ? l.c : zero_state(op, l.x, l.units);
  const Steps ran = run_steps(op, sums, {h, c}, constants.all(), l.steps, l.reverse,
                              LstmStep(l, constants, all, projection));
  return {ran.outputs[0], ran.states};
}

}  // namespace

Ran run(Op& op, const Lstm& l) { return is_onnx_layer(l) ? onnx_layer(op, l) : layer_by_steps(op, l); }

Ran run(Op& op, const Rnn& l) {
  if (const auto a = onnx_activation(l.activation)) {
    RecurrentLayer layer{.kind = CellKind::rnn,
                         .direction = l.reverse ? Direction::reverse : Direction::forward};
    layer.units = l.units;
    layer.activations = {*a};
    return make_layer(op, layer,
                      {l.x, nullptr, l.h, transposed(op, l.kernel), transposed(op, l.recurrent), l.bias});
  }
  Value* sums = op.make("BatchMatMulV2", {l.x, l.kernel}, {{"adj_y", std::int64_t{1}}});
  if (l.bias) sums = op.make("AddV2", {sums, l.bias});
  Value* recurrent = transposed(op, l.recurrent);
  Value* h = l.h ? l.h : zero_state(op, l.x, l.units);
  const Steps ran =
      run_steps(op, sums, {h}, {recurrent}, l.steps, l.reverse, [&](Op& in, const StepInputs& s) {
        Value* product = in.make("MatMul", {s.states[0], s.constants[0]});
        return Values{in.activation(in.make("AddV2", {s.x, product}), l.activation)};
      });
  return {ran.outputs[0], ran.states};
}

}  // namespace t2o::tflite
