#include "onnx/fold.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "ir/graph.h"
#include "onnx/elem_type.h"
#include "onnx/fold_parts.h"
#include "support/parallel.h"

namespace t2o::onnx {
namespace {

// Copies with the axes permuted, innermost output axis fastest. T is an integer of the element's width.
template <class T>
void permute(const std::byte* in, std::byte* out, const Ints& dims, const Ints& perm) {
  const std::size_t rank = dims.size();
  Ints stride(rank, 1);
  for (std::size_t i = rank; i-- > 1;) stride[i - 1] = stride[i] * dims[i];
  Ints out_dims(rank), step(rank), at(rank, 0);
  for (std::size_t i = 0; i < rank; ++i) {
    out_dims[i] = dims[static_cast<std::size_t>(perm[i])];
    step[i] = stride[static_cast<std::size_t>(perm[i])];
  }
  const std::int64_t inner = out_dims[rank - 1], inner_step = step[rank - 1];
  const std::int64_t rows = element_count(out_dims) / std::max<std::int64_t>(inner, 1);
  std::int64_t from = 0;
  auto* o = reinterpret_cast<T*>(out);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::byte* p = in + static_cast<std::size_t>(from) * sizeof(T);
    for (std::int64_t i = 0; i < inner; ++i) std::memcpy(o++, p + static_cast<std::size_t>(i * inner_step) * sizeof(T), sizeof(T));
    for (std::size_t d = rank - 1; d-- > 0;) {
      from += step[d];
      if (++at[d] < out_dims[d]) break;
      from -= step[d] * out_dims[d];
      at[d] = 0;
    }
  }
}

// Permutation with the axes merged that stay neighbours: HWIO -> OIHW of a 1x1 kernel is a plain matrix transpose.
void merge_axes(Ints& dims, Ints& perm) {
  Ints new_dims, new_perm, group_of(dims.size());
  std::vector<Ints> groups;
  for (const std::int64_t p : perm) {
    if (!groups.empty() && groups.back().back() + 1 == p) groups.back().push_back(p);
    else groups.push_back({p});
  }
  std::vector<std::size_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0U);
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return groups[a][0] < groups[b][0]; });
  new_perm.resize(groups.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    std::int64_t n = 1;
    for (const std::int64_t a : groups[order[i]]) n *= dims[static_cast<std::size_t>(a)];
    new_dims.push_back(n);
    new_perm[order[i]] = static_cast<std::int64_t>(i);
  }
  dims = std::move(new_dims);
  perm = std::move(new_perm);
}

// A matrix transpose in tiles, so that both sides stay in the cache.
template <class T>
void transpose_matrix(const std::byte* in, std::byte* out, std::int64_t batch, std::int64_t rows, std::int64_t cols) {
  constexpr std::int64_t kTile = 32;
  const std::size_t bytes = static_cast<std::size_t>(rows * cols) * sizeof(T);
  const auto part = [&](std::int64_t from, std::int64_t to) {  // these columns
    for (std::int64_t r0 = 0; r0 < rows; r0 += kTile)
      for (std::int64_t c0 = from; c0 < to; c0 += kTile)
        for (std::int64_t c = c0; c < std::min(c0 + kTile, to); ++c)
          for (std::int64_t r = r0; r < std::min(r0 + kTile, rows); ++r)
            std::memcpy(out + static_cast<std::size_t>(c * rows + r) * sizeof(T), in + static_cast<std::size_t>(r * cols + c) * sizeof(T), sizeof(T));
  };
  for (std::int64_t b = 0; b < batch; ++b, in += bytes, out += bytes) in_parallel(cols, bytes, part);
}

