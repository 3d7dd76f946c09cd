#include "rewriters/onnx/exact_sums.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "ir/findings.h"
#include "onnx/op_traits.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/onnx/few_levels.h"

namespace t2o::rewriters {
namespace {

using onnx::Trait;

constexpr std::size_t kNoInput = 99;

// A layer's constant weights, its data, and the axis of its weights that its channels of results are.
struct Layer {
  std::size_t data = kNoInput, weights = 0;
  int axis = 0;
};

bool has_set(const ir::Node& n, const char* flag) { return n.attr_or<std::int64_t>(flag, 0) != 0; }

Layer layer_of(const ir::Node& n) {
  const std::string_view op = n.op();
  const bool is_conv = op == "Conv", is_transposed = op == "ConvTranspose";
  if (!is_conv && !is_transposed && op != "MatMul" && op != "Gemm") return {};
  const auto has_rank = [&](std::size_t i) {
    return n.input(i) && n.input(i)->constant() && n.input(i)->shape().rank() >= 2;
  };
  if (has_rank(1) && !n.input(0)->constant()) {
    const int rank = n.input(1)->shape().rank();
    const bool first = is_conv || (op == "Gemm" && has_set(n, "transB"));
    return {0, 1, first ? 0 : is_transposed ? 1 : rank - 1};
  }
  if (op == "MatMul" && has_rank(0) && !n.input(1)->constant()) return {1, 0, n.input(0)->shape().rank() - 2};
  return {};
}

bool is_whole(DType t) { return is_int(t) || t == DType::boolean; }

}  // namespace

bool is_power_of_two(double x) {
  int exponent = 0;
  return x == 0 || std::abs(std::frexp(x, &exponent)) == 0.5;
}

class ExactSums::Facts {
 public:
  // The numbers are whole, or were before constants came in, and equal ones are exactly equal: inputs of the
  // model, results of Round, Sign and casts, and sums of these with few weights.
  bool is_grid(const Value* v) {
    return grids_.of(v, [this](const Value* x, const Ask& ask) {
      if (is_whole(x->dtype())) return true;
      if (x->constant()) return has_few_numbers_of(x->constant());
      return !x->producer() || makes_grid(*x->producer(), ask);
    });
  }

  // What is behind tells equal numbers from such that are not quite equal.
  bool reaches_threshold(const Value* v) {
    return thresholds_.of(v, [this](const Value* x, const Ask& ask) {
      if (x->is_graph_output() && x->graph()->parent()) return true;  // nobody knows what a loop does with it
      return std::ranges::any_of(x->uses(), [&](const ir::Use& u) { return shows(*u.node, u.input, ask); });
    });
  }

  bool has_few_weights(const ir::Node& n, const Layer& l) {
    const TensorPtr& t = n.input(l.weights)->constant();
    auto& found = weights_[{t, l.axis}];
    if (!found) found = has_few_levels(*t, l.axis);
    return *found;
  }

 private:
  using Ask = ir::Findings<bool>::Ask;

  bool has_few_numbers_of(const TensorPtr& t) {
    auto& found = weights_[{t, -1}];
    if (!found) found = has_few_numbers(*t);
    return *found;
  }

  // a + (q - a), which is q: so a straight-through estimator leaves a Round or a Sign.
  template <class IsOperand>
  static bool is_straight_through(const ir::Node& n, const IsOperand& is_operand) {
    if (n.op() != "Add") return false;
    for (const std::size_t i : {0U, 1U}) {
      const ir::Node* step = n.input(i)->producer();
      if (is_op(step, "Sub") && step->input(1) == n.input(1 - i) && is_operand(step->input(0))) return true;
    }
    return false;
  }

  bool makes_grid(const ir::Node& n, const Ask& ask) {
    const std::string_view op = n.op();
    const auto is_operand = [&](const Value* v) { return !v || v->constant() || ask(v); };
    if (contains({"Sign", "Round", "Floor", "Ceil", "OneHot", "EyeLike", "DequantizeLinear"}, op))
      return true;
    if (const Layer l = layer_of(n); l.data != kNoInput) return ask(n.input(l.data)) && has_few_weights(n, l);
    if (op == "Where") return ask(n.input(1)) && ask(n.input(2));
    if (op == "Concat") return std::ranges::all_of(n.inputs(), ask);
    if (op == "Resize") return n.attr_or<std::string>("mode", "nearest") == "nearest" && ask(n.input(0));
    if (contains({"Add", "Sub", "Sum", "Mul", "Max", "Min", "Clip", "Pad", "Div", "BatchNormalization"}, op))
      return std::ranges::all_of(n.inputs(), is_operand) || is_straight_through(n, is_operand);
    return (op == "Cast" || onnx::has(op, Trait::within | Trait::keeps_positive_factor)) && ask(n.input(0));
  }

  bool shows(const ir::Node& n, std::size_t input, const Ask& ask) {
    const std::string_view op = n.op();
    if (contains({"Sign",
                  "Round",
                  "Floor",
                  "Ceil",
                  "Greater",
                  "GreaterOrEqual",
                  "Less",
                  "LessOrEqual",
                  "Equal",
                  "ArgMax",
                  "ArgMin",
                  "TopK",
                  "Hardmax",
                  "Mod",
                  "QuantizeLinear",
                  "NonZero",
                  "Unique",
                  "Loop",
                  "Scan",
                  "If",
                  "ThresholdedRelu",
                  "DynamicQuantizeLinear"},
                 op))
      return true;
    if (op == "Cast" && is_whole(n.output()->dtype())) return true;
    if (n.outputs().empty()) return false;
    if (const Layer l = layer_of(n); l.data != kNoInput)
      return (input != l.data || has_few_weights(n, l)) && ask(n.output());
    const bool passes =
        contains({"Add", "Sub", "Sum", "Mean", "Mul", "Max", "Min", "Clip", "Sigmoid", "Tanh", "Concat",
                  "HardSigmoid", "Softmax", "Pad", "LogSoftmax", "Softsign", "Where", "Resize"},
                 op);
    const bool first = contains({"Cast", "Div", "BatchNormalization"}, op) ||
                       onnx::has(op, Trait::within | Trait::keeps_positive_factor);
    return (passes || (first && input == 0)) && std::ranges::any_of(n.outputs(), ask);
  }

  ir::Findings<bool> grids_{false}, thresholds_{false};
  std::map<std::pair<TensorPtr, int>, std::optional<bool>> weights_;
};

ExactSums::ExactSums() : facts_(std::make_unique<Facts>()) {}
ExactSums::~ExactSums() = default;

void ExactSums::forget() { facts_ = std::make_unique<Facts>(); }

// What costs least is asked first: in an ordinary network no weights are read, but those of its first layer.
bool ExactSums::need(const ir::Node& layer, const Doubles& factors) {
  if (std::ranges::all_of(factors, is_power_of_two)) return false;
  const Layer l = layer_of(layer);
  return l.data != kNoInput && facts_->is_grid(layer.input(l.data)) && facts_->has_few_weights(layer, l) &&
         facts_->reaches_threshold(layer.output());
}

bool ExactSums::need(const Value* x, const Value* y, const Doubles& factors) {
  if (std::ranges::all_of(factors, is_power_of_two)) return false;
  return facts_->is_grid(x) && facts_->reaches_threshold(y);
}

}  // namespace t2o::rewriters
