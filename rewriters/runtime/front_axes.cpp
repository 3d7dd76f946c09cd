#include <algorithm>

#include "onnx/data_dims.h"
#include "onnx/op_traits.h"
#include "onnx/reshape.h"
#include "rewriters/onnx/facts.h"
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

// The axes, all counted from the back, stay as 1.
Value* reduced_from_back(Emitter& e, const ir::Node& n, const Ints& axes) {
  const std::int64_t first = std::ranges::min(axes);
  Ints counted;
  for (const std::int64_t a : axes) counted.push_back(a - first + 1);
  Value* lead = e.dims(n.input(0), 0, static_cast<int>(first));
  Value* rest = e.dims(n.input(0), static_cast<int>(first), onnx::kToEnd);
  Value* flat = reshape_even_if_empty(e, n.input(0), e.concat({e.product(lead), rest}, 0));
  e.graph().set_type(flat, flat->dtype(), Shape(repeated(kUnknownDim, static_cast<int>(1 - first))));
  Value* y = reduced(e, n, flat, counted, true);
  return reshape_even_if_empty(e, y, e.concat({lead, e.dims(y, 1, onnx::kToEnd)}, 0));
}

int guard(ir::Graph& g, ir::Node& n, const onnx::Target& target) {
  if (!onnx::has(n.op(), onnx::Trait::reduces) && !is_arg(n)) return 0;
  const Value* x = n.input(0);
  const Ints axes = stated_axes(n);
  Ints back, front;
  for (const std::int64_t a : axes) (a < 0 ? back : front).push_back(a);
  if (x->shape().ranked() || back.empty() || (!target.strict && !onnx::has_dims_of_data(x))) return 0;
  Emitter e(n, target);
  Value* y = reduced_from_back(e, n, back);
  if (!front.empty()) y = reduced(e, n, y, front, true);
  if (!keeps_dims(n)) y = e.squeeze(y, axes);
  replace_value(g, n.output(), y);
  g.erase(n);
  return 1;
}

}  // namespace

Rewriter front_axes(const onnx::Target& target) {
  return for_each_node("front_axes",
                       {"ArgMax", "ArgMin", "ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp",
                        "ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare"},
                       [target](ir::Graph& g, ir::Node& n) { return guard(g, n, target); });
}

}  // namespace t2o::rewriters
