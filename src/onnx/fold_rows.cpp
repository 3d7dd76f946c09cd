// Folding of operators that go along rows: masks, sums that run on, margins.
#include <algorithm>
#include <cmath>

#include "ir/graph.h"
#include "onnx/fold_parts.h"

namespace t2o::onnx::folding {
namespace {

bool plain_number(DType t) {
  return contains({DType::f32, DType::f64, DType::f16}, t) ||
         (is_int(t) && bit_width(t) >= 8 && t != DType::u64);
}

TensorPtr made(DType t, const Ints& dims, const std::vector<double>& v) {
  return converted(Tensor::of<double>(dims, v), t);
}

// x as [outer, along the axis, inner].
struct Sides {
  std::int64_t outer = 1, size = 1, inner = 1;
};

std::optional<Sides> sides(const Tensor& x, std::int64_t axis) {
  if (axis < 0) axis += x.rank();
  if (axis < 0 || axis >= x.rank() || x.elements() > kMaxElements) return std::nullopt;
  Sides s;
  for (std::size_t i = 0; i < x.dims().size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    (at < axis ? s.outer : at == axis ? s.size : s.inner) *= x.dims()[i];
  }
  return s;
}

// f gets, for each row, where its n-th element stands.
template <class F>
void for_rows(const Sides& s, F f) {
  if (s.size == 0) return;  // whatever the other sizes are
  for (std::int64_t o = 0; o < s.outer; ++o)
    for (std::int64_t i = 0; i < s.inner; ++i)
      f([=](std::int64_t n) { return static_cast<std::size_t>((o * s.size + n) * s.inner + i); });
}

}  // namespace

// What is on one side of a diagonal of matrices; the rest is 0.
TensorPtr trilu(const std::vector<TensorPtr>& in, const Attrs& attrs) {
  const Tensor& x = *in[0];
  const bool folds = plain_number(x.dtype()) || x.dtype() == DType::boolean;
  if (!folds || x.rank() < 2 || x.elements() > kMaxElements) return nullptr;
  if (in.size() > 1 && in[1] && in[1]->elements() != 1) return nullptr;
  const std::int64_t k = in.size() > 1 && in[1] ? in[1]->int_at(0) : 0;
  const bool upper = int_attr(attrs, "upper", 1) != 0;
  const std::int64_t rows = x.dims().end()[-2], columns = x.dims().end()[-1];
  if (k < -rows || k > columns) return nullptr;  // beyond: no sum overflows
  const auto kept = [&](std::int64_t n) {
    const std::int64_t row = n / columns % rows, column = n % columns;
    return upper ? column - row >= k : column - row <= k;
  };
  if (is_int(x.dtype()) || x.dtype() == DType::boolean) {
    Ints v = x.to_ints();
    for (std::size_t n = 0; n < v.size(); ++n)
      if (!kept(static_cast<std::int64_t>(n))) v[n] = 0;
    return converted(Tensor::of<std::int64_t>(x.dims(), v), x.dtype());
  }
  std::vector<double> v = x.to_floats();
  for (std::size_t n = 0; n < v.size(); ++n)
    if (!kept(static_cast<std::int64_t>(n))) v[n] = 0;
  return made(x.dtype(), x.dims(), v);
}

TensorPtr cum_sum(const std::vector<TensorPtr>& in, const Attrs& attrs) {
  const Tensor& x = *in[0];
  if (in.size() != 2 || !in[1] || in[1]->elements() != 1 || !plain_number(x.dtype())) return nullptr;
  const auto s = sides(x, in[1]->int_at(0));
  if (!s) return nullptr;
  const bool backwards = int_attr(attrs, "reverse", 0) != 0, exclusive = int_attr(attrs, "exclusive", 0) != 0;
  const auto run = [&](auto v) {
    for_rows(*s, [&](auto at) {
      typename decltype(v)::value_type sum = 0;
      for (std::int64_t n = 0; n < s->size; ++n) {
        auto& e = v[at(backwards ? s->size - 1 - n : n)];
        const auto before = sum;
        sum += e;
        e = exclusive ? before : sum;
      }
    });
    return v;
  };
  if (!is_int(x.dtype())) return made(x.dtype(), x.dims(), run(x.to_floats()));
  const Ints whole = x.to_ints();
  const auto sums = run(std::vector<std::uint64_t>(whole.begin(), whole.end()));  // which wrap around
  return converted(Tensor::of<std::int64_t>(x.dims(), Ints(sums.begin(), sums.end())), x.dtype());
}

TensorPtr softmax(const Tensor& x, const Attrs& attrs) {
  const auto s = x.dtype() == DType::f32 || x.dtype() == DType::f64 ? sides(x, int_attr(attrs, "axis", -1))
                                                                    : std::nullopt;
  if (!s) return nullptr;
  std::vector<double> v = x.to_floats();
  for_rows(*s, [&](auto at) {
    double most = -INFINITY, sum = 0;
    for (std::int64_t n = 0; n < s->size; ++n) most = std::max(most, v[at(n)]);
    for (std::int64_t n = 0; n < s->size; ++n) sum += v[at(n)] = std::exp(v[at(n)] - most);
    for (std::int64_t n = 0; n < s->size; ++n) v[at(n)] /= sum;
  });
  return made(x.dtype(), x.dims(), v);
}

// With a constant around it.
TensorPtr pad(const std::vector<TensorPtr>& in, const Attrs& attrs) {
  const std::string* mode = string_attr(attrs, "mode");
  const Tensor& x = *in[0];
  const bool filled = in.size() > 2 && in[2];
  if (is_int(x.dtype()) && bit_width(x.dtype()) > 32) return nullptr;  // more than a double holds
  if ((mode && *mode != "constant") || !plain_number(x.dtype()) || in.size() < 2 || !in[1] ||
      (in.size() > 3 && in[3]) || (filled && in[2]->elements() != 1))
    return nullptr;
  const Ints margins = in[1]->to_ints();
  const auto rank = static_cast<std::size_t>(x.rank());
  if (margins.size() != 2 * rank || x.elements() > kMaxElements) return nullptr;
  Ints dims = x.dims();
  for (std::size_t i = 0; i < rank; ++i) {
    const std::int64_t before = margins[i], behind = margins[i + rank];
    if (before < 0 || behind < 0 || before > kMaxElements || behind > kMaxElements) return nullptr;
    dims[i] += before + behind;
    if (dims[i] > kMaxElements) return nullptr;
  }
  std::int64_t count = 1;
  for (const std::int64_t d : dims)
    if ((count *= d) > kMaxElements) return nullptr;
  std::vector<double> out(static_cast<std::size_t>(count), filled ? in[2]->float_at(0) : 0.0);
  const std::vector<double> v = x.to_floats();
  for (std::size_t n = 0; n < v.size(); ++n) {
    std::int64_t rest = static_cast<std::int64_t>(n), at = 0, step = 1;
    for (std::size_t d = rank; d-- > 0;) {
      at += (rest % x.dims()[d] + margins[d]) * step;
      rest /= x.dims()[d];
      step *= dims[d];
    }
    nth(out, at) = v[n];
  }
  return made(x.dtype(), dims, out);
}

}  // namespace t2o::onnx::folding
