#include <cmath>

#include "onnx/emitter.h"
#include "rewriters/onnx/exact_sums.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/runtime/rows.h"

// x * scale + shift, with a number for each channel, is a batch normalization of mean 0 and variance 1: one
// operator for two, which ONNX Runtime keeps in the channel blocks of its convolutions. It may fold it into a
// convolution in front, so exact sums that a threshold sees keep the two operators.
namespace t2o::rewriters {
namespace {

// [c] of a constant [1, c, 1, ...] that meets x; null: it is another.
TensorPtr channel_numbers(const Value* v, const Shape& x) {
  const TensorPtr& t = v->constant();
  if (!t || t->rank() > x.rank() || !is_known(x[1]) || t->elements() != x[1]) return nullptr;
  const int place = t->rank() - (x.rank() - 1);  // of the channels
  return place >= 0 && nth(t->dims(), place) == x[1] ? t->with_dims({x[1]}) : nullptr;
}

Value* filled(Emitter& e, std::int64_t n, float value) {
  return e.constant(Tensor::of<float>({n}, std::vector<float>(static_cast<std::size_t>(n), value)));
}

int fuse(ir::Graph& g, const onnx::Target& target) {
  int changes = 0;
  ExactSums sums;
  for (ir::Node* n = g.first(); n; n = n->next()) {
    ir::Node* sum = n->op() == "Mul" ? only_reader(n->output()) : nullptr;
    if (!is_op(sum, "Add") || sum->input(0) == sum->input(1)) continue;
    const std::size_t scale_at = n->input(0)->constant() ? 0 : 1;
    Value *x = n->input(1 - scale_at), *shift = sum->input(sum->input(0) == n->output() ? 1 : 0);
    if (x->dtype() != DType::f32 || !x->shape().ranked() || x->shape().rank() < 3 || x->constant()) continue;
    const TensorPtr scale = channel_numbers(n->input(scale_at), x->shape()),
                    bias = channel_numbers(shift, x->shape());
    if (!scale || !bias || !onnx::is_finite(n->input(scale_at)))
      continue;  // the mean is taken times the scale
    if (sums.need(x, sum->output(), scale->to_floats())) continue;
    Emitter e(*sum, target);
    Value* scales = e.constant(scale);
    Value* biases = e.constant(bias);
    Value* mean = filled(e, x->shape()[1], 0);
    Value* variance = filled(e, x->shape()[1], 1);
    Value* y = e.emit("BatchNormalization", {x, scales, biases, mean, variance}, {{"epsilon", 0.0f}});
    take_over(g, sum->output(), y);
    ++changes;
  }
  return changes;
}

}  // namespace

Rewriter fuse_batch_norm(const onnx::Target& target) {
  return {"fuse_batch_norm", [target](ir::Graph& g) { return fuse(g, target); }, {"Mul"}};
}

}  // namespace t2o::rewriters
