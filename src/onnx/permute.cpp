#include "onnx/permute.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <vector>

#include "ir/tensor.h"
#include "support/parallel.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace t2o::onnx {
namespace {

// Innermost output axis fastest. T is an unsigned integer of the element's width.
template <class T>
void permute_one_by_one(const std::byte* in, std::byte* out, const Ints& dims, const Ints& perm,
                        std::int64_t first, std::int64_t last) {
  const std::size_t rank = dims.size();
  Ints stride(rank, 1);
  for (std::size_t i = rank; i-- > 1;) stride[i - 1] = stride[i] * dims[i];
  Ints out_dims(rank), step(rank), at(rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    out_dims[i] = nth(dims, perm[i]);
    step[i] = nth(stride, perm[i]);
  }
  const std::int64_t inner = out_dims[rank - 1], inner_step = step[rank - 1];
  std::int64_t from = first * step[0], rows = last - first;
  for (std::size_t i = 1; i + 1 < rank; ++i) rows *= out_dims[i];
  for (; rows > 0; --rows) {
    const std::byte* p = in + static_cast<std::size_t>(from) * sizeof(T);
    if (inner_step == 1) {
      std::memcpy(out, p, static_cast<std::size_t>(inner) * sizeof(T));
      out += static_cast<std::size_t>(inner) * sizeof(T);
    } else {
      for (std::int64_t i = 0; i < inner; ++i, out += sizeof(T))
        std::memcpy(out, p + static_cast<std::size_t>(i * inner_step) * sizeof(T), sizeof(T));
    }
    for (std::size_t d = rank - 1; d-- > 0;) {
      from += step[d];
      if (++at[d] < out_dims[d]) break;
      from -= step[d] * out_dims[d];
      at[d] = 0;
    }
  }
}

// Axes that stay neighbours are one: HWIO -> OIHW of a 1x1 kernel is a plain matrix transpose.
void merge_axes(Ints& dims, Ints& perm) {
  std::vector<Ints> groups;
  for (const std::int64_t p : perm) {
    if (!groups.empty() && groups.back().back() + 1 == p)
      groups.back().push_back(p);
    else
      groups.push_back({p});
  }
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) { return groups[a][0] < groups[b][0]; });
  Ints new_dims, new_perm(groups.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::int64_t n = 1;
    for (const std::int64_t a : groups[order[i]]) n *= nth(dims, a);
    new_dims.push_back(n);
    new_perm[order[i]] = static_cast<std::int64_t>(i);
  }
  dims = std::move(new_dims);
  perm = std::move(new_perm);
}

void drop_axes_of_one(Ints& dims, Ints& perm) {
  Ints kept, place(dims.size(), -1), new_perm;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    place[i] = static_cast<std::int64_t>(kept.size());
    kept.push_back(dims[i]);
  }
  for (const std::int64_t p : perm)
    if (nth(place, p) >= 0) new_perm.push_back(nth(place, p));
  dims = std::move(kept);
  perm = std::move(new_perm);
}

// A tile of rows that lie in the order of the result's columns: the way through it costs no cache line twice,
// whatever power of two the strides of the tensor are.
template <class T>
struct Tile {
  static constexpr std::int64_t kColumns = 64, kRows = 96;
  alignas(64) std::array<T, static_cast<std::size_t>(kColumns* kRows)> elements;

  std::byte* row(std::int64_t r) { return reinterpret_cast<std::byte*>(elements.data() + r * kColumns); }

  // out[c * stride + r] = tile[r][c]
  void write_columns(std::byte* out, std::int64_t stride, std::int64_t rows, std::int64_t columns) const {
    std::int64_t c = 0;
#if defined(__SSE2__)
    if constexpr (sizeof(T) == 4)
      for (; c + 4 <= columns; c += 4) {
        const std::int64_t done =
            write_four(out + static_cast<std::size_t>(c * stride) * sizeof(T), stride, rows, c);
        for (std::int64_t k = c; k < c + 4; ++k) write_column(out, stride, done, rows, k);
      }
#endif
    for (; c < columns; ++c) write_column(out, stride, 0, rows, c);
  }

 private:
  void write_column(std::byte* out, std::int64_t stride, std::int64_t from, std::int64_t to,
                    std::int64_t c) const {
    std::byte* o = out + static_cast<std::size_t>(c * stride + from) * sizeof(T);
    for (std::int64_t r = from; r < to; ++r, o += sizeof(T))
      std::memcpy(o, &nth(elements, r * kColumns + c), sizeof(T));
  }

#if defined(__SSE2__)
  // Squares of 4 x 4; returns how many rows they covered.
  std::int64_t write_four(std::byte* out, std::int64_t stride, std::int64_t rows, std::int64_t c) const {
    const auto load = [&](std::int64_t r) {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(elements.data() + r * kColumns + c));
    };
    const auto store = [&](std::int64_t k, std::int64_t r, __m128i v) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + static_cast<std::size_t>(k * stride + r) * sizeof(T)),
                       v);
    };
    std::int64_t r = 0;
    for (; r + 4 <= rows; r += 4) {
      const __m128i a = load(r), b = load(r + 1), d = load(r + 2), e = load(r + 3);
      const __m128i low_ab = _mm_unpacklo_epi32(a, b), low_de = _mm_unpacklo_epi32(d, e);
      const __m128i high_ab = _mm_unpackhi_epi32(a, b), high_de = _mm_unpackhi_epi32(d, e);
      store(0, r, _mm_unpacklo_epi64(low_ab, low_de));
      store(1, r, _mm_unpackhi_epi64(low_ab, low_de));
      store(2, r, _mm_unpacklo_epi64(high_ab, high_de));
      store(3, r, _mm_unpackhi_epi64(high_ab, high_de));
    }
    return r;
  }
