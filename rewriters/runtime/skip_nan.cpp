#include <algorithm>
#include <limits>

#include "onnx/facts.h"
#include "onnx/limits.h"
#include "onnx/meaning.h"
#include "onnx/op_traits.h"
#include "rewriters/runtime/rows.h"

// TensorFlow's ArgMax and ArgMin never pick a NaN, and its MaxPool passes over it. ONNX Runtime's pick a NaN
// that comes first.
namespace t2o::rewriters {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value* without_nan(Emitter& e, Value* x, bool for_max) {
  Value* worst = e.cast(e.constant(static_cast<float>(for_max ? -kInfinity : kInfinity)), x->dtype());
  return e.where(e.is_nan(x), worst, x);
}

// TensorFlow's maximum of a window starts at the lowest finite number. A guard costs as much as a small pool,
// so f32 that the model computes has none.
Value* finite(Emitter& e, const ir::Node& pool) {
  Value* x = pool.input(0);
  const DType type = x->dtype();
  if (type != DType::f16 && type != DType::f64 && !onnx::is_fed(x)) return x;
  Value* low = lowest(e, type);
  return e.where(e.greater(x, low), x, low);
}

int skip(ir::Graph& g, ir::Node& n, const onnx::Target& target) {
  if (!onnx::take_meaning(g, n, onnx::kNan, onnx::kSkips)) return 0;
  Value* x = n.input(0);
  if (!is_float(x->dtype()) || onnx::is_finite(x)) return 0;
  Emitter e(n, target);
  Value* guarded = n.op() == "MaxPool" ? finite(e, n) : without_nan(e, x, n.op() == "ArgMax");
  g.set_input(n, 0, guarded);
  return guarded == x ? 0 : 1;
}

}  // namespace

Rewriter skip_nan(const onnx::Target& target) {
  return change_each("skip_nan", {"ArgMax", "ArgMin", "MaxPool"}, target, skip);
}

}  // namespace t2o::rewriters
