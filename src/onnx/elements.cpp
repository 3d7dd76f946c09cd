#include "onnx/elements.h"

#include <algorithm>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "onnx/emitter.h"
#include "onnx/fold_parts.h"
#include "onnx/op_traits.h"
#include "onnx/window_shape.h"

namespace t2o::onnx {
namespace {

std::optional<Ints> elements(const Value* v) {
  if (!v) return std::nullopt;
  if (v->known_elements()) return *v->known_elements();
  const TensorPtr& t = v->constant();
  if (!t || !is_int(t->dtype()) || t->rank() > 1 || t->elements() > 64) return std::nullopt;
  Ints out = t->to_ints();
  return std::ranges::all_of(out, is_known) ? std::optional(out)
                                            : std::nullopt;  // a negative number is no dim
}

using Binary = Dim (*)(Dim, Dim, Symbols&);

std::optional<Ints> elementwise(const Values& in, Binary f, Symbols& symbols) {
  std::optional<Ints> all = elements(in[0]);
  for (std::size_t i = 1; all && i < in.size(); ++i) {
    std::optional<Ints> next = elements(in[i]);
    if (!next || all->empty() || next->empty()) return std::nullopt;
    if (all->size() == 1) all->resize(next->size(), all->front());
    if (next->size() == 1) next->resize(all->size(), next->front());
    if (next->size() != all->size()) return std::nullopt;
    std::transform(all->begin(), all->end(), next->begin(), all->begin(),
                   [&](Dim a, Dim b) { return f(a, b, symbols); });
  }
  return all;
}

std::optional<Ints> reduced(const Values& in, Binary f, Dim start, Symbols& symbols) {
  if (!in[0]->shape().ranked() || in[0]->shape().rank() != 1) return std::nullopt;
  const std::optional<Ints> all = elements(in[0]);
  if (!all) return std::nullopt;
  Dim d = start;
  for (const Dim e : *all) d = f(d, e, symbols);
  return Ints{d};
}

// Over whichever axes, of a list of one.
std::optional<Ints> only_element(const Values& in) {
  const std::optional<Ints> all = elements(in[0]);
  return all && all->size() == 1 ? all : std::nullopt;
}

// Those at constant places, of a list.
std::optional<Ints> picked(const Values& in, const Attrs& attrs) {
  const bool first_axis = std::ranges::none_of(
      attrs, [](const ir::NamedAttr& a) { return a.name == "axis" && a.value != Attr(std::int64_t{0}); });
  const std::optional<Ints> all = elements(in[0]);
  if (!all || !first_axis || in.size() < 2 || !in[1]->constant() || in[1]->shape().rank() > 1 ||
      in[0]->shape().rank() != 1)
    return std::nullopt;
  Ints out;
  for (std::int64_t i : in[1]->constant()->to_ints()) {
    if (i < 0) i += static_cast<std::int64_t>(all->size());
    if (i < 0 || i >= static_cast<std::int64_t>(all->size())) return std::nullopt;
    out.push_back(nth(*all, i));
  }
  return out;
}

// A part of a list by constant bounds: ONNX itself follows it from opset 13 on.
std::optional<Ints> cut_out(const Values& in) {
  const std::optional<Ints> all = elements(in[0]);
  if (!all || in.size() < 3 || !in[0]->shape().ranked() || in[0]->shape().rank() != 1) return std::nullopt;
  const auto number = [&](std::size_t i, std::int64_t otherwise) -> std::optional<std::int64_t> {
    if (i >= in.size() || !in[i]) return otherwise;
    if (!in[i]->constant() || in[i]->constant()->elements() != 1) return std::nullopt;
    return in[i]->constant()->int_at(0);
  };
  const auto start = number(1, 0), end = number(2, 0), step = number(4, 1);
  if (!start || !end || step != 1) return std::nullopt;
  const auto n = static_cast<std::int64_t>(all->size());
  const auto place = [&](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + n : i, 0, n); };
  const std::int64_t first = place(*start), last = std::max(first, place(*end));
  return Ints(all->begin() + first, all->begin() + last);
}

// One list behind the other. A constant that is no size, as -1 is, is not known.
std::optional<Ints> joined(const Values& in) {
  Ints out;
  for (const Value* v : in) {
    if (!v || !v->shape().ranked() || v->shape().rank() != 1) return std::nullopt;
    std::optional<Ints> next = elements(v);
    if (!next && v->constant() && is_int(v->dtype()) && v->constant()->elements() <= 64)
      next = v->constant()->to_ints();
    if (!next && is_known(v->shape()[0]) && v->shape()[0] <= 64) next = repeated(kUnknownDim, v->shape()[0]);
    if (!next) return std::nullopt;
    for (const Dim d : *next) out.push_back(v->constant() && !is_known(d) ? kUnknownDim : d);
  }
  return std::ranges::all_of(out, [](Dim d) { return d == kUnknownDim; }) ? std::nullopt : std::optional(out);
}

// The sizes that x is reshaped to; a negative entry is one that is not known or that is inferred.
std::optional<Ints> target_of_reshape(const Values& in) {
  if (in[1]->known_elements()) return *in[1]->known_elements();
  if (in[1]->constant()) return in[1]->constant()->to_ints();
  return std::nullopt;
}

// Where two dims are multiples of one size: those of which is taken out, by which numbers they differ.
bool take_multiple(Ints& from, Dim target, const Symbols& all, std::int64_t& numbers, std::int64_t& divisor) {
  if (!is_symbol(target)) return false;
  const auto t = all.affine_of(target);
  for (auto f = from.begin(); f != from.end(); ++f) {
    if (!is_symbol(*f) || t.offset != 0 || all.affine_of(*f).base != t.base || all.affine_of(*f).offset != 0)
      continue;
    const std::int64_t factor = all.affine_of(*f).factor;
    from.erase(f);
    return !__builtin_mul_overflow(numbers, factor, &numbers) &&
           !__builtin_mul_overflow(divisor, t.factor, &divisor);
  }
  return false;
}

// What is left of the dims of x when those of the result but one are divided out of them.
Dim left_over(Ints from, const Ints& target, std::size_t open, Symbols& all) {
  std::int64_t numbers = 1, divisor = 1;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (i == open) continue;
    if (target[i] == 0) return kUnknownDim;  // any size would do
    const auto same = std::ranges::find(from, target[i]);
    if (same != from.end())
      from.erase(same);
    else if (take_multiple(from, target[i], all, numbers, divisor))
      continue;
    else if (target[i] <= 0 || __builtin_mul_overflow(divisor, target[i], &divisor))
      return kUnknownDim;
  }
  Ints symbols;
  for (const Dim d : from) {
    if (d == kUnknownDim || (is_known(d) && __builtin_mul_overflow(numbers, d, &numbers))) return kUnknownDim;
    if (is_symbol(d)) symbols.push_back(d);
  }
  if (numbers == 0 || symbols.size() > 1) return kUnknownDim;
  if (symbols.empty()) return numbers % divisor == 0 ? numbers / divisor : kUnknownDim;
  const Dim product = multiply_dims(symbols[0], numbers, all);
  return is_symbol(product) && all.affine_of(product).offset % divisor == 0
             ? divide_dims(product, divisor, all)
             : kUnknownDim;
}

