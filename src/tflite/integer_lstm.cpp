#include "tflite/integer_lstm.h"

#include <algorithm>
#include <cmath>

#include "tfgraph/internal_ops.h"
#include "tflite/fixed_point.h"

namespace t2o::tflite {
namespace {

using Numbers = std::vector<double>;
enum Gate : std::uint8_t { kInput, kForget, kCandidate, kOutput };

// One number for each gate of a tensor in which the gates stand side by side: a scalar, if all are equal.
Value* by_gate(Op& op, const Numbers& of_gates, std::int64_t units) {
  const double first = of_gates[0];
  if (std::ranges::all_of(of_gates, [&](double v) { return v == first; }))
    return op.scalar(DType::f32, first);
  std::vector<float> all;
  for (const double v : of_gates)
    all.insert(all.end(), static_cast<std::size_t>(units), static_cast<float>(v));
  return op.constant(Tensor::of<float>({static_cast<std::int64_t>(all.size())}, all));
}

// Sums of products by LiteRT's two roundings.
Value* rounded_twice(Op& op, Value* sums, const Numbers& factors, std::int64_t units) {
  Numbers added;
  for (const double f : factors) added.push_back(second_rounding(f));
  if (std::ranges::any_of(added, [](double v) { return v != 0; })) {
    Value* away = op.make("Mul", {op.make("Sign", {sums}), by_gate(op, added, units)});
    sums = op.make("AddV2", {sums, away});
  }
  return op.make("Round", {sums});
}

Value* clipped(Op& op, Value* v, double lowest, double highest) {
  Value* low = op.scalar(DType::f32, lowest);
  return op.make("ClipByValue", {v, low, op.scalar(DType::f32, highest)});
}

Value* zero_point(Op& op, const Quantization& q) {
  return op.scalar(DType::i8, static_cast<double>(q.zero_points[0]));
}

Value* converted(Op& op, std::string_view how, Value* v, const Quantization& q, double steps, DType type) {
  Value* scale = op.scalar(DType::f32, static_cast<double>(q.scales[0]) * steps);
  return op.make_foreign(std::string(how), {v, scale, zero_point(op, q)}, {}, {{"", type, Shape()}})[0];
}
// `steps` times the numbers, and the codes of what is `steps` times the numbers
Value* numbers_of(Op& op, Value* codes, const Quantization& q, double steps) {
  return converted(op, tfgraph::kDequantize, codes, q, steps, DType::f32);
}
Value* codes_of(Op& op, Value* v, const Quantization& q, double steps) {
  return converted(op, tfgraph::kQuantize, v, q, steps, DType::i8);
}

Value* looked_up(Op& op, Value* table, Value* at) {
  Value* index = op.make("Cast", {at}, {{"DstT", DType::i32}});
  Value* found = op.make("GatherV2", {table, index, op.scalar(DType::i32, 0)});
  return op.make("Cast", {found}, {{"DstT", DType::f32}});
}

TensorPtr tensor_of(const std::vector<std::int16_t>& v) {
  return Tensor::of<std::int16_t>({static_cast<std::int64_t>(v.size())}, v);
}

// Sums of gates are whole numbers of 1/4096, of which sigmoid(0) is no odd function's value: with this added
// to the sums, 0 counts as positive, and the distances of all others from 0 differ by less than 1/2.
constexpr double kAboveZero = 0.25;

// Sigmoids and tanh of gates: the table of the sigmoid, and behind it that of tanh.
class GateTable {
 public:
  GateTable() : all_(sigmoid_table()), tanh_at_(static_cast<double>(all_.size())) {
    const std::vector<std::int16_t> tanh = tanh_table(kBits);
    all_.insert(all_.end(), tanh.begin(), tanh.end());
    tanh_size_ = static_cast<double>(tanh.size());
  }
  TensorPtr tensor() const { return tensor_of(all_); }