#endif
};

// The three axes reversed, [s, i, o] -> [o, i, s], which a kernel's way from height-width-in-out to
// out-in-height-width is; with one s the transpose of a matrix. Of the result, the rows from o_first on. A
// row of the tile passes `change`, with the place in o of its first element.
template <class T, class Change>
void reverse_axes(const std::byte* in, std::byte* out, std::int64_t s_count, std::int64_t i_count,
                  std::int64_t o_count, std::int64_t o_first, std::int64_t o_last, Change change) {
  const std::int64_t all_rows = s_count * i_count,
                     tiles = (o_last - o_first + Tile<T>::kColumns - 1) / Tile<T>::kColumns;
  const auto columns = [&](std::int64_t first_tile, std::int64_t last_tile) {
    Tile<T> tile;
    for (std::int64_t t = first_tile; t < last_tile; ++t) {
      const std::int64_t o = o_first + t * tile.kColumns, width = std::min(tile.kColumns, o_last - o);
      std::int64_t i = 0, s = 0;
      for (std::int64_t r0 = 0; r0 < all_rows; r0 += tile.kRows) {
        const std::int64_t rows = std::min(tile.kRows, all_rows - r0);
        for (std::int64_t r = 0; r < rows; ++r) {
          std::memcpy(tile.row(r), in + static_cast<std::size_t>((s * i_count + i) * o_count + o) * sizeof(T),
                      static_cast<std::size_t>(width) * sizeof(T));
          change(&nth(tile.elements, r * tile.kColumns), o, width);
          if (++s == s_count) s = 0, ++i;
        }
        tile.write_columns(out + static_cast<std::size_t>((o - o_first) * all_rows + r0) * sizeof(T),
                           all_rows, rows, width);
      }
    }
  };
  in_parallel(tiles, static_cast<std::size_t>(all_rows * (o_last - o_first)) * sizeof(T), columns);
}

constexpr auto kAsItIs = [](auto*, std::int64_t, std::int64_t) {};

template <class T>
void permute(const std::byte* in, std::byte* out, const Ints& dims, const Ints& perm, std::int64_t first,
             std::int64_t last) {
  if (perm.size() < 2) {
    std::memcpy(out, in + static_cast<std::size_t>(first) * sizeof(T),
                static_cast<std::size_t>(last - first) * sizeof(T));
  } else if (perm == Ints{1, 0}) {
    reverse_axes<T>(in, out, 1, dims[0], dims[1], first, last, kAsItIs);
  } else if (perm == Ints{0, 2, 1}) {
    const std::size_t step = static_cast<std::size_t>(dims[1] * dims[2]) * sizeof(T);
    in += static_cast<std::size_t>(first) * step;
    for (std::int64_t b = first; b < last; ++b, in += step, out += step)
      reverse_axes<T>(in, out, 1, dims[1], dims[2], 0, dims[2], kAsItIs);
  } else if (perm == Ints{2, 1, 0}) {
    reverse_axes<T>(in, out, dims[0], dims[1], dims[2], first, last, kAsItIs);
  } else {
    permute_one_by_one<T>(in, out, dims, perm, first, last);
  }
}

}  // namespace

std::string Permutation::text() const {
  std::string text = std::to_string(width_);
  for (const Ints* list : {&dims_, &perm_})
    for (const std::int64_t i : *list) text += "," + std::to_string(i);
  return text;
}

Permutation::Permutation(std::size_t width, Ints dims, Ints perm)
    : width_(width), dims_(std::move(dims)), perm_(std::move(perm)) {
  if (element_count(dims_) == 0) return;
  drop_axes_of_one(dims_, perm_);
  merge_axes(dims_, perm_);
  rows_ = perm_.empty() ? 1 : nth(dims_, perm_[0]);
}

void Permutation::copy(const std::byte* in, std::byte* out, std::int64_t first, std::int64_t last) const {
  if (first == last) return;
  switch (width_) {
    case 1:
      return permute<std::uint8_t>(in, out, dims_, perm_, first, last);
    case 2:
      return permute<std::uint16_t>(in, out, dims_, perm_, first, last);
    case 4:
      return permute<std::uint32_t>(in, out, dims_, perm_, first, last);
    case 8:
      return permute<std::uint64_t>(in, out, dims_, perm_, first, last);
    default:
      return permute<std::array<std::uint64_t, 2>>(in, out, dims_, perm_, first, last);
  }
}

bool Permutation::can_scale() const { return perm_ == Ints{1, 0} || perm_ == Ints{2, 1, 0}; }

void Permutation::copy_scaled(const std::byte* in, std::byte* out, std::int64_t first, std::int64_t last,
                              const float* factors) const {
  const std::int64_t s = dims_.size() == 2 ? 1 : dims_[0], i = dims_[dims_.size() - 2], o = dims_.back();
  reverse_axes<float>(in, out, s, i, o, first, last, [factors](float* v, std::int64_t at, std::int64_t n) {
    std::int64_t k = 0;
#if defined(__SSE2__)
    for (; k + 4 <= n; k += 4)
      _mm_store_ps(v + k, _mm_mul_ps(_mm_load_ps(v + k), _mm_loadu_ps(factors + at + k)));
#endif
    for (; k < n; ++k) v[k] *= factors[at + k];
  });
}

}  // namespace t2o::onnx