// The three axes reversed, which a kernel's way from height-width-in-out to out-in-height-width is: [s, i, o] -> [o, i, s]. In tiles of
// i and o, so that what is read across is still in the cache when the next o needs it.
template <class T>
void reverse_axes(const std::byte* in, std::byte* out, std::int64_t s_count, std::int64_t i_count, std::int64_t o_count) {
  constexpr std::int64_t kTile = 16;
  in_parallel(o_count, static_cast<std::size_t>(s_count * i_count * o_count) * sizeof(T), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i0 = 0; i0 < i_count; i0 += kTile)
      for (std::int64_t o0 = first; o0 < last; o0 += kTile)
        for (std::int64_t o = o0; o < std::min(o0 + kTile, last); ++o) {
          std::byte* to = out + static_cast<std::size_t>((o * i_count + i0) * s_count) * sizeof(T);
          for (std::int64_t i = i0; i < std::min(i0 + kTile, i_count); ++i)
            for (std::int64_t s = 0; s < s_count; ++s, to += sizeof(T))
              std::memcpy(to, in + static_cast<std::size_t>((s * i_count + i) * o_count + o) * sizeof(T), sizeof(T));
        }
  });
}

template <class T>
void permute_any(const std::byte* in, std::byte* out, Ints dims, Ints perm) {
  merge_axes(dims, perm);
  if (perm.size() == 1) {
    std::memcpy(out, in, static_cast<std::size_t>(dims[0]) * sizeof(T));
  } else if (perm == Ints{1, 0}) {
    transpose_matrix<T>(in, out, 1, dims[0], dims[1]);
  } else if (perm == Ints{0, 2, 1}) {
    transpose_matrix<T>(in, out, dims[0], dims[1], dims[2]);
  } else if (perm == Ints{2, 1, 0}) {
    reverse_axes<T>(in, out, dims[0], dims[1], dims[2]);
  } else {
    permute<T>(in, out, dims, perm);
  }
}

template <class T>
void put(std::byte* out, std::int64_t i, T v) {
  std::memcpy(out + static_cast<std::size_t>(i) * sizeof(T), &v, sizeof(T));
}

// Out of range is undefined in ONNX and TensorFlow both; here it saturates, so that it is no undefined behaviour of ours.
std::int64_t to_integer(double d) {
  if (std::isnan(d)) return 0;
  if (d >= 0x1p63) return std::numeric_limits<std::int64_t>::max();
  if (d < -0x1p63) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(d);
}

void store(std::byte* out, DType t, std::int64_t i, double d, std::int64_t n, bool integral) {
  const std::int64_t v = integral ? n : t == DType::u64 && d >= 0x1p63 && d < 0x1p64 ? static_cast<std::int64_t>(static_cast<std::uint64_t>(d)) : to_integer(d);
  switch (t) {
    case DType::f32: return put(out, i, static_cast<float>(d));
    case DType::f64: return put(out, i, d);
    case DType::f16: return put(out, i, float_to_half(static_cast<float>(d)));
    case DType::bf16: return put(out, i, float_to_bfloat(static_cast<float>(d)));
    case DType::boolean: return put(out, i, static_cast<std::uint8_t>(integral ? n != 0 : d != 0));
    case DType::i8: case DType::u8: return put(out, i, static_cast<std::uint8_t>(v));
    case DType::i16: case DType::u16: return put(out, i, static_cast<std::uint16_t>(v));
    case DType::i32: case DType::u32: return put(out, i, static_cast<std::uint32_t>(v));
    default: return put(out, i, v);
  }
}

// Elements one by one: integers by way of int64, the rest by way of double.
void convert_elements(const Tensor& in, DType to, std::span<std::byte> out) {
  const bool integral = is_int(in.dtype()) || in.dtype() == DType::boolean;
  for (std::int64_t i = 0; i < in.elements(); ++i) store(out.data(), to, i, in.float_at(i), integral ? in.int_at(i) : 0, integral);
}

bool plain(DType t) {
  return t == DType::boolean || ((is_float(t) || is_int(t)) && bit_width(t) >= 8 && t != DType::f8e4m3fn && t != DType::f8e4m3fnuz && t != DType::f8e5m2 &&
                                 t != DType::f8e5m2fnuz);
}

