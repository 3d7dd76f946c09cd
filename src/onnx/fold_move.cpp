// Folding of operators that move elements: views where possible, copies of bounded size elsewhere.
#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>

#include "ir/graph.h"
#include "onnx/fold_parts.h"

namespace t2o::onnx::folding {
namespace {

// Copies the elements that `source` names (flat indices into `in`), in order.
template <class Source>
TensorPtr pick(const Tensor& in, Ints dims, Source source) {
  const std::int64_t n = element_count(dims);
  if (in.dtype() == DType::string) {
    std::vector<std::string> out;
    out.reserve(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) out.push_back(nth(in.strings(), source(i)));
    return std::make_shared<Tensor>(std::move(dims), std::move(out));
  }
  const std::size_t width = bit_width(in.dtype()) / 8;
  if (width == 0) return nullptr;
  std::vector<std::byte> out(static_cast<std::size_t>(n) * width);
  const std::byte* from = in.bytes().data();
  for (std::int64_t i = 0; i < n; ++i)
    std::memcpy(out.data() + static_cast<std::size_t>(i) * width,
                from + static_cast<std::size_t>(source(i)) * width, width);
  return std::make_shared<Tensor>(in.dtype(), std::move(dims), heap_storage(std::move(out)));
}

// A tensor without elements, whose other dims may be of any size, is not walked: there they are 0.
Ints strides_of(const Ints& dims) {
  if (contains(dims, 0)) return Ints(dims.size(), 0);
  Ints s(dims.size(), 1);
  for (std::size_t i = dims.size(); i-- > 1;) s[i - 1] = s[i] * dims[i];
  return s;
}

// The flat index into a tensor of `strides` for the i-th element of a tensor of `dims`, per axis start + k *
// step.
struct Walk {
  Ints dims, offset;  // offset: of one step along each axis, in elements of the source
  std::int64_t base = 0;
  std::int64_t operator()(std::int64_t i) const {
    std::int64_t at = base;
    for (std::size_t d = dims.size(); d-- > 0;) {
      at += i % dims[d] * offset[d];
      i /= dims[d];
    }
    return at;
  }
};

// Row by row: a part of a weight is as big as a weight.
void copy_part(const std::byte* from, std::size_t width, const Walk& walk, std::span<std::byte> out) {
  const bool whole_rows = !walk.dims.empty() && walk.offset.back() == 1;
  const auto row = whole_rows ? walk.dims.back() : std::int64_t{1};
  const std::size_t bytes = static_cast<std::size_t>(row) * width;
  const std::int64_t n = element_count(walk.dims);
  std::byte* to = out.data();
  for (std::int64_t i = 0; i < n; i += row, to += bytes)
    std::memcpy(to, from + static_cast<std::size_t>(walk(i)) * width, bytes);
}

// What several parts are taken of: it is computed once for all of them, where they are written one after the
// other.
class Whole {
 public:
  Whole(TensorPtr whole, std::size_t parts) : whole_(std::move(whole)), parts_(parts), left_(parts) {}
  const Tensor& tensor() const { return *whole_; }
  void done() {  // with one of the parts
    if (--left_ != 0) return whole_->storage()->trim();
    whole_->storage()->release();
    left_ = parts_;
  }

