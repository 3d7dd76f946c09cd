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

bool Form::moves_runs() const {
  if (perm_.back() == rank() - 1) return true;
  std::ptrdiff_t jumps =
      0;  // between axes that were not one behind the other; at three, two blocks of axes change places
  for (std::size_t i = 0; i <= perm_.size(); ++i)
    jumps += (i == perm_.size() ? rank() : perm_[i]) != (i == 0 ? -1 : perm_[i - 1]) + 1;
  return jumps <= 3;
}

bool Form::moves_only_ones(const Shape& s) const {
  Ints ones;
  for (int i = 0; i < s.rank(); ++i)
    if (s[i] == 1) ones.push_back(i);
  return keeps_order_without(ones);
}

namespace {

struct AxisGroup {
  Ints from, to;  // axes, in their order, that hold the same elements in both shapes
};

// The next group in front of the axes i and j, which it moves; false if unknown sizes leave it open.
bool take_group(const Shape& from, const Shape& to, int& i, int& j, AxisGroup& group) {
  int a = i, b = j;
  Dim left = from[a], right = to[b];
  group = {{a--}, {b--}};
  if (left != right || left == kUnknownDim) {
    while (left != right || !is_known(left)) {
      if (!is_known(left) || !is_known(right)) return false;
      const bool is_left = left < right;
      int& next = is_left ? a : b;
      if (next < 0) return false;
      const Dim size = is_left ? from[next] : to[next];
      if (!is_known(size)) return false;
      (is_left ? left : right) *= size;
      Ints& axes = is_left ? group.from : group.to;
      axes.insert(axes.begin(), next--);
    }
  }
  i = a, j = b;
  return true;
}

// From the end: what is not known is the batch, in front.
std::vector<AxisGroup> groups_of(const Shape& from, const Shape& to) {
  std::vector<AxisGroup> groups;
  int i = from.rank() - 1, j = to.rank() - 1;
  for (AxisGroup g; i >= 0 && j >= 0 && take_group(from, to, i, j, g);) groups.push_back(g);
  if (i < 0 && j < 0) return groups;
  AxisGroup front{ints_from(0, i + 1), ints_from(0, j + 1)};
  if (i < 0 || j < 0) {  // axes of size 1
    if (groups.empty()) return {};
    append(front.from, groups.back().from);
    append(front.to, groups.back().to);
    groups.pop_back();
  }
  groups.push_back(std::move(front));
  return groups;
}

}  // namespace

std::optional<Form> Form::carried(const Shape& from, const Shape& to) const {
  if (!from.ranked() || !to.ranked() || from.rank() != rank()) return std::nullopt;
  if (contains(from.dims(), 0) || contains(to.dims(), 0)) return std::nullopt;
  const std::vector<AxisGroup> groups = groups_of(from, to);
  Ints perm;
  for (std::size_t at = 0; at < perm_.size();) {
    const auto g =
        std::ranges::find_if(groups, [&](const AxisGroup& a) { return a.from.front() == perm_[at]; });
    if (g == groups.end() || g->from.size() > perm_.size() - at ||
        !std::equal(g->from.begin(), g->from.end(), perm_.begin() + static_cast<std::ptrdiff_t>(at)))
      return std::nullopt;
    append(perm, g->to);
    at += g->from.size();
  }
  if (std::ranges::is_sorted(perm)) return std::nullopt;
  return Form(std::move(perm));
}

Ints perm_between(const Form* of_x, const Ints& plain, const Form* of_y) {
  Ints perm = of_y ? of_y->entries(plain) : plain;
  return of_x ? of_x->axes(std::move(perm)) : perm;
}

}  // namespace t2o::rewriters
