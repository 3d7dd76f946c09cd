#include "rewriters/onnx/exact_sums.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "ir/memo.h"
#include "onnx/op_traits.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/onnx/few_levels.h"

namespace t2o::rewriters {
namespace {

using Names = std::unordered_set<std::string_view>;
using onnx::Trait;

constexpr int kDeepest = 64;
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
  bool is_grid(const Value* v, int depth = 0) {
    if (is_whole(v->dtype())) return true;
    if (v->constant()) return has_few_numbers_of(v->constant());
    if (!v->producer()) return true;  // an input
    return grids_.of(v, depth, [&] { return makes_grid(*v->producer(), depth + 1); });
  }

  // What is behind tells equal numbers from such that are not quite equal.
  bool reaches_threshold(const Value* v, int depth = 0) {
    return thresholds_.of(v, depth, [&] {
      if (v->is_graph_output() && v->graph()->parent()) return true;  // nobody knows what a loop does with it
      return std::ranges::any_of(v->uses(),
                                 [&](const ir::Use& u) { return shows(*u.node, u.input, depth + 1); });
    });
  }

  bool has_few_weights(const ir::Node& n, const Layer& l) {
    const TensorPtr& t = n.input(l.weights)->constant();
    auto& found = weights_[{t, l.axis}];
    if (!found) found = has_few_levels(*t, l.axis);
    return *found;
  }

 private:
  bool has_few_numbers_of(const TensorPtr& t) {
    auto& found = weights_[{t, -1}];
    if (!found) found = has_few_numbers(*t);
    return *found;
  }

  bool is_operand(const Value* v, int depth) { return !v || v->constant() || is_grid(v, depth); }

  bool are_operands(const ir::Node& n, int depth) {
    return std::ranges::all_of(n.inputs(), [&](const Value* v) { return is_operand(v, depth); });
  }

  // a + (q - a), which is q: so a straight-through estimator leaves a Round or a Sign.
  bool is_straight_through(const ir::Node& n, int depth) {
    if (n.op() != "Add") return false;
    for (const std::size_t i : {0U, 1U}) {
      const ir::Node* step = n.input(i)->producer();
      if (is_op(step, "Sub") && step->input(1) == n.input(1 - i) && is_operand(step->input(0), depth))
        return true;
    }
    return false;
  }

  bool makes_grid(const ir::Node& n, int depth) {
    static const Names kMakes = {"Sign", "Round", "Floor", "Ceil", "OneHot", "EyeLike", "DequantizeLinear"};
    static const Names kKeeps = {"Add", "Sub",  "Sum", "Mul", "Max",
                                 "Min", "Clip", "Pad", "Div", "BatchNormalization"};
    const std::string_view op = n.op();
    if (kMakes.contains(op)) return true;
    if (const Layer l = layer_of(n); l.data != kNoInput)
      return is_grid(n.input(l.data), depth) && has_few_weights(n, l);
    if (op == "Cast") return is_grid(n.input(0), depth);
    if (op == "Where") return is_grid(n.input(1), depth) && is_grid(n.input(2), depth);
    if (op == "Concat")
      return std::ranges::all_of(n.inputs(), [&](const Value* v) { return is_grid(v, depth); });
    if (op == "Resize") {
      const auto* mode = n.attr_if<std::string>("mode");
      return (!mode || *mode == "nearest") && is_grid(n.input(0), depth);
    }
    if (kKeeps.contains(op)) return are_operands(n, depth) || is_straight_through(n, depth);
    return onnx::has(op, Trait::within | Trait::keeps_positive_factor) && is_grid(n.input(0), depth);
  }

  bool shows(const ir::Node& n, std::size_t input, int depth) {
    static const Names kThresholds = {"Sign",
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
                                      "DynamicQuantizeLinear"};
    static const Names kPasses = {"Add",     "Sub",  "Sum",        "Mean",     "Mul",    "Max",
                                  "Min",     "Clip", "Sigmoid",    "Tanh",     "Concat", "HardSigmoid",
                                  "Softmax", "Pad",  "LogSoftmax", "Softsign", "Where",  "Resize"};
    const std::string_view op = n.op();
    if (kThresholds.contains(op)) return true;
    if (op == "Cast" && is_whole(n.output()->dtype())) return true;
    if (n.outputs().empty()) return false;
    if (const Layer l = layer_of(n); l.data != kNoInput)
      return (input != l.data || has_few_weights(n, l)) && reaches_threshold(n.output(), depth);
    const bool first = contains({"Cast", "Div", "BatchNormalization"}, op) ||
                       onnx::has(op, Trait::within | Trait::keeps_positive_factor);
    if (!kPasses.contains(op) && !(first && input == 0)) return false;
    return std::ranges::any_of(n.outputs(), [&](const Value* y) { return reaches_threshold(y, depth); });
  }

  ir::Memo<bool> grids_{false, kDeepest}, thresholds_{false, kDeepest};
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
