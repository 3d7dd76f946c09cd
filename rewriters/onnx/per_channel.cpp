#include "rewriters/onnx/per_channel.h"

#include <cstring>

namespace t2o::rewriters {
namespace {

template <class T>
void scale(const Tensor& in, std::int64_t channels, std::int64_t inner, const Doubles& factors, std::span<std::byte> out) {
  const std::byte* from = in.bytes().data();
  const auto row = static_cast<std::size_t>(inner);
  for (std::int64_t r = 0, rows = inner == 0 ? 0 : in.elements() / inner; r < rows; ++r) {
    const T factor = static_cast<T>(factors[static_cast<std::size_t>(r % channels)]);
    const std::size_t at = static_cast<std::size_t>(r) * row * sizeof(T);
    for (std::size_t i = 0; i < row; ++i) {
      T v;
      std::memcpy(&v, from + at + i * sizeof(T), sizeof(T));
      v *= factor;
      std::memcpy(out.data() + at + i * sizeof(T), &v, sizeof(T));
    }
  }
}

}  // namespace

std::optional<Doubles> per_channel(const Value* v, int rank, int axis, std::int64_t size) {
  if (!v->constant() || !is_known(size) || !can_scale(v->dtype())) return std::nullopt;
  const Tensor& t = *v->constant();
  if (t.rank() > rank || (t.elements() != 1 && t.elements() != size)) return std::nullopt;
  for (int i = 0; i < t.rank(); ++i)
    if (t.dims()[static_cast<std::size_t>(i)] != 1 && i + rank - t.rank() != axis) return std::nullopt;
  Doubles out;
  for (std::int64_t i = 0; i < size; ++i) out.push_back(t.float_at(t.elements() == 1 ? 0 : i));
  return out;
}

TensorPtr channel_tensor(DType t, const Doubles& values) {
  const Ints dims{static_cast<std::int64_t>(values.size())};
  if (t == DType::f64) return Tensor::of<double>(dims, values);
  return Tensor::of<float>(dims, std::vector<float>(values.begin(), values.end()));
}

TensorPtr scaled(const TensorPtr& w, int axis, Doubles factors) {
  const std::int64_t channels = w->dims()[static_cast<std::size_t>(axis)];
  std::int64_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < w->dims().size(); ++i) inner *= w->dims()[i];
  auto fill = [w, channels, inner, factors = std::move(factors)](std::span<std::byte> out) {
    if (w->dtype() == DType::f64) scale<double>(*w, channels, inner, factors, out);
    else scale<float>(*w, channels, inner, factors, out);
    w->storage()->release();
  };
  return std::make_shared<Tensor>(w->dtype(), w->dims(), computed_storage(w->byte_size(), std::move(fill)));
}

bool can_scale(DType t) { return t == DType::f32 || t == DType::f64; }

}  // namespace t2o::rewriters
