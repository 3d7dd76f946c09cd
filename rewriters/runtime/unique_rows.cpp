#include <algorithm>

#include "onnx/limits.h"
#include "onnx/meaning.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/runtime/rows.h"

// A NaN equals nothing, not even itself; to ONNX Runtime's Unique it may equal everything. So rows are
// compared without NaN, and a row that had one has its own number behind it. A 0 stands there for the others,
// so that no row is without elements: ONNX Runtime ends the process at those.
namespace t2o::rewriters {
namespace {

bool has_tags(const Value* rows) {
  const ir::Node* n = rows->producer();
  while (is_op(n, "Cast")) n = n->input(0)->producer();
  if (!is_op(n, "Concat")) return false;
  const Shape& tags = n->inputs().back()->shape();
  return tags.ranked() && tags.rank() == 2 && tags[1] == 1;
}

bool may_have_empty_slices(const ir::Node& n, const onnx::Target& target) {
  const Value* x = n.input(0);
  if (!n.attr("axis") || has_tags(x)) return false;
  const bool has_open_sizes = may_be_empty(target, x);
  const Shape& s = x->shape();
  if (!s.ranked()) return has_open_sizes;
  const int axis = from_front(static_cast<int>(n.attr_or<std::int64_t>("axis", 0)), s.rank());
  for (int i = 0; i < s.rank(); ++i)
    if (i != axis && (s[i] == 0 || (!is_known(s[i]) && has_open_sizes))) return true;
  return false;
}

Value* axis_first(Emitter& e, Value* x, int axis) {
  Ints perm{axis};
  for (int i = 0; i < x->shape().rank(); ++i)
    if (i != axis) perm.push_back(i);
  return e.transpose(x, perm);
}

// [slices along the axis, elements of each], also where there are none.
Value* rows_of(Emitter& e, Value* x, std::optional<std::int64_t> axis) {
  if (!axis) return e.reshape(x, {-1, 1});
  if (x->shape().ranked()) {
    x = axis_first(e, x, from_front(static_cast<int>(*axis), x->shape().rank()));
    if (x->shape().rank() == 2) return x;
    const auto elements = Shape(Ints(x->shape().dims().begin() + 1, x->shape().dims().end())).elements();
    if (elements.value_or(0) > 0) return e.reshape(x, {-1, *elements});
    return e.reshape_to(x, e.concat({e.dims(x, 0, 1), e.product(e.dims(x, 1, onnx::kToEnd))}, 0));
  }
  const int at = static_cast<int>(*axis);
  Value* before = e.product(e.dims(x, 0, at));
  Value* size = e.gather(e.shape_of(x), e.ints({at}), 0);
  Value* behind = at == -1 ? e.ints({1}) : e.product(e.dims(x, at + 1, onnx::kToEnd));
  Value* three = e.reshape_to(x, e.concat({before, size, behind}, 0));
  return e.reshape_to(e.transpose(three, {1, 0, 2}), e.concat({size, e.mul(before, behind)}, 0));
}

struct Tagged {
  Value *rows, *tags;
};

Tagged without_nan(Emitter& e, Value* rows) {
  Value* x = e.cast(rows, DType::f64);  // which holds all places as well
  Value* is_nan = e.is_nan(x);
  Value* zero = e.scalar(DType::f64, 0);
  Value* numbers = e.where(is_nan, zero, x);
  Value* own = e.range(e.i64(1), e.add(e.dim(x, 0), e.i64(1)), e.i64(1));
  Value* place = e.unsqueeze(e.cast(own, DType::f64), {1});
  const bool single = x->shape().ranked() && x->shape()[1] == 1;
  Value* any = single ? is_nan
                      : e.greater(e.reduce("ReduceMax", e.cast(is_nan, DType::i32), Ints{1}, true),
                                  e.constant<std::int32_t>(0));
  return {numbers, e.where(any, place, zero)};
}

int guard(ir::Graph& g, ir::Node& n, const onnx::Target& target) {
  const bool stated = onnx::take_meaning(g, n, onnx::kNan, onnx::kApart);
  const bool nan = stated && target.strict && !onnx::is_finite(n.input(0));
  if (!nan && !may_have_empty_slices(n, target)) return 0;
  Emitter e(n, target);
  const auto* given = n.attr_if<std::int64_t>("axis");
  const auto axis = given ? std::optional(*given) : std::nullopt;
  Value* x = axis ? n.input(0) : e.reshape(n.input(0), {-1});
  Tagged t{rows_of(e, x, axis), nullptr};
  if (!t.rows->shape().ranked()) g.set_type(t.rows, x->dtype(), Shape({kUnknownDim, kUnknownDim}));
  if (nan)
    t = without_nan(e, t.rows);
  else
    t.tags = e.expand(zero_of(e, x->dtype()), e.concat({e.dims(t.rows, 0, 1), e.ints({1})}, 0));
  g.set_type(t.tags, t.tags->dtype(), Shape({t.rows->shape()[0], 1}));
  const std::int64_t sorted = n.attr_or<std::int64_t>("sorted", 1);
  const Values u = e.emit_n("Unique", {e.concat({t.rows, t.tags}, 1)}, {{"sorted", sorted}, {"axis", 0}}, 4);
  const Values all{e.gather(x, u[1], axis.value_or(0)), u[1], u[2], u[3]};
  for (std::size_t i = 0; i < n.outputs().size(); ++i)
    if (n.output(i)) replace_value(g, n.output(i), all[i]);
  g.erase(n);
  return 1;
}

}  // namespace

Rewriter unique_rows(const onnx::Target& target) {
  return change_each("unique_rows", {"Unique"}, target, guard);
}

}  // namespace t2o::rewriters
