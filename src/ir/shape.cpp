#include "ir/shape.h"

#include <algorithm>

#include "diagnostics.h"

namespace t2o {

Ints ints_from(std::int64_t first, std::int64_t last) {
  Ints all;
  for (std::int64_t i = first; i < last; ++i) all.push_back(i);
  return all;
}

Dim Symbols::intern(std::string_view name) {
  const auto [it, fresh] = ids_.try_emplace(std::string(name), -2 - static_cast<Dim>(names_.size()));
  if (fresh) names_.emplace_back(name);
  return it->second;
}

Dim Symbols::fresh() {
  std::string name;
  do name = "dim" + std::to_string(fresh_++);
  while (ids_.contains(name));
  return intern(name);
}

Symbols::Affine Symbols::affine_of(Dim symbol) const {
  const auto it = derived_.find(symbol);
  return it == derived_.end() ? Affine{symbol, 1, 0} : it->second;
}

Dim Symbols::affine(Dim symbol, std::int64_t factor, std::int64_t offset) {
  Affine a = affine_of(symbol);
  if (__builtin_mul_overflow(a.factor, factor, &a.factor) ||
      __builtin_mul_overflow(a.offset, factor, &a.offset) ||
      __builtin_add_overflow(a.offset, offset, &a.offset))
    return kUnknownDim;
  if (a.factor == 1 && a.offset == 0) return a.base;
  std::string text = a.factor == 1 ? name(a.base) : std::to_string(a.factor) + "*" + name(a.base);
  if (a.offset != 0) text += (a.offset > 0 ? "+" : "") + std::to_string(a.offset);
  const Dim d = intern(text);
  derived_.emplace(d, a);
  return d;
}

namespace {

// a - b, where both are the same multiple of the same symbol
std::optional<std::int64_t> constant_difference(Dim a, Dim b, const Symbols& symbols) {
  std::int64_t out;
  if (is_known(a) && is_known(b)) return a - b;
  if (!is_symbol(a) || !is_symbol(b)) return std::nullopt;
  const Symbols::Affine x = symbols.affine_of(a), y = symbols.affine_of(b);
  if (x.base != y.base || x.factor != y.factor || __builtin_sub_overflow(x.offset, y.offset, &out))
    return std::nullopt;
  return out;
}

std::int64_t floor_div(std::int64_t a, std::int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

}  // namespace

Dim add_dims(Dim a, Dim b, Symbols& symbols) {
  if (a == 0) return b;
  if (b == 0) return a;
  Dim out;
  if (is_known(a) && is_known(b)) return __builtin_add_overflow(a, b, &out) ? kUnknownDim : out;
  if (is_known(a)) std::swap(a, b);
  if (!is_symbol(a)) return kUnknownDim;
  if (is_known(b)) return symbols.affine(a, 1, b);
  const Symbols::Affine x = symbols.affine_of(a),
                        y = is_symbol(b) ? symbols.affine_of(b) : Symbols::Affine{kUnknownDim, 0, 0};
  std::int64_t offset;
  if (x.base != y.base || __builtin_add_overflow(x.offset, y.offset, &offset) ||
      __builtin_add_overflow(x.factor, y.factor, &out))
    return kUnknownDim;
  return symbols.affine(x.base, out, offset);
}

Dim subtract_dims(Dim a, Dim b, Symbols& symbols) {
  if (b == 0) return a;
  if (const auto d = constant_difference(a, b, symbols)) return *d >= 0 ? *d : kUnknownDim;
  return is_symbol(a) && is_known(b) ? symbols.affine(a, 1, -b) : kUnknownDim;
}

Dim multiply_dims(Dim a, Dim b, Symbols& symbols) {
  if (a == 0 || b == 0) return 0;
  if (a == 1) return b;
  if (b == 1) return a;
  Dim out;
  if (is_known(a) && is_known(b)) return __builtin_mul_overflow(a, b, &out) ? kUnknownDim : out;
  if (is_known(a)) std::swap(a, b);
  return is_symbol(a) && is_known(b) ? symbols.affine(a, b, 0) : kUnknownDim;
}

Dim divide_dims(Dim a, Dim b, Symbols& symbols) {
  if (is_symbol(a) && is_known(b) && b != 0) {
    const std::int64_t offset = symbols.affine_of(a).offset;
    if (offset < 0 && offset % b != 0) return kUnknownDim;
  }
  return floor_divide_dims(a, b, symbols);
}

Dim floor_divide_dims(Dim a, Dim b, Symbols& symbols) {
  if (b == 1) return a;
  if (!is_known(b) || b == 0) return kUnknownDim;
  if (is_known(a)) return a / b;
  if (!is_symbol(a)) return kUnknownDim;
  const Symbols::Affine x = symbols.affine_of(a);
  return x.factor % b == 0 ? symbols.affine(x.base, x.factor / b, floor_div(x.offset, b)) : kUnknownDim;
}

Dim larger_dim(Dim a, Dim b, const Symbols& symbols) {
  const auto d = a == b ? std::optional<std::int64_t>(0) : constant_difference(a, b, symbols);
  return d ? (*d >= 0 ? a : b) : kUnknownDim;
}

Dim smaller_dim(Dim a, Dim b, const Symbols& symbols) {
  const auto d = a == b ? std::optional<std::int64_t>(0) : constant_difference(a, b, symbols);
  return d ? (*d >= 0 ? b : a) : kUnknownDim;
}

Dim Shape::operator[](int axis) const {
  const std::size_t size = dims_ ? dims_->size() : 0;
  const std::size_t at = axis < 0 ? static_cast<std::size_t>(axis) + size : static_cast<std::size_t>(axis);
  if (at >= size)
    fail(Code::bad_model, "a tensor of " + (dims_ ? "rank " + std::to_string(size) : "unknown rank") +
                              " has no axis " + std::to_string(axis));
  return (*dims_)[at];
}

bool Shape::is_static() const { return dims_ && std::ranges::all_of(*dims_, is_known); }

std::optional<std::int64_t> Shape::elements() const {
  if (!is_static()) return std::nullopt;
  std::int64_t n = 1;
  for (const Dim d : *dims_)
    if (__builtin_mul_overflow(n, d, &n)) return std::nullopt;
  return n;
}

std::optional<Shape> merge(const Shape& a, const Shape& b) {
  if (!a.ranked()) return b;
  if (!b.ranked()) return a;
  if (a.rank() != b.rank()) return std::nullopt;
  Ints dims = a.dims();
  for (int i = 0; i < b.rank(); ++i) {
    Dim& d = nth(dims, i);
    if (is_known(d) && is_known(b[i]) && d != b[i]) return std::nullopt;
    if (is_known(b[i]) || d == kUnknownDim) d = b[i];
  }
  return Shape(std::move(dims));
}

}  // namespace t2o
