#include "ir/shape.h"

#include <algorithm>

namespace t2o {

Dim Symbols::intern(std::string_view name) {
  const auto [it, fresh] = ids_.try_emplace(std::string(name), -2 - static_cast<Dim>(names_.size()));
  if (fresh) names_.emplace_back(name);
  return it->second;
}

Dim Shape::operator[](int axis) const {
  return (*dims_)[static_cast<std::size_t>(axis < 0 ? axis + rank() : axis)];
}

bool Shape::is_static() const { return dims_ && std::all_of(dims_->begin(), dims_->end(), is_known); }

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
    Dim& d = dims[static_cast<std::size_t>(i)];
    if (is_known(d) && is_known(b[i]) && d != b[i]) return std::nullopt;
    if (is_known(b[i]) || d == kUnknownDim) d = b[i];
  }
  return Shape(std::move(dims));
}

}  // namespace t2o