 private:
  const TensorPtr whole_;
  const std::size_t parts_;
  std::atomic<std::size_t> left_;
};

// The elements on the walk: kept where they are few, made again when the model is written where they are
// many.
TensorPtr part_of(const TensorPtr& in, const Walk& walk, const std::shared_ptr<Whole>& whole) {
  const std::size_t width = bit_width(in->dtype()) / 8;
  if (in->dtype() == DType::string || width == 0 || element_count(walk.dims) <= kMaxElements)
    return pick(*in, walk.dims, walk);
  const std::size_t size = static_cast<std::size_t>(element_count(walk.dims)) * width;
  auto fill = [whole, width, walk](std::span<std::byte> out) {
    copy_part(whole->tensor().bytes().data(), width, walk, out);
    whole->done();
  };
  return std::make_shared<Tensor>(in->dtype(), walk.dims, computed_storage(size, std::move(fill)));
}

bool too_big(const Ints& dims, const Tensor& in) {  // a smaller or equal result is always welcome
  std::int64_t n = 1;
  for (const std::int64_t d : dims)
    if (__builtin_mul_overflow(n, d, &n)) return true;
  return n > kMaxElements && n > in.elements();
}

bool are_distinct(Ints axes) {
  std::ranges::sort(axes);
  return std::ranges::adjacent_find(axes) == axes.end();
}

// An operator's axes: an input since opset 13, an attribute before.
std::optional<Ints> axes_of(const std::vector<TensorPtr>& in, const Attrs& attrs) {
  if (in.size() > 1 && in[1]) return in[1]->to_ints();
  if (const Ints* a = ints_attr(attrs, "axes")) return *a;
  return std::nullopt;
}

}  // namespace

const Ints* ints_attr(const Attrs& attrs, std::string_view name) {
  for (const ir::NamedAttr& a : attrs)
    if (a.name == name) return std::get_if<Ints>(&a.value);
  return nullptr;
}

std::int64_t int_attr(const Attrs& attrs, std::string_view name, std::int64_t fallback) {
  for (const ir::NamedAttr& a : attrs)
    if (a.name == name)
      if (const auto* i = std::get_if<std::int64_t>(&a.value)) return *i;
  return fallback;
}

const std::string* string_attr(const Attrs& attrs, std::string_view name) {
  for (const ir::NamedAttr& a : attrs)
    if (a.name == name) return std::get_if<std::string>(&a.value);
  return nullptr;
}

std::optional<Ints> normal_axes(Ints axes, int rank) {
  for (std::int64_t& a : axes) {
    if (a < -rank || a >= rank) return std::nullopt;
    if (a < 0) a += rank;
  }
  return axes;
}

TensorPtr reshape(const std::vector<TensorPtr>& in, const Attrs& attrs) {
  if (in.size() < 2 || !in[1]) return nullptr;
  Ints dims = in[1]->to_ints();
  const bool allow_zero = int_attr(attrs, "allowzero", 0) != 0;
  std::int64_t known = 1, inferred = -1;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 0 && !allow_zero) {
      if (i >= in[0]->dims().size()) return nullptr;
      dims[i] = in[0]->dims()[i];
    }
    if (dims[i] < -1) return nullptr;
    if (dims[i] == -1)
      inferred = static_cast<std::int64_t>(i);
    else if (__builtin_mul_overflow(known, dims[i], &known))
      return nullptr;
  }
  if (inferred >= 0) {
    if (known == 0) return nullptr;
    nth(dims, inferred) = in[0]->elements() / known;
  } else if (known != in[0]->elements()) {
    return nullptr;
  }
  return element_count(dims) == in[0]->elements() ? in[0]->with_dims(std::move(dims)) : nullptr;
}

TensorPtr squeeze(const std::vector<TensorPtr>& in, const Attrs& attrs) {
  Ints dims;
  const auto given = axes_of(in, attrs);
  const auto axes = given ? normal_axes(*given, in[0]->rank()) : std::nullopt;
  if (given && !axes) return nullptr;
  for (std::size_t i = 0; i < in[0]->dims().size(); ++i) {
    const bool dropped = axes ? contains(*axes, static_cast<std::int64_t>(i)) : in[0]->dims()[i] == 1;
    if (!dropped) dims.push_back(in[0]->dims()[i]);
  }
  return element_count(dims) == in[0]->elements() ? in[0]->with_dims(std::move(dims)) : nullptr;
}

TensorPtr unsqueeze(const std::vector<TensorPtr>& in, const Attrs& attrs) {
  const auto given = axes_of(in, attrs);
  if (!given) return nullptr;
  auto axes = normal_axes(*given, in[0]->rank() + static_cast<int>(given->size()));
  if (!axes || !are_distinct(*axes)) return nullptr;
  std::ranges::sort(*axes);
  Ints dims = in[0]->dims();
  for (const std::int64_t a : *axes) dims.insert(dims.begin() + a, 1);
  return in[0]->with_dims(std::move(dims));
}