Shape reshaped(const Values& in, const Shape& inferred, Symbols& symbols) {
  const auto target =
      in.size() == 2 && in[0]->shape().ranked() && inferred.ranked() ? target_of_reshape(in) : std::nullopt;
  if (!target || static_cast<int>(target->size()) != inferred.rank()) return inferred;
  Ints dims = inferred.dims();
  const auto open = std::ranges::find(dims, kUnknownDim);
  if (open == dims.end() || std::ranges::count(dims, kUnknownDim) != 1) return inferred;
  *open = left_over(in[0]->shape().dims(), dims, static_cast<std::size_t>(open - dims.begin()), symbols);
  return Shape(std::move(dims));
}

bool is_number(const Value* v, std::int64_t n) {
  return v->constant() && is_int(v->dtype()) && v->constant()->elements() == 1 &&
         v->constant()->int_at(0) == n;
}

}  // namespace

namespace {

using folding::int_attr;

int length_of(const Value* v) {  // of a list; -1 where it is not known
  const bool known = v && v->shape().ranked() && v->shape().rank() == 1 && is_known(v->shape()[0]);
  return known ? static_cast<int>(v->shape()[0]) : -1;
}

// Of a length that is known at run time only, along an axis that is: the other axes keep their sizes.
Shape shape_of_dft(const Values& in, const Attrs& attrs) {
  const int rank = in[0]->shape().rank();
  std::int64_t axis = int_attr(attrs, "axis", 1);
  if (in.size() > 2 && in[2]) {
    if (!in[2]->constant() || in[2]->constant()->elements() != 1) return {};
    axis = in[2]->constant()->int_at(0);
  }
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) return {};
  Ints dims = in[0]->shape().dims();
  const auto length = in.size() > 1 && in[1] ? elements(in[1]) : std::nullopt;
  const bool whole = int_attr(attrs, "onesided", 0) == 0 && length && length->size() == 1;
  nth(dims, axis) = whole ? length->front() : kUnknownDim;
  const bool real = int_attr(attrs, "onesided", 0) != 0 && int_attr(attrs, "inverse", 0) != 0;
  dims.back() = real ? 1 : 2;
  return Shape(std::move(dims));
}

