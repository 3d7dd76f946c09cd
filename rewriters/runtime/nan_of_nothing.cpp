#include <algorithm>

#include "onnx/meaning.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/runtime/reductions.h"
#include "rewriters/runtime/rows.h"

// The mean of no numbers is NaN in TensorFlow and 0 in ONNX Runtime. The standard leaves it open.
namespace t2o::rewriters {
namespace {

constexpr int kPartsOfShapes = 15;  // the opset from which on Shape gives a single size

bool may_be_nothing(const onnx::Target& target, const ir::Node& n) {
  if (reduces_some(n) || !may_be_empty(target, n.input(0))) return false;
  const auto axes = reduced_axes(n);
  const auto has_size = [&](std::int64_t a) { return onnx::has_size(n.input(0), static_cast<int>(a)); };
  return !axes || !std::ranges::all_of(*axes, has_size);
}

// sum / size, or mean / min(elements, 1): 0 / 0 for nothing.
Value* mean_or_nan(Emitter& e, const ir::Node& n) {
  Value* x = n.input(0);
  const DType type = n.output()->dtype();
  const auto axes = reduced_axes(n);
  if (e.opset() >= kPartsOfShapes && axes && axes->size() == 1 && x->shape().ranked() &&
      x->shape().rank() >= 2 && (type == DType::f32 || type == DType::f64)) {
    const int axis = static_cast<int>(axes->front());
    Value* sum = e.reduce("ReduceSum", x, Ints{axis}, keeps_dims(n));
    return e.div(sum, e.cast(e.dims(x, axis, axis + 1), type));
  }
  Value* mean = e.emit("ReduceMean", n.inputs(), n.attrs());
  Value* some = e.minimum(e.size_of(x), e.i64(1));
  return e.div(mean, e.cast(some, type));
}

Value* guarded(Emitter& e, ir::Node& n) {
  const bool stated = onnx::take_meaning(e.graph(), n, onnx::kEmpty, onnx::kIsNan);
  return stated && may_be_nothing(e.target(), n) ? mean_or_nan(e, n) : nullptr;
}

}  // namespace

Rewriter nan_of_nothing(const onnx::Target& target) {
  return replace_each("nan_of_nothing", {"ReduceMean"}, target, guarded);
}

}  // namespace t2o::rewriters