TensorPtr concat(const std::vector<TensorPtr>& in, const Attrs& attrs) {
  const auto axis = normal_axes({int_attr(attrs, "axis", 0)}, in[0]->rank());
  if (!axis || in[0]->rank() == 0) return nullptr;
  const auto a = static_cast<std::size_t>((*axis)[0]);
  Ints dims = in[0]->dims();
  dims[a] = 0;
  std::int64_t outer = 1;
  for (std::size_t i = 0; i < a; ++i) outer *= dims[i];
  for (const TensorPtr& t : in) {
    if (!t || t->rank() != in[0]->rank() || t->dtype() != in[0]->dtype()) return nullptr;
    for (std::size_t i = 0; i < dims.size(); ++i)
      if (i != a && t->dims()[i] != dims[i]) return nullptr;
    dims[a] += t->dims()[a];
  }
  const std::size_t width = bit_width(in[0]->dtype()) / 8;
  std::size_t size = 0;
  for (const TensorPtr& t : in) size += t->byte_size();
  if (width == 0 || size != static_cast<std::size_t>(element_count(dims)) * width) return nullptr;
  auto fill = [in, outer](std::span<std::byte> out) {
    std::byte* to = out.data();
    std::vector<Bytes> all;
    for (const TensorPtr& t : in) all.push_back(t->bytes());
    for (std::int64_t o = 0; o < outer; ++o)
      for (const Bytes& b : all) {
        const std::size_t chunk = b.size() / static_cast<std::size_t>(outer);
        if (chunk != 0) std::memcpy(to, b.data() + static_cast<std::size_t>(o) * chunk, chunk);
        to += chunk;
      }
    for (const TensorPtr& t : in) t->storage()->release();
  };
  if (element_count(dims) > kMaxElements)
    return std::make_shared<Tensor>(in[0]->dtype(), std::move(dims), computed_storage(size, std::move(fill)));
  std::vector<std::byte> out(size);
  fill(std::span<std::byte>(out));
  return std::make_shared<Tensor>(in[0]->dtype(), std::move(dims), heap_storage(std::move(out)));
}

TensorPtr slice(const std::vector<TensorPtr>& in, const Attrs&) {
  if (in.size() < 3 || !in[1] || !in[2]) return nullptr;
  const Tensor& x = *in[0];
  const Ints starts = in[1]->to_ints(), ends = in[2]->to_ints();
  Ints given(starts.size()), steps(starts.size(), 1);
  for (std::size_t i = 0; i < given.size(); ++i) given[i] = static_cast<std::int64_t>(i);
  if (in.size() > 3 && in[3]) given = in[3]->to_ints();
  if (in.size() > 4 && in[4]) steps = in[4]->to_ints();
  const auto axes = normal_axes(given, x.rank());
  if (!axes || !are_distinct(*axes) || ends.size() != starts.size() || steps.size() != starts.size() ||
      given.size() != starts.size())
    return nullptr;
  Walk walk{x.dims(), strides_of(x.dims())};
  for (std::size_t i = 0; i < axes->size(); ++i) {
    const auto a = static_cast<std::size_t>((*axes)[i]);
    const std::int64_t n = x.dims()[a], step = steps[i];
    if (step == 0) return nullptr;
    const std::int64_t low = step > 0 ? 0 : -1, high = step > 0 ? n : n - 1;
    const auto clamp = [&](std::int64_t v) {
      return std::clamp(v < 0 ? (v < -n ? low : v + n) : v, low, high);
    };
    const std::int64_t s = clamp(starts[i]),
                       e = ends[i] == std::numeric_limits<std::int64_t>::min() ? low : clamp(ends[i]);
    const std::int64_t distance = step > 0 ? e - s : s - e;
    const std::uint64_t stride =
        step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
    walk.dims[a] =
        distance <= 0 ? 0 : 1 + static_cast<std::int64_t>(static_cast<std::uint64_t>(distance - 1) / stride);
    walk.base += s * walk.offset[a];
    walk.offset[a] = walk.dims[a] > 1 ? walk.offset[a] * step : 0;  // else the step may be beyond all bounds
  }
  return part_of(in[0], walk, std::make_shared<Whole>(in[0], 1));
}