// Sizes that the list tells; a 0 may stand for the size of x.
Shape shape_of_reshape(const Value& list, int rank) {
  if (!list.known_elements() || static_cast<int>(list.known_elements()->size()) != rank)
    return Shape::unknown_dims(rank);
  Ints dims = *list.known_elements();
  std::ranges::replace(dims, Dim{0}, kUnknownDim);
  return Shape(std::move(dims));
}

// With a kernel whose size is not known.
Shape shape_of_conv(const Values& in) {
  Shape out = Shape::unknown_dims(in[0]->shape().rank());
  Ints dims = out.dims();
  dims[0] = in[0]->shape()[0];
  if (in.size() > 1 && in[1] && in[1]->shape().ranked() && in[1]->shape().rank() > 0)
    dims[1] = in[1]->shape()[0];
  return Shape(std::move(dims));
}

// The rank where nothing else is known.
Shape ranked_shape(std::string_view op, const Values& in, const Attrs& attrs) {
  if (in.empty() || !in[0]) return {};
  const Shape& x = in[0]->shape();
  if (op == "Transpose" && !attrs.empty())
    if (const auto* perm = std::get_if<Ints>(&attrs[0].value))
      return Shape::unknown_dims(static_cast<int>(perm->size()));
  if (op.starts_with("Reduce") && x.ranked())
    return int_attr(attrs, "keepdims", 1) == 0 ? Shape() : Shape::unknown_dims(x.rank());
  if (op == "DFT" && x.ranked() && x.rank() > 1) return shape_of_dft(in, attrs);
  if (op == "Conv" && x.ranked() && x.rank() > 1) return shape_of_conv(in);
  if (op == "Tile" && x.ranked()) return Shape::unknown_dims(x.rank());
  if (op == "ConstantOfShape" && length_of(in[0]) >= 0) return Shape::unknown_dims(length_of(in[0]));
  const int n = in.size() > 1 ? length_of(in[1]) : -1;
  if (op == "Reshape" && n >= 0) return shape_of_reshape(*in[1], n);
  if (op == "Expand" && n >= 0 && x.ranked()) return Shape::unknown_dims(std::max(n, x.rank()));
  return {};
}

}  // namespace

