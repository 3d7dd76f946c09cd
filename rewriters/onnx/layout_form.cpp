#include "rewriters/onnx/layout_form.h"

#include <algorithm>

namespace t2o::rewriters {

Form::Form(Ints perm) : perm_(std::move(perm)), inverse_(perm_.size()) {
  for (std::size_t i = 0; i < perm_.size(); ++i) nth(inverse_, perm_[i]) = static_cast<std::int64_t>(i);
}

Ints Form::axes(Ints axes) const {
  for (std::int64_t& a : axes) a = axis(a);
  return axes;
}

Ints Form::entries(const Ints& e) const {
  Ints out;
  for (const std::int64_t p : perm_) out.push_back(nth(e, p));
  return out;
}

Shape Form::shape(const Shape& s) const { return Shape(entries(s.dims())); }

bool Form::keeps_order_without(const Ints& axes) const {
  std::int64_t last = -1;
  for (const std::int64_t p : perm_) {
    const bool dropped =
        std::ranges::any_of(axes, [&](std::int64_t a) { return (a < 0 ? a + rank() : a) == p; });
    if (dropped) continue;
    if (p < last) return false;
    last = p;
  }
  return true;
}

bool Form::moves_only_ones(const Shape& s) const {
  Ints ones;
  for (int i = 0; i < s.rank(); ++i)
    if (s[i] == 1) ones.push_back(i);
  return keeps_order_without(ones);
}

}  // namespace t2o::rewriters
