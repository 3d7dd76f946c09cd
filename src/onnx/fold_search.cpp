// Folding of operators that look for elements, in short lists: the arithmetic of axes.
#include <algorithm>

#include "onnx/fold_parts.h"

namespace t2o::onnx::folding {
namespace {

constexpr std::int64_t kMostSearched = 1024;  // elements: as numbers of axes and sizes of small tensors are

bool is_short_list(const Tensor& x) { return x.rank() == 1 && x.elements() <= kMostSearched; }

TensorPtr list_of(const Ints& v) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(v.size())}, v);
}

}  // namespace

// Values, where each comes first, which of them each element is, and how often it is there.
std::optional<std::vector<TensorPtr>> unique(const Tensor& x, const Attrs& attrs) {
  if (!is_int(x.dtype()) || x.dtype() == DType::u64 || !is_short_list(x) || bit_width(x.dtype()) < 8)
    return std::nullopt;
  const Ints all = x.to_ints();
  Ints values = all;
  if (int_attr(attrs, "sorted", 1) != 0) {
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
  } else {
    values.clear();
    for (const std::int64_t v : all)
      if (!contains(values, v)) values.push_back(v);
  }
  Ints first(values.size(), -1), inverse, counts(values.size(), 0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto k = static_cast<std::size_t>(std::ranges::find(values, all[i]) - values.begin());
    inverse.push_back(static_cast<std::int64_t>(k));
    if (counts[k]++ == 0) first[k] = static_cast<std::int64_t>(i);
  }
  return std::vector<TensorPtr>{converted(list_of(values), x.dtype()), list_of(first), list_of(inverse),
                                list_of(counts)};
}

// Places of what is not 0, one row for each axis.
TensorPtr non_zero(const Tensor& x) {
  if (!is_short_list(x) || (!is_int(x.dtype()) && x.dtype() != DType::boolean) || x.dtype() == DType::u64)
    return nullptr;
  Ints places;
  for (std::int64_t i = 0; i < x.elements(); ++i)
    if (x.int_at(i) != 0) places.push_back(i);
  const auto n = static_cast<std::int64_t>(places.size());
  return Tensor::of<std::int64_t>({1, n}, places);
}

// Of lists: elements put at other elements' places, the last at a place counts.
TensorPtr scatter_elements(const std::vector<TensorPtr>& in, const Attrs& attrs) {
  if (in.size() != 3 || !in[1] || !in[2] || string_attr(attrs, "reduction")) return nullptr;
  const Tensor &x = *in[0], &places = *in[1], &updates = *in[2];
  const bool whole = is_int(x.dtype()) || x.dtype() == DType::boolean;
  if (!whole || x.dtype() == DType::u64 || bit_width(x.dtype()) < 8 || !is_short_list(x) ||
      !is_short_list(places) || updates.dims() != places.dims() || updates.dtype() != x.dtype())
    return nullptr;
  Ints out = x.to_ints();
  for (std::int64_t i = 0; i < places.elements(); ++i) {
    std::int64_t at = places.int_at(i);
    if (at < 0) at += x.elements();
    if (at < 0 || at >= x.elements()) return nullptr;
    nth(out, at) = updates.int_at(i);
  }
  return converted(list_of(out), x.dtype());
}

}  // namespace t2o::onnx::folding
