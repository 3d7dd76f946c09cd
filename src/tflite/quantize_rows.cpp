#include <algorithm>
#include <cmath>

#include "tfgraph/internal_ops.h"
#include "tflite/lowering_scope.h"
#include "tflite/op.h"

// From numbers to codes and back.
namespace t2o::tflite {
namespace {

constexpr int kFactorBits = 8;  // behind the point
constexpr double kNudge = 0x1p-16;

// LiteRT's code of `number` codes from zero: halves are rounded up.
std::int64_t rescaled(std::int64_t number, std::int64_t factor) {
  return (number * factor + (std::int64_t{1} << (kFactorBits - 1))) >> kFactorBits;
}

// The part by which the factor has to be higher so that a rounding of halves to even gives LiteRT's codes.
// Nothing: halves of both signs are rounded.
std::optional<double> nudge(std::int64_t factor, const Quantization& from, const Quantization& to,
                            std::int64_t lowest) {
  const auto code = [&](double number) {
    const auto zero = static_cast<double>(to.zero_points[0]);
    return std::clamp(number + zero, static_cast<double>(lowest), static_cast<double>(lowest + 255));
  };
  for (const double part : {0.0, kNudge, -kNudge}) {
    bool is_right = true;
    for (std::int64_t i = lowest; i < lowest + 256 && is_right; ++i) {
      const std::int64_t number = i - from.zero_points[0];
      const double exact = std::ldexp(static_cast<double>(number * factor), -kFactorBits);
      is_right =
          code(std::nearbyint(exact * (1 + part))) == code(static_cast<double>(rescaled(number, factor)));
    }
    if (is_right) return part;
  }
  return {};
}

// 8-bit codes from codes of another scale. LiteRT multiplies them by a factor with 8 bits behind the point.
// The DequantizeLinear gets this factor for a scale, and the QuantizeLinear a power of 2, so the products are
// exact numbers. They are not those of the file, but nothing else reads them. Nothing: LiteRT has other ways.
std::optional<Values> codes_of_codes(Op& op) {
  const auto from = op.quantization(0);
  auto to = op.output_quantization();
  const DType type = op.output_type();
  if (!from || !to || !is_byte(type) || op.input_type(0) != type || !from->is_per_tensor() ||
      !to->is_per_tensor())
    return {};
  const double ratio = static_cast<double>(from->scales[0] / to->scales[0]);
  if (!(ratio >= 0x1p-8 && ratio <= 0x1p7)) return {};
  const std::int64_t factor = std::llrint(std::ldexp(ratio, kFactorBits));
  op.as_codes(true);
  if (factor == 1 << kFactorBits && from->zero_points == to->zero_points) return Values{op.codes(0)};
  const auto part = nudge(factor, *from, *to, type == DType::i8 ? -128 : 0);
  to->scales[0] = std::ldexp(1.0F, std::ilogb(to->scales[0]));
  const double scale = std::ldexp(static_cast<double>(factor) * (1 + part.value_or(0)), -kFactorBits);
  Quantization exact = *from;
  exact.scales[0] = static_cast<float>(scale) * to->scales[0];
  Value* number = op.numbers_of_codes(0, exact);
  if (!part)  // a quarter of the products' step: halves lie above the middle
    number = op.make("AddV2", {number, op.scalar(DType::f32, std::ldexp(to->scales[0], -kFactorBits - 2))});
  return Values{op.codes_of_result(number, *to)};
}

// The output's scale makes its codes.
Values quantize(Op& op) {
  if (const auto codes = codes_of_codes(op)) return *codes;
  return {op.in(0)};
}

// The numbers of the codes of a constant.
TensorPtr rounded(const t2o::Tensor& numbers, const Quantization& q, DType codes) {
  const double count = std::ldexp(1, static_cast<int>(bit_width(codes)));
  const double low = is_signed_int(codes) ? -count / 2 : 0;
  std::int64_t run = 1;  // of elements with one scale
  for (std::size_t a = static_cast<std::size_t>(q.axis) + 1; a < numbers.dims().size(); ++a)
    run *= numbers.dims()[a];
  Floats all(static_cast<std::size_t>(numbers.elements()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t k = q.is_per_tensor() ? 0 : i / static_cast<std::size_t>(run) % q.scales.size();
    const auto zero = static_cast<double>(q.zero_points[k]);
    const auto number = static_cast<float>(numbers.float_at(static_cast<std::int64_t>(i)));
    const double code = std::nearbyint(static_cast<double>(number / q.scales[k])) + zero;
    all[i] = static_cast<float>(std::clamp(code, low, low + count - 1) - zero) * q.scales[k];
  }
  return t2o::Tensor::of<float>(numbers.dims(), all);
}

// Weights that training with fake quantization has left as floats: a QUANTIZE and a DEQUANTIZE round them.
// The layer behind computes with floats. With integer weights, a runtime may round its input to codes too.
Value* rounded_weights(Op& op) {
  const Slot& slot = op.lowering().slot(op.scope(), op.input_index(0));
  const ir::Node* made_by = slot.codes ? slot.codes->producer() : nullptr;
  if (!made_by || made_by->op() != tfgraph::kQuantize || op.output_type() != DType::f32) return nullptr;
  const TensorPtr numbers = made_by->inputs()[0]->constant();
  return numbers ? op.constant(rounded(*numbers, *slot.quantization, slot.codes->dtype())) : nullptr;
}

// Half floats are weights of smaller files.
Values dequantize(Op& op) {
  if (Value* weights = rounded_weights(op)) return {weights};
  Value* x = op.weights(0);
  if (x->dtype() == op.output_type()) return {x};
  return {op.make("Cast", {x}, {{"DstT", op.output_type()}})};
}

// The storage of a sparse constant gives all of its elements.
Values densify(Op& op) { return {op.moves_codes() ? op.codes(0) : op.in(0)}; }

constexpr Row kRows[] = {
    {B::DENSIFY, nullptr, nullptr, densify, Codes::moved},
    {B::DEQUANTIZE, nullptr, nullptr, dequantize},
    {B::QUANTIZE, nullptr, nullptr, quantize},
};

}  // namespace

std::span<const Row> quantize_rows() { return kRows; }

}  // namespace t2o::tflite
