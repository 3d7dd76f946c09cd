#include "onnx/emitter.h"
#include "rewriters/all.h"

namespace t2o::rewriters {
namespace {

constexpr std::int64_t kMostZeros = 1 << 20;

bool is_empty(const Value* v) { return v && v->shape().is_static() && v->shape().elements() == 0; }

TensorPtr nothing_like(const Value& v) {
  if (v.dtype() == DType::string)
    return std::make_shared<Tensor>(v.shape().dims(), std::vector<std::string>());
  return std::make_shared<Tensor>(v.dtype(), v.shape().dims(), heap_storage({}));
}

// Sums of no products, to which nothing is added.
bool gives_zeros(const ir::Node& n) {
  if (!contains({"Conv", "ConvTranspose", "MatMul"}, n.op())) return false;
  const bool sums_nothing = is_empty(n.input(0)) || is_empty(n.input(1));
  const Shape& s = n.output()->shape();
  return sums_nothing && !(n.input_count() > 2 && n.input(2)) && s.is_static() && s.elements() <= kMostZeros;
}

TensorPtr known_result(const ir::Node& n, const Value* y) {
  if (is_empty(y)) return nothing_like(*y);
  if (!gives_zeros(n)) return nullptr;
  const std::vector<std::byte> zero(byte_size(y->dtype(), 1));
  return Tensor::filled(y->dtype(), y->shape().dims(), zero);
}

}  // namespace

// What has no elements is a constant, and sums of nothing are zeros: at some operators of empty tensors ONNX
// Runtime fails, never ends, or ends the process.
Rewriter fold_empty(const onnx::Target& target) {
  return for_each_node("fold_empty", {}, [target](ir::Graph& g, ir::Node& n) {
    int changes = 0;
    if (n.op() == "Identity" || n.op().find("::") != std::string::npos) return changes;
    for (Value* y : n.outputs()) {
      TensorPtr known = y && y->is_used() ? known_result(n, y) : nullptr;
      if (!known) continue;
      Emitter e(n, target);
      replace_value(g, y, e.constant(std::move(known), n.op()));
      ++changes;
    }
    return changes;
  });
}

}  // namespace t2o::rewriters
