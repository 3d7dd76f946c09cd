#include "rewriters/tf/linear.h"

#include <algorithm>

#include "rewriters/tf/facts.h"
namespace t2o::rewriters {
namespace {

constexpr std::int64_t kSmall = 16;  // elements

std::optional<LinearTensor> of_constant(const Tensor& t) {
  if (!is_int(t.dtype()) || t.elements() > kSmall) return std::nullopt;
  LinearTensor out{t.dims(), {}};
  for (const std::int64_t n : t.to_ints()) out.elements.push_back({{}, n});
  return out;
}

std::optional<LinearTensor> of_unknown(const Value* v, const Ints& dims) {
  const std::int64_t count = element_count(dims);
  if (count > kSmall || !is_int(v->dtype())) return std::nullopt;
  LinearTensor out{dims, {}};
  for (std::int64_t i = 0; i < count; ++i) out.elements.push_back({{{{v, i}, 1}}, 0});
  return out;
}

bool is_one_dim_of_a_shape(const ir::Node& n) {
  const ir::Node* shape = n.input(0)->producer();
  return shape && shape->op() == "Shape" && int_attr(n, "shrink_axis_mask") == 1 && n.input(1)->constant() &&
         n.input(1)->constant()->elements() == 1;
}

// The shape is TensorFlow's, or follows from what the node does.
std::optional<LinearTensor> of_unknown(const Value* v, int depth) {
  if (v->shape().is_static()) return of_unknown(v, v->shape().dims());
  const ir::Node* n = v->producer();
  if (!n) return std::nullopt;
  if (n->op() == "StridedSlice" && is_one_dim_of_a_shape(*n)) return of_unknown(v, Ints{});
  if (!contains({"FloorMod", "FloorDiv", "Mul"}, n->op())) return std::nullopt;
  const auto a = linear(n->input(0), depth), b = linear(n->input(1), depth);
  return a && b && a->dims == b->dims ? of_unknown(v, a->dims) : std::nullopt;
}

void add_to(ElementSum& a, const ElementSum& b, std::int64_t factor) {
  a.number += factor * b.number;
  for (const auto& [term, f] : b.terms)
    if ((a.terms[term] += factor * f) == 0) a.terms.erase(term);
}

std::optional<LinearTensor> sum(const ir::Node& n, std::int64_t factor, int depth) {
  auto a = linear(n.input(0), depth);
  const auto b = linear(n.input(1), depth);
  if (!a || !b || a->dims != b->dims) return std::nullopt;
  for (std::size_t i = 0; i < a->elements.size(); ++i) add_to(a->elements[i], b->elements[i], factor);
  return a;
}

std::optional<LinearTensor> pack(const ir::Node& n, int depth) {
  if (int_attr(n, "axis") != 0) return std::nullopt;
  LinearTensor out;
  for (const Value* v : n.inputs()) {
    const auto part = linear(v, depth);
    if (!part) return std::nullopt;
    out.dims = part->dims;
    append(out.elements, part->elements);
  }
  out.dims.insert(out.dims.begin(), static_cast<std::int64_t>(n.input_count()));
  return out;
}

// The elements from begin to end along the first axes; the masks but for those that add axes.
std::optional<LinearTensor> strided_slice(const ir::Node& n, int depth) {
  const auto x = linear(n.input(0), depth);
  for (std::size_t i = 1; i < 4; ++i)
    if (!n.input(i) || !n.input(i)->constant()) return std::nullopt;
  if (!x || int_attr(n, "ellipsis_mask") != 0 || int_attr(n, "new_axis_mask") != 0) return std::nullopt;
  const Ints begin = n.input(1)->constant()->to_ints(), end = n.input(2)->constant()->to_ints(),
             step = n.input(3)->constant()->to_ints();
  if (end.size() != begin.size() || step.size() != begin.size()) return std::nullopt;
  LinearTensor now = *x;
  std::size_t axis = 0;  // of `now`
  for (std::size_t i = 0; i < begin.size(); ++i) {
    if (axis >= now.dims.size() || step[i] != 1) return std::nullopt;
    const std::int64_t size = now.dims[axis];
    const bool shrinks = (int_attr(n, "shrink_axis_mask") >> i & 1) != 0;
    const auto bound = [&](std::int64_t b) {
      return std::clamp<std::int64_t>(b < 0 ? b + size : b, 0, size);
    };
    const std::int64_t from = (int_attr(n, "begin_mask") >> i & 1) != 0 && !shrinks ? 0 : bound(begin[i]);
    const std::int64_t to = shrinks                                   ? from + 1
                            : (int_attr(n, "end_mask") >> i & 1) != 0 ? size
                                                                      : bound(end[i]);
    if (from >= to || to > size) return std::nullopt;
    std::int64_t outer = 1, inner = 1;
    for (std::size_t d = 0; d < axis; ++d) outer *= now.dims[d];
    for (std::size_t d = axis + 1; d < now.dims.size(); ++d) inner *= now.dims[d];
    LinearTensor next{now.dims, {}};
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t k = from; k < to; ++k)
        for (std::int64_t e = 0; e < inner; ++e)
          next.elements.push_back(nth(now.elements, (o * size + k) * inner + e));
    next.dims[axis] = to - from;
    if (shrinks)
      next.dims.erase(next.dims.begin() + static_cast<std::ptrdiff_t>(axis));
    else
      ++axis;
    now = std::move(next);
  }
  return now;
}

}  // namespace

ElementSum difference(ElementSum a, const ElementSum& b) {
  add_to(a, b, -1);
  return a;
}

std::optional<LinearTensor> linear(const Value* v, int depth) {
  if (!v || depth == 0) return std::nullopt;
  if (v->constant()) return of_constant(*v->constant());
  const ir::Node* n = v->producer();
  std::optional<LinearTensor> out;
  if (n && (n->op() == "AddV2" || n->op() == "Add"))
    out = sum(*n, 1, depth - 1);
  else if (n && n->op() == "Sub")
    out = sum(*n, -1, depth - 1);
  else if (n && n->op() == "Pack")
    out = pack(*n, depth - 1);
  else if (n && n->op() == "StridedSlice")
    out = strided_slice(*n, depth - 1);
  return out ? out : of_unknown(v, depth - 1);
}

}  // namespace t2o::rewriters