  // `factor`: of the candidate's tanh
  Value* activated(Op& op, Value* table, Value* sums, const std::vector<Gate>& gates, std::int64_t units,
                   double factor) const {
    Numbers last, begin, middle, scale;
    for (const Gate g : gates) {
      const bool is_tanh = g == kCandidate;
      last.push_back((is_tanh ? tanh_size_ : tanh_at_) - 1);
      begin.push_back((is_tanh ? tanh_at_ : 0) + 2 * kAboveZero);
      middle.push_back(is_tanh ? 0 : kHighest16);
      scale.push_back(is_tanh ? factor : 1.0 / (2 * kOne16));
    }
    Value* distance = op.make("Minimum", {op.make("Abs", {sums}), by_gate(op, last, units)});
    Value* found = looked_up(op, table, op.make("AddV2", {distance, by_gate(op, begin, units)}));
    Value* from_middle = op.make("Mul", {found, op.make("Sign", {sums})});
    Value* y = op.make("AddV2", {from_middle, by_gate(op, middle, units)});
    return op.make("Mul", {y, by_gate(op, scale, units)});
  }

 private:
  static constexpr int kBits = 3;
  std::vector<std::int16_t> all_;
  double tanh_at_, tanh_size_ = 0;
};

const GateTable& gate_table() {
  static const GateTable table;
  return table;
}

Value* transposed(Op& op, Value* v) { return op.transpose(v, {1, 0}); }

class IntegerLayer {
 public:
  IntegerLayer(Op& op, const Lstm& l, const LstmCodes& q) : l_(l), q_(q) {
    for (const Gate g : {kInput, kForget, kCandidate, kOutput})
      if (l.kernels[g]) gates_.push_back(g);
    gate_table_ = add(op.constant(gate_table().tensor()));
    const std::vector<std::int16_t> tanh = tanh_table(q.cell_bits);
    cell_table_size_ = tanh.size();
    cell_table_ = add(op.constant(tensor_of(tanh)));
    recurrent_ = add(transposed(op, stacked(op, l.recurrent)));
    for (std::size_t i = 0; i < 3; ++i) {
      if (!l.peepholes[i]) continue;
      has_peepholes_ = true;
      // of cells that are whole numbers
      Value* scaled = op.make("Mul", {l.peepholes[i], op.scalar(DType::f32, cell_step() * kGateSteps)});
      peepholes_[i] = add(scaled);
    }
  }

  Ran run(Op& op) {
    Value* h = l_.h ? l_.h : zero_state(op, l_.x, l_.outputs, zero_point(op, q_.h));
    Value* c = l_.c ? op.make("Cast", {l_.c}, {{"DstT", DType::f32}})
                    : zero_state(op, l_.x, l_.units, op.scalar(DType::f32, 0));
    const Steps ran = run_steps(op, input_sums(op), {h, c}, constants_, l_.steps, l_.reverse,
                                [&](Op& in, const StepInputs& s) { return step(in, s); });
    return {ran.outputs[0], {ran.states[0], op.make("Cast", {ran.states[1]}, {{"DstT", DType::i16}})}};
  }

 private:
  using Place = std::optional<std::size_t>;  // in the list of constants

  Place add(Value* v) {
    constants_.push_back(v);
    return constants_.size() - 1;
  }
  static Value* at(const StepInputs& in, Place p) { return in.constants[*p]; }

  double cell_step() const { return std::ldexp(1, q_.cell_bits - 15); }
  Numbers factors(const double (&scales)[4]) const {
    Numbers all;
    for (const Gate g : gates_) all.push_back(scales[g] * kGateSteps);
    return all;
  }
  Value* stacked(Op& op, Value* const (&of_gates)[4]) const {
    Values parts;
    for (const Gate g : gates_) parts.push_back(of_gates[g]);
    parts.push_back(op.scalar(DType::i32, 0));
    return op.make("ConcatV2", parts);
  }

  // x times the kernels of all gates, for all steps at once
  Value* input_sums(Op& op) const {
    Value* sums = op.make("BatchMatMulV2", {l_.x, stacked(op, l_.kernels)}, {{"adj_y", std::int64_t{1}}});
    Value* bias = op.make("Mul", {stacked(op, l_.biases), op.scalar(DType::f32, kGateSteps)});
    sums = rounded_twice(op, op.make("AddV2", {sums, bias}), factors(q_.kernels), l_.units);
    return op.make("AddV2", {clipped(op, sums, -kOne16, kHighest16), op.scalar(DType::f32, kAboveZero)});
  }

