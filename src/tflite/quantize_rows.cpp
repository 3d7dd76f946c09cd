#include <algorithm>
#include <cmath>

#include "tfgraph/internal_ops.h"
#include "tflite/lowering_scope.h"
#include "tflite/op.h"

// From numbers to codes and back.
namespace t2o::tflite {
namespace {

// The output's scale makes its codes.
Values quantize(Op& op) { return {op.in(0)}; }

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
