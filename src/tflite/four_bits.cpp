#include "tflite/four_bits.h"

#include <algorithm>
#include <cmath>

#include "tflite/lowering_scope.h"

namespace t2o::tflite {
namespace {

constexpr int kParts = 8;  // of a step

// Of the products' steps: half of the fraction that the first rounding leaves. A factor of 2^e * m, with m
// from 0.5 to 1 and a negative e, leaves fractions of 2^e.
double half_fraction(double factor) {
  int exponent = 0;
  const double m = std::frexp(factor, &exponent);
  return exponent < 0 ? 1 / (2 * m) : 0;
}

TensorPtr finer(const TensorPtr& codes) {
  const StoragePtr from = codes->storage();
  return std::make_shared<t2o::Tensor>(
      DType::i8, codes->dims(), computed_storage(from->size(), [from](std::span<std::byte> out) {
        const Bytes bytes = from->bytes();
        std::transform(bytes.begin(), bytes.end(), out.begin(), [](std::byte b) {
          return static_cast<std::byte>(std::to_integer<unsigned>(b) * kParts & 0xFFU);
        });
        from->release();
      }));
}

}  // namespace

std::optional<FourBitConv> four_bit_conv(Op& op) {
  const auto x = op.quantization(0), y = op.output_quantization();
  auto w = op.quantization(1);
  const std::int64_t index = op.input_index(1);
  if (!x || !y || !w || op.input_type(1) != DType::i4 || !is_byte(op.input_type(0)) || !x->is_per_tensor() ||
      !y->is_per_tensor() || (!w->is_per_tensor() && w->axis != 0))
    return {};
  const Value* codes = op.lowering().slot(op.scope(), index).codes;
  const Value* bias = op.has(2) ? op.weights(2) : nullptr;
  const auto channels = static_cast<std::size_t>(op.dims(1, 4)[0]);
  if (!codes || !codes->constant() || codes->dtype() != DType::i8 ||
      (bias && (!bias->constant() || bias->dtype() != DType::i32 ||
                bias->constant()->elements() != static_cast<std::int64_t>(channels))))
    return {};
  std::vector<float> numbers;
  for (std::size_t c = 0; c < channels; ++c) {
    const double step = static_cast<double>(x->scales[0] * w->scales[w->is_per_tensor() ? 0 : c]);
    const double steps = bias ? bias->constant()->float_at(static_cast<std::int64_t>(c)) : 0;
    const double extra = std::round(kParts * half_fraction(step / static_cast<double>(y->scales[0])));
    numbers.push_back(static_cast<float>((kParts * steps + extra) * step / kParts));
  }
  for (float& s : w->scales) s /= kParts;
  for (std::int64_t& z : w->zero_points) z *= kParts;
  Value* filter = op.constant(finer(codes->constant()));
  return FourBitConv{op.lowering().dequantize(*op.scope().graph, filter, *w, {codes->name()}),
                     op.constant(t2o::Tensor::of<float>({static_cast<std::int64_t>(channels)}, numbers))};
}

}  // namespace t2o::tflite