  Values step(Op& op, const StepInputs& in) const {
    Value* c = in.states[1];
    Value* h = numbers_of(op, in.states[0], q_.h, kGateSteps);
    Value* product = op.make("MatMul", {h, at(in, recurrent_)});
    product = rounded_twice(op, product, factors(q_.recurrent), l_.units);
    const Gates gates = activated(op, in, op.make("AddV2", {in.x, product}), c);
    const Values& y = gates.results;
    Value *forget = y[kForget], *input = y[kInput], *output = y[kOutput];
    if (!input) input = op.make("Sub", {op.scalar(DType::f32, 1.0 * kHighest16 / kOne16), forget});
    Value* kept = op.make("Round", {op.make("Mul", {forget, c})});
    Value* added = op.make("Round", {op.make("Mul", {input, y[kCandidate]})});
    Value* cell = clipped(op, op.make("AddV2", {kept, added}), -farthest_cell(),
                          std::min<double>(farthest_cell(), kHighest16));
    if (!output) output = with_peephole(op, in, gates.output_sums, kOutput, cell);
    Value* hidden = op.make("Mul", {output, tanh_of_cell(op, in, cell)});
    return {codes_of(op, hidden, q_.hidden, kOne16), cell};
  }

  double farthest_cell() const {  // from 0
    if (l_.cell_clip <= 0) return kOne16;
    return std::min<double>(kHighest16, std::trunc(static_cast<double>(l_.cell_clip) / cell_step()));
  }

  struct Gates {
    Values results = Values(4, nullptr);
    Value* output_sums = nullptr;  // with a peephole the output's result needs the new cells
  };
  Gates activated(Op& op, const StepInputs& in, Value* sums, Value* c) const {
    Gates y;
    const Attrs count{{"num_split", static_cast<std::int64_t>(gates_.size())}};
    if (!has_peepholes_)
      sums = gate_table().activated(op, at(in, gate_table_), sums, gates_, l_.units, candidate_factor());
    const Values parts = op.make_all("Split", {op.scalar(DType::i32, 1), sums}, count);
    for (std::size_t i = 0; i < gates_.size(); ++i) {
      const Gate g = gates_[i];
      if (!has_peepholes_)
        y.results[g] = parts[i];
      else if (g == kOutput)
        y.output_sums = parts[i];
      else
        y.results[g] = with_peephole(op, in, parts[i], g, c);
    }
    return y;
  }
  double candidate_factor() const {
    return 1 / (kOne16 * cell_step());
  }  // it is a whole number of steps of the cells

  Value* with_peephole(Op& op, const StepInputs& in, Value* sums, Gate g, Value* cell) const {
    const std::size_t i = g == kOutput ? 2 : g;
    if (g != kCandidate && peepholes_[i]) {
      Value* part = op.make("Mul", {cell, at(in, peepholes_[i])});
      part = rounded_twice(op, part, {q_.peepholes[i] * kGateSteps}, l_.units);
      sums = op.make("AddV2", {sums, part});
    }
    return gate_table().activated(op, at(in, gate_table_), sums, {g}, l_.units, candidate_factor());
  }

  // 32768 times the tanh
  Value* tanh_of_cell(Op& op, const StepInputs& in, Value* cell) const {
    Value* distance = op.make("Abs", {cell});
    const auto last = static_cast<double>(cell_table_size_ - 1);
    if (last < farthest_cell()) distance = op.make("Minimum", {distance, op.scalar(DType::f32, last)});
    return op.make("Mul", {looked_up(op, at(in, cell_table_), distance), op.make("Sign", {cell})});
  }

  const Lstm& l_;
  const LstmCodes& q_;
  std::vector<Gate> gates_;  // those with weights
  Values constants_;
  Place gate_table_, cell_table_, recurrent_, peepholes_[3];
  std::size_t cell_table_size_ = 0;
  bool has_peepholes_ = false;
};

}  // namespace

Ran run_in_integers(Op& op, const Lstm& l, const LstmCodes& q) { return IntegerLayer(op, l, q).run(op); }

}  // namespace t2o::tflite