std::optional<std::vector<TensorPtr>> split(const std::vector<TensorPtr>& in, const Attrs& attrs) {
  const Tensor& x = *in[0];
  const auto axis = normal_axes({int_attr(attrs, "axis", 0)}, x.rank());
  const Ints* given = ints_attr(attrs, "split");
  if (!axis || x.rank() == 0 || (!given && (in.size() < 2 || !in[1]))) return std::nullopt;
  const auto a = static_cast<std::size_t>((*axis)[0]);
  const Ints sizes = given ? *given : in[1]->to_ints();
  Walk walk{x.dims(), strides_of(x.dims())};
  std::vector<TensorPtr> parts;
  const auto whole = std::make_shared<Whole>(in[0], sizes.size());
  std::int64_t total = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0 || size > x.dims()[a] - total) return std::nullopt;
    walk.dims[a] = size;
    walk.base = total * walk.offset[a];
    total += size;
    parts.push_back(part_of(in[0], walk, whole));
    if (!parts.back()) return std::nullopt;
  }
  return total == x.dims()[a] ? std::optional(std::move(parts)) : std::nullopt;
}

TensorPtr gather(const std::vector<TensorPtr>& in, const Attrs& attrs) {
  const Tensor& x = *in[0];
  const auto axis = normal_axes({int_attr(attrs, "axis", 0)}, x.rank());
  if (!axis || in.size() < 2 || !in[1] || x.rank() == 0) return nullptr;
  const auto a = static_cast<std::size_t>((*axis)[0]);
  Ints dims(x.dims().begin(), x.dims().begin() + static_cast<std::ptrdiff_t>(a));
  dims.insert(dims.end(), in[1]->dims().begin(), in[1]->dims().end());
  dims.insert(dims.end(), x.dims().begin() + static_cast<std::ptrdiff_t>(a) + 1, x.dims().end());
  if (too_big(dims, x) || element_count(dims) > kMaxElements) return nullptr;
  Ints indices = in[1]->to_ints();
  for (std::int64_t& i : indices) {
    if (i < 0) i += x.dims()[a];
    if (i < 0 || i >= x.dims()[a]) return nullptr;
  }
  const std::int64_t inner = strides_of(x.dims())[a], count = static_cast<std::int64_t>(indices.size()),
                     size = x.dims()[a];
  return pick(x, std::move(dims), [=, &indices](std::int64_t i) {
    const std::int64_t k = i / inner % count, outer = i / inner / count;
    return (outer * size + nth(indices, k)) * inner + i % inner;
  });
}

TensorPtr expand(const std::vector<TensorPtr>& in) {
  if (in.size() < 2 || !in[1]) return nullptr;
  const Tensor& x = *in[0];
  Ints want = in[1]->to_ints(), have = x.dims();
  while (have.size() < want.size()) have.insert(have.begin(), 1);
  while (want.size() < have.size()) want.insert(want.begin(), 1);
  Walk walk{want, strides_of(have)};
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (want[i] == 1)
      walk.dims[i] = have[i];
    else if (have[i] == 1)
      walk.offset[i] = 0;
    else if (have[i] != want[i])
      return nullptr;
  }
  if (too_big(walk.dims, x)) return nullptr;
  Ints dims = walk.dims;
  return pick(x, std::move(dims), walk);
}

TensorPtr tile(const std::vector<TensorPtr>& in) {
  if (in.size() < 2 || !in[1]) return nullptr;
  const Tensor& x = *in[0];
  const Ints repeats = in[1]->to_ints(), strides = strides_of(x.dims());
  Ints dims = x.dims();
  for (std::size_t i = 0; i < dims.size(); ++i)
    if (i >= repeats.size() || repeats[i] < 0 || __builtin_mul_overflow(dims[i], repeats[i], &dims[i]))
      return nullptr;
  if (too_big(dims, x)) return nullptr;
  const Ints out = dims;
  return pick(x, std::move(dims), [&](std::int64_t i) {
    std::int64_t at = 0;
    for (std::size_t d = out.size(); d-- > 0;) {
      at += i % out[d] % x.dims()[d] * strides[d];
      i /= out[d];
    }
    return at;
  });
}

}  // namespace t2o::onnx::folding
