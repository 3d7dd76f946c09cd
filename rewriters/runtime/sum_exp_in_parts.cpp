#include "onnx/limits.h"
#include "rewriters/runtime/reductions.h"
#include "rewriters/runtime/rows.h"

// log(sum(exp(x - m))) + m, where m is the highest number.
namespace t2o::rewriters {
namespace {

// Where the result may be infinite, m is a finite number.
Value* finite_maximum(Emitter& e, const ir::Node& n) {
  Value* most = reduce_like(e, "ReduceMax", n.input(0), n, true);
  if (!e.strict()) return most;
  Value *low = lowest(e, most->dtype()), *high = highest(e, most->dtype());
  const bool wide = most->dtype() == DType::f64;  // which Clip is not at opset 11
  return wide ? e.minimum(e.maximum(most, low), high) : e.emit("Clip", {most, low, high});
}

Value* expanded(Emitter& e, ir::Node& n) {
  if (!is_float(n.output()->dtype())) return nullptr;
  Value* m = finite_maximum(e, n);
  Value* sum = reduce_like(e, "ReduceSum", e.exp(e.sub(n.input(0), m)), n, keeps_dims(n));
  Value* log = e.log(sum);
  const auto axes = reduced_axes(n);
  if (!keeps_dims(n)) m = axes ? e.squeeze(m, *axes) : e.reshape_to(m, e.shape_of(log));
  return e.add(log, m);
}

}  // namespace

Rewriter sum_exp_in_parts(const onnx::Target& target) {
  return replace_each("sum_exp_in_parts", {"ReduceLogSumExp"}, target, expanded);
}

}  // namespace t2o::rewriters