template <class Make>
TensorPtr small_or_computed(DType t, const Ints& dims, Make make) {  // make(span) fills
  const std::size_t size = byte_size(t, element_count(dims));
  if (size > 4096) return std::make_shared<Tensor>(t, dims, computed_storage(size, make));
  std::vector<std::byte> bytes(size);
  make(std::span<std::byte>(bytes));
  return std::make_shared<Tensor>(t, dims, heap_storage(std::move(bytes)));
}

}  // namespace

TensorPtr transposed(const TensorPtr& t, const Ints& perm) {
  Ints dims(perm.size());
  for (std::size_t i = 0; i < perm.size(); ++i) dims[i] = t->dims()[static_cast<std::size_t>(perm[i])];
  if (t->elements() <= 1) return t->with_dims(dims);
  const std::size_t width = bit_width(t->dtype());
  if (width != 8 && width != 16 && width != 32 && width != 64 && width != 128) return nullptr;
  auto fill = [t, perm, width](std::span<std::byte> out) {
    const std::byte* in = t->bytes().data();
    switch (width) {
      case 8: permute_any<std::uint8_t>(in, out.data(), t->dims(), perm); break;
      case 16: permute_any<std::uint16_t>(in, out.data(), t->dims(), perm); break;
      case 32: permute_any<std::uint32_t>(in, out.data(), t->dims(), perm); break;
      case 64: permute_any<std::uint64_t>(in, out.data(), t->dims(), perm); break;
      default: permute_any<std::array<std::uint64_t, 2>>(in, out.data(), t->dims(), perm); break;
    }
    t->storage()->release();
  };
  return small_or_computed(t->dtype(), dims, fill);
}

TensorPtr converted(const TensorPtr& t, DType to) {
  if (t->dtype() == to) return t;
  if (!plain(t->dtype()) || !plain(to)) return nullptr;
  return small_or_computed(to, t->dims(), [t, to](std::span<std::byte> out) {
    convert_elements(*t, to, out);
    if (t->byte_size() > 4096) t->storage()->release();
  });
}

std::optional<std::vector<TensorPtr>> fold(const std::string& op, const std::vector<TensorPtr>& in, const Attrs& attrs, int) {
  const auto one = [](TensorPtr t) -> std::optional<std::vector<TensorPtr>> {
    if (!t) return std::nullopt;
    return std::vector<TensorPtr>{std::move(t)};
  };
  if (in.empty() || !in[0]) return std::nullopt;
  const Tensor& x = *in[0];
  if (op == "Transpose") {
    Ints reversed(static_cast<std::size_t>(x.rank()));
    for (std::size_t i = 0; i < reversed.size(); ++i) reversed[i] = x.rank() - 1 - static_cast<std::int64_t>(i);
    const Ints* perm = folding::ints_attr(attrs, "perm");
    return one(transposed(in[0], perm ? *perm : reversed));
  }
  if (op == "Cast")
    for (const ir::NamedAttr& a : attrs)
      if (a.name == "to") return one(converted(in[0], std::get<DType>(a.value)));
  if (op == "Identity") return one(in[0]);
  if (op == "Reshape") return one(folding::reshape(in, attrs));
  if (op == "Squeeze") return one(folding::squeeze(in, attrs));
  if (op == "Unsqueeze") return one(folding::unsqueeze(in, attrs));
  if (op == "Shape" && attrs.empty()) return one(Tensor::of<std::int64_t>({x.rank()}, x.dims()));
  if (op == "Concat") return one(folding::concat(in, attrs));
  if (op == "Slice") return one(folding::slice(in, attrs));
  if (op == "Gather") return one(folding::gather(in, attrs));
  if (op == "Expand") return one(folding::expand(in));
  if (op == "Tile") return one(folding::tile(in));
  if (op == "Where") return one(folding::where(in));
  if (op == "Range") return one(folding::range(in));
  if (op == "Max" || op == "Min" || op == "Sum") return one(folding::variadic(op, in));
  if (op.starts_with("Reduce")) return one(folding::reduce(op, in, attrs));
  if (in.size() == 2 && in[1]) return one(folding::binary(op, x, *in[1], attrs));
  if (in.size() == 1) return one(folding::unary(op, x));
  return std::nullopt;
}

}  // namespace t2o::onnx
