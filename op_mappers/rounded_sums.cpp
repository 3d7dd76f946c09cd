#include "op_mappers/rounded_sums.h"

#include <algorithm>
#include <cstring>

#include "onnx/op_traits.h"

namespace t2o::op_mappers {
namespace {

// Most of the weights have ones among the last bits of their mantissas, as whole numbers and short fractions
// have not.
bool has_full_mantissas(const Value* weights) {
  constexpr std::int64_t kEnough = 4096;
  constexpr std::uint32_t kLastBits = 0xFF;
  if (!weights || !weights->constant() || weights->dtype() != DType::f32) return false;
  const Bytes bytes = weights->constant()->bytes();
  const std::int64_t some = std::min(weights->constant()->elements(), kEnough);
  std::int64_t full = 0;
  for (std::int64_t i = 0; i < some; ++i) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, bytes.data() + static_cast<std::size_t>(i) * sizeof bits, sizeof bits);
    if ((bits & kLastBits) != 0) ++full;
  }
  return some > 0 && 2 * full >= some;
}

bool is_harmless_bound(const Value* bound, const std::function<bool(float)>& harmless) {
  return !bound || (bound->constant() && bound->shape().is_scalar() && bound->dtype() == DType::f32 &&
                    harmless(bound->constant()->at<float>(0)));
}

}  // namespace

bool is_rounded_sum(const Value* x, const std::function<bool(float)>& harmless) {
  constexpr int kDeepest = 16;
  for (int depth = 0; depth < kDeepest; ++depth) {
    const ir::Node* n = x->producer();
    if (!n || x->index() != 0) return false;
    if (contains({"Conv", "ConvTranspose", "Gemm", "MatMul"}, n->op()))
      return has_full_mantissas(n->input(1));
    if (n->op() == "Clip") {
      if (!is_harmless_bound(n->input(1), harmless) || !is_harmless_bound(n->input(2), harmless))
        return false;
      x = n->input(0);
    } else if (contains({"Add", "Sub", "Mul", "Div"}, n->op())) {
      const bool first = n->input(0)->constant() != nullptr;
      if (n->input_count() != 2 || !n->input(first ? 0 : 1)->constant()) return false;
      x = n->input(first ? 1 : 0);
    } else if (onnx::has(n->op(), onnx::Trait::within) || n->op() == "Relu" ||
               n->op() == "BatchNormalization") {
      x = n->input(0);
    } else {
      return false;
    }
  }
  return false;
}

}  // namespace t2o::op_mappers
