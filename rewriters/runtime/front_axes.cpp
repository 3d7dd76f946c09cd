#include <algorithm>

#include "onnx/reshape.h"
#include "rewriters/runtime/reductions.h"
#include "rewriters/runtime/rows.h"

// ONNX Runtime reduces no empty tensor over an axis counted from the back. Of an unknown rank, the axes up to
// the first one that is reduced become one; the others can then be counted from the front. Axes that are an
// input are the Emitter's (Emitter::reduce).
namespace t2o::rewriters {
namespace {

bool is_arg(const ir::Node& n) { return n.op() == "ArgMax" || n.op() == "ArgMin"; }

Ints stated_axes(const ir::Node& n) {
  if (is_arg(n)) return {n.attr_or<std::int64_t>("axis", 0)};
  return n.attr_or("axes", Ints());
}

Value* reduced(Emitter& e, const ir::Node& n, Value* x, const Ints& axes, bool keeps) {
  Attrs attrs = n.attrs();
  std::erase_if(attrs, [](const ir::NamedAttr& a) { return contains({"axes", "axis", "keepdims"}, a.name); });
  if (is_arg(n))
    attrs.push_back({"axis", axes[0]});
  else
    attrs.push_back({"axes", axes});
  attrs.push_back({"keepdims", keeps});
  return e.emit(n.op(), {x}, std::move(attrs));
}

// The axes are all counted from the back.
Value* reduced_from_back(Emitter& e, const ir::Node& n, const Ints& axes, bool keeps) {
  const std::int64_t first = std::ranges::min(axes);
  Ints counted;
  for (const std::int64_t a : axes) counted.push_back(a - first + 1);
  Value* lead = e.dims(n.input(0), 0, static_cast<int>(first));
  Value* rest = e.dims(n.input(0), static_cast<int>(first), onnx::kToEnd);
  Value* flat = reshape_even_if_empty(e, n.input(0), e.concat({e.product(lead), rest}, 0));
  e.graph().set_type(flat, flat->dtype(), Shape(repeated(kUnknownDim, static_cast<int>(1 - first))));
  Value* y = reduced(e, n, flat, counted, keeps);
  const bool is_lead = y->shape().rank() == 1;
  return reshape_even_if_empty(e, y, is_lead ? lead : e.concat({lead, e.dims(y, 1, onnx::kToEnd)}, 0));
}

Value* from_front(Emitter& e, ir::Node& n) {
  const Ints axes = stated_axes(n);
  Ints back, front;
  for (const std::int64_t a : axes) (a < 0 ? back : front).push_back(a);
  if (n.input(0)->shape().ranked() || back.empty() || !may_be_empty(e.target(), n.input(0))) return nullptr;
  if (front.empty()) return reduced_from_back(e, n, back, keeps_dims(n));
  Value* y = reduced(e, n, reduced_from_back(e, n, back, true), front, true);
  return keeps_dims(n) ? y : e.squeeze(y, axes);
}

}  // namespace

Rewriter front_axes(const onnx::Target& target) {
  return replace_each("front_axes",
                      {"ArgMax", "ArgMin", "ReduceL2", "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd",
                       "ReduceSum", "ReduceSumSquare"},
                      target, from_front);
}

}  // namespace t2o::rewriters