namespace {

constexpr std::size_t kLongestName = 80;

// No number times such a size, whose name would be taken apart at the wrong places.
bool is_plain(Dim symbol, const Symbols& symbols) {
  return symbols.affine_of(symbol).base == symbol || symbols.name(symbol).find('|') == std::string::npos;
}

// Of which each is 1 or what all others are that are not: named after them, in order, so that the same have
// one name.
Dim broadcast_dim(const std::set<std::string>& sizes, Symbols& symbols) {
  std::string all;
  for (const std::string& s : sizes) all += (all.empty() ? "" : "|") + s;
  return all.empty() || all.size() > kLongestName ? kUnknownDim : symbols.intern(all);
}

// The sizes that differ in name, and are the same or 1 when it runs.
Shape broadcast_shape(std::string_view op, const Values& in, const Shape& inferred, Symbols& symbols) {
  const int fixed = op == "MatMul" ? 2 : 0;  // the last axes are not broadcast
  Ints dims = inferred.dims();
  for (const Value* v : in)
    if (!v || !v->shape().ranked() || (fixed != 0 && v->shape().rank() < 2)) return inferred;
  for (int i = 1 + fixed; i <= inferred.rank(); ++i) {
    Dim& d = dims[dims.size() - static_cast<std::size_t>(i)];
    std::set<std::string> sizes;
    bool named = d == kUnknownDim;
    for (const Value* v : in) {
      const Dim size = named && i <= v->shape().rank() ? v->shape()[-i] : 1;
      named = named && (size == 1 || (is_symbol(size) && is_plain(size, symbols)));
      if (!named || size == 1) continue;
      std::istringstream parts(symbols.name(size));
      for (std::string part; std::getline(parts, part, '|');) sizes.insert(part);
    }
    if (named) d = broadcast_dim(sizes, symbols);
  }
  return Shape(std::move(dims));
}

}  // namespace

Shape refined_shape(std::string_view op, const Values& in, const Attrs& attrs, const Shape& inferred,
                    Symbols& symbols) {
  if (op == "Reshape")
    return reshaped(in, inferred.ranked() ? inferred : ranked_shape(op, in, attrs), symbols);
  if (op == "Range" && is_number(in[0], 0) && is_number(in[2], 1) && in[1]->known_elements() &&
      in[1]->known_elements()->size() == 1)
    return Shape(Ints{in[1]->known_elements()->front()});
  const bool is_cut = op == "DFT" && in.size() > 1 && in[1] && !in[1]->constant();  // which ONNX does not see
  if (!inferred.ranked() || is_cut) return ranked_shape(op, in, attrs);
  if (std::ranges::count(inferred.dims(), kUnknownDim) == 0) return inferred;
  if (has(op, Trait::broadcasts) || op == "MatMul") return broadcast_shape(op, in, inferred, symbols);
  return windowed_shape(op, in, attrs, inferred, symbols);
}

std::shared_ptr<const Ints> elements_of_result(std::string_view op, const Values& in, const Attrs& attrs,
                                               Symbols& symbols) {
  if (in.empty() || !in[0] || !is_int(in[0]->dtype())) return nullptr;
  const bool may_do_nothing =
      std::ranges::any_of(attrs, [](const ir::NamedAttr& a) { return a.name == "noop_with_empty_axes"; });
  std::optional<Ints> out;
  if (contains({"ReduceMax", "ReduceMin", "ReduceSum"}, op))
    out = only_element(in);
  else if (op == "ReduceProd" && !may_do_nothing)
    out = reduced(in, multiply_dims, 1, symbols);
  else if (contains({"Reshape", "Identity", "Flatten", "Unsqueeze", "Squeeze", "Cast"}, op))
    out = elements(in[0]);
  else if (op == "Gather")
    out = picked(in, attrs);
  else if (op == "Slice")
    out = cut_out(in);
  else if (op == "Concat")
    out = joined(in);
  else if (op == "Add")
    out = elementwise(in, add_dims, symbols);
  else if (op == "Sub")
    out = elementwise(in, subtract_dims, symbols);
  else if (op == "Mul")
    out = elementwise(in, multiply_dims, symbols);
  else if (op == "Div")
    out = elementwise(in, divide_dims, symbols);
  else if (op == "Max")
    out = elementwise(
        in, [](Dim a, Dim b, Symbols& s) { return larger_dim(a, b, s); }, symbols);
  else if (op == "Min")
    out = elementwise(
        in, [](Dim a, Dim b, Symbols& s) { return smaller_dim(a, b, s); }, symbols);
  return out ? std::make_shared<const Ints>(std::move(*out)) : nullptr;
}

}  // namespace t2o::onnx

namespace t2o {

std::optional<Ints> constant_ints(const Value* v) {
  if (!v) return std::nullopt;
  if (v->constant() && (is_int(v->dtype()) || v->dtype() == DType::boolean)) return v->constant()->to_ints();
  const auto& known = v->known_elements();
  if (known && std::ranges::all_of(*known, is_known)) return *known;
  return std::nullopt;
}

}  // namespace t2o
