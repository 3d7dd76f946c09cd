#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "rewriters/onnx/facts.h"
#include "rewriters/runtime/rows.h"
#include "support/lists.h"

// QuantizeLinear(Conv(DequantizeLinear(x), DequantizeLinear(w), DequantizeLinear(b))) -> QLinearConv, which
// sums integers. The runtime's optimizer makes the same of it; without the optimizer the Conv sums floats.
namespace t2o::rewriters {
namespace {

// The conversion has constant scales of f32 and constant zero points.
bool is_conversion(const ir::Node* n, const char* op) {
  const auto is_constant = [&](std::size_t i) { return n->input(i) && n->input(i)->constant(); };
  return is_op(n, op) && is_constant(1) && is_constant(2) && n->input(1)->dtype() == DType::f32 &&
         !n->attr("block_size");
}

const ir::Node* dequantized(const Value* v) {
  const ir::Node* n = v ? v->producer() : nullptr;
  return is_conversion(n, "DequantizeLinear") ? n : nullptr;
}

std::int64_t scale_count(const ir::Node& conversion) { return conversion.input(1)->constant()->elements(); }
double scale_of(const ir::Node& conversion, std::int64_t channel) {
  return conversion.input(1)->constant()->float_at(scale_count(conversion) == 1 ? 0 : channel);
}

// QLinearConv takes one scale, or one for each output channel, and equal zero points.
bool are_weights(const ir::Node& w) {
  const Value* codes = w.input(0);
  if (!codes->constant() || (codes->dtype() != DType::i8 && codes->dtype() != DType::u8)) return false;
  return uniform_number(w.input(2)) && (scale_count(w) == 1 || axis_of(w, codes, 1) == 0);
}

// QLinearConv reads no scale of the bias: it is that of the products.
bool is_bias(const ir::Node& b, const ir::Node& x, const ir::Node& w) {
  constexpr double kRounding = 1e-6;
  if (b.input(0)->dtype() != DType::i32 || uniform_number(b.input(2)) != 0) return false;
  for (std::int64_t i = 0; i < std::max(scale_count(b), scale_count(w)); ++i) {
    const double products = scale_of(x, 0) * scale_of(w, i);
    if (!(std::abs(scale_of(b, i) - products) <= kRounding * products)) return false;
  }
  return true;
}

// The activation cuts nothing that the codes' range does not cut.
bool cuts_as_codes(const ir::Node& activation, const ir::Node& quantize) {
  constexpr float kLowest = 0, kHighest = std::numeric_limits<std::uint8_t>::max();
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto code_of = [&](double number) {
    return std::nearbyint(static_cast<float>(number) / static_cast<float>(scale_of(quantize, 0))) +
           static_cast<float>(*number_of(quantize.input(2)));
  };
  if (activation.op() == "Relu") return code_of(0) <= kLowest;
  const auto bound = [&](std::size_t i, double otherwise) {
    return activation.input(i) ? number_of(activation.input(i)) : std::optional(otherwise);
  };
  const auto low = bound(1, -kInfinity), high = bound(2, kInfinity);
  return activation.op() == "Clip" && low && high && code_of(*low) <= kLowest && code_of(*high) >= kHighest;
}

// The elements stay the same, and their number.
bool rearranges(const ir::Node* n) {
  return is_op(n, "Reshape") || is_op(n, "Transpose") || is_op(n, "Squeeze") || is_op(n, "Unsqueeze");
}

// The convolution whose result is quantized and read by nothing else, and what rearranges the result.
struct Layer {
  ir::Node* conv = nullptr;
  const ir::Node* rearranged = nullptr;
};

Layer layer_of(const ir::Node& quantize) {
  Layer found;
  for (const Value* v = quantize.input(0); v->producer() && only_reader(v); v = v->producer()->input(0)) {
    ir::Node* n = v->producer();
    if (is_op(n, "Conv")) return {n, found.rearranged};
    if (!found.rearranged && rearranges(n))
      found.rearranged = n;
    else if (!cuts_as_codes(*n, quantize))
      return {};
  }
  return {};
}

// The node, with codes for its elements; none: the codes.
Value* rearranged(Rewrite r, const ir::Node* n, Value* codes) {
  if (!n) return codes;
  Values inputs = n->inputs();
  inputs[0] = codes;
  return r.make(n->op(), inputs, n->attrs(), codes->dtype(), n->output()->shape());
}

// The kernel takes uint8 in and out. It takes int8, too, but on x86 four times as long as the Conv of floats.
bool are_codes(const ir::Node& conversion, const Value* codes) {
  return scale_count(conversion) == 1 && codes->dtype() == DType::u8;
}

int sum_integers(ir::Graph& g, ir::Node& quantize) {
  if (!is_conversion(&quantize, "QuantizeLinear") || !are_codes(quantize, quantize.output())) return 0;
  const auto [conv, behind] = layer_of(quantize);
  if (!conv) return 0;
  const ir::Node* before = only_reader(conv->input(0)) ? conv->input(0)->producer() : nullptr;
  if (!rearranges(before)) before = nullptr;
  const ir::Node *x = dequantized(before ? before->input(0) : conv->input(0)),
                 *w = dequantized(conv->input(1)), *b = dequantized(conv->input(2));
  if (!x || !are_codes(*x, x->input(0)) || !w || !are_weights(*w)) return 0;
  if (conv->input(2) && (!b || !is_bias(*b, *x, *w))) return 0;
  Rewrite r(g, *conv);
  Values inputs = {rearranged(r, before, x->input(0)), x->input(1), x->input(2)};
  append(inputs, w->inputs());
  append(inputs, Values{quantize.input(1), quantize.input(2)});
  if (b) inputs.push_back(b->input(0));
  Value* sums = r.make("QLinearConv", inputs, conv->attrs(), DType::u8, conv->output()->shape());
  return take_over(g, quantize.output(), rearranged({g, quantize}, behind, sums));
}

}  // namespace

Rewriter integer_convs(const onnx::Target&) {
  return for_each_node("integer_convs", {"QuantizeLinear"}, sum_integers);
}

}  // namespace t2o::rewriters
