#include "rewriters/onnx/per_channel.h"

#include <algorithm>
#include <cstring>

#include "support/parallel.h"

namespace t2o::rewriters {
namespace {

// Rows of `row` elements from the first_row-th on, in place.
template <class T>
void scale(std::span<std::byte> rows, std::size_t row, std::size_t first_row, const Doubles& factors) {
  for (std::size_t at = 0, r = first_row; at < rows.size(); ++r) {
    const T factor = static_cast<T>(factors[r % factors.size()]);
    for (const std::size_t end = at + row * sizeof(T); at < end; at += sizeof(T)) {
      T v;
      std::memcpy(&v, rows.data() + at, sizeof(T));
      v *= factor;
      std::memcpy(rows.data() + at, &v, sizeof(T));
    }
  }
}

// As many rows at a time as stay in a processor's cache until they are scaled, but enough for reading them at
// its pace.
constexpr std::size_t kBlock = std::size_t{256} << 10, kFewestRows = 64;

template <class T>
void fill_scaled(Storage& in, std::size_t row, const Doubles& factors, std::span<std::byte> out) {
  const PartReader parts = in.parts();
  const std::size_t row_bytes = row * sizeof(T), rows = out.size() / row_bytes;
  const bool by_rows = row_bytes % parts.granule == 0;
  const std::size_t block = by_rows ? std::max(kBlock / row_bytes, kFewestRows) : rows;
  in_parallel(static_cast<std::int64_t>((rows + block - 1) / block), out.size(),
              [&](std::int64_t from, std::int64_t to) {
                for (auto first = static_cast<std::size_t>(from) * block;
                     first < std::min(rows, static_cast<std::size_t>(to) * block); first += block) {
                  const std::span<std::byte> part =
                      out.subspan(first * row_bytes, std::min(block, rows - first) * row_bytes);
                  parts.read(first * row_bytes, part);
                  scale<T>(part, row, first, factors);
                }
              });
  in.release();
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
  std::int64_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < w->dims().size(); ++i) inner *= w->dims()[i];
  auto fill = [w, row = static_cast<std::size_t>(inner),
               factors = std::move(factors)](std::span<std::byte> out) {
    if (out.empty()) return;
    if (w->dtype() == DType::f64)
      fill_scaled<double>(*w->storage(), row, factors, out);
    else
      fill_scaled<float>(*w->storage(), row, factors, out);
  };
  return std::make_shared<Tensor>(w->dtype(), w->dims(), computed_storage(w->byte_size(), std::move(fill)));
}

bool can_scale(DType t) { return t == DType::f32 || t == DType::f64; }

}  // namespace t2o::rewriters
