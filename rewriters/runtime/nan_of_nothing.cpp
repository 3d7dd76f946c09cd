#include <algorithm>
#include <map>
#include <string_view>

#include "onnx/meaning.h"
#include "onnx/op_traits.h"
#include "rewriters/runtime/reductions.h"
#include "rewriters/runtime/rows.h"

// The mean of no numbers is NaN in TensorFlow and 0 in ONNX Runtime. The standard leaves it open.
namespace t2o::rewriters {
namespace {

using onnx::Trait;

constexpr int kPartsOfShapes = 15;  // the opset from which on Shape gives a single size

// An empty image never comes out of a convolution or a pool, because ONNX Runtime refuses to run them on one.
class Sizes {
 public:
  // Whether ONNX Runtime stops before `v` when one of these axes has size 0. No axis is negative.
  bool is_refused_when_empty(const Value* v, Ints axes, int depth = 0) {
    const Shape& s = v->shape();
    if (!s.ranked() || depth > 256) return false;
    axes.erase(std::remove_if(axes.begin(), axes.end(),
                              [&](std::int64_t a) { return a < s.rank() && s[static_cast<int>(a)] > 0; }),
               axes.end());
    if (axes.empty()) return true;
    const ir::Node* n = v->producer();
    if (!n || n->graph() != v->graph()) return false;
    const auto [it, is_new] = known_.try_emplace({v, axes}, false);
    if (!is_new) return it->second;
    const bool found = of_node(*n, axes, depth + 1);
    return known_[{v, axes}] = found;
  }

 private:
  bool of_node(const ir::Node& n, const Ints& axes, int depth) {
    const std::string_view op = n.op();
    const bool spatial = std::ranges::all_of(axes, [](std::int64_t a) { return a >= 2; });
    if (op == "Conv") return spatial;
    if (op == "MaxPool" || op == "AveragePool") return spatial && has_all_pixels(n);
    if (onnx::has(op, Trait::elementwise) || op == "BatchNormalization" || op == "InstanceNormalization")
      return is_refused_when_empty(n.input(0), axes, depth);
    if (op == "Transpose") return of_transpose(n, axes, depth);
    const int rank = n.output()->shape().rank();
    const auto has_size = [&](const Value* in) {
      if (in->constant()) return in->constant()->elements() > 0;
      return in->shape().ranked() && in->shape().rank() == rank && is_refused_when_empty(in, axes, depth);
    };
    return (onnx::has(op, Trait::broadcasts) || op == "Concat") && std::ranges::all_of(n.inputs(), has_size);
  }

  // The padding covers the window, so the result of an image with pixels has pixels. Without padding, a pool
  // of a small image may have none.
  static bool has_all_pixels(const ir::Node& pool) {
    const auto* kernel = pool.attr_if<Ints>("kernel_shape");
    const auto* pads = pool.attr_if<Ints>("pads");
    const auto* automatic = pool.attr_if<std::string>("auto_pad");
    if (automatic && automatic->starts_with("SAME")) return true;
    if (!kernel || !pads || pads->size() != 2 * kernel->size() || pool.attr("dilations")) return false;
    for (std::size_t i = 0; i < kernel->size(); ++i)
      if ((*pads)[i] + (*pads)[i + kernel->size()] < (*kernel)[i] - 1) return false;
    return true;
  }

  bool of_transpose(const ir::Node& n, Ints axes, int depth) {
    const auto* perm = n.attr_if<Ints>("perm");
    if (!perm) return false;
    for (std::int64_t& a : axes) a = nth(*perm, a);
    std::ranges::sort(axes);
    return is_refused_when_empty(n.input(0), axes, depth);
  }

  std::map<std::pair<const Value*, Ints>, bool> known_;
};

bool may_be_nothing(const onnx::Target& target, const ir::Node& n) {
  const auto axes = reduced_axes(n);
  return !(axes && Sizes().is_refused_when_empty(n.input(0), *axes)) && may_be_empty(target, n.input(0));
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
