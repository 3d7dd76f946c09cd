#include <algorithm>
#include <vector>

#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/names.h"
#include "rewriters/onnx/exact_sums.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/onnx/per_channel.h"

// The scale and the shift of each channel behind a dense layer, as an inference batch normalization leaves
// them, go into the layer's weights and bias, also through Transposes between them:
//   BatchNormalization(Transpose(MatMul(x, w)))  ->  Transpose(MatMul(x, w * factor) + offset)
namespace t2o::rewriters {
namespace {

// A number for each channel; absorb_scales takes a single number.
bool is_per_channel(const ir::Node& n) {
  return n.op() == "BatchNormalization" || std::ranges::all_of(n.inputs(), [](const Value* v) {
           return !v->constant() || v->constant()->elements() != 1;
         });
}

class ProductScale {
 public:
  ProductScale(ir::Graph& g, const onnx::Target& target, ir::Node& product, ScaledWeights& weights,
               ExactSums& sums)
      : g_(g), target_(target), product_(product), weights_(weights), sums_(sums) {}

  bool run() {
    const Value* w = product_.input(1);
    if (!w->constant() || !can_scale(w->dtype()) || w->shape().rank() != 2 || w->uses().size() != 1)
      return false;
    channels_ = w->shape()[1];
    if (!product_.output()->shape().ranked() || channels_ < 1) return false;
    factor_.assign(static_cast<std::size_t>(channels_), 1);
    offset_.assign(factor_.size(), 0);
    find_readers();
    if (!scales_ || !is_moderate(factor_) || !is_moderate(offset_) || sums_.need(product_, factor_))
      return false;
    change();
    return true;
  }

 private:
  // What scales and shifts the product, one after the other.
  void find_readers() {
    const int rank = product_.output()->shape().rank();
    int axis = rank - 1;
    Value* v = product_.output();
    while (ir::Node* n = only_reader(v)) {
      if (const Ints* perm = perm_of(n)) {
        axis = static_cast<int>(std::ranges::find(*perm, axis) - perm->begin());
      } else {
        const auto affine = affine_of(*n, v, rank, axis, channels_);
        if (!affine) return;
        readers_.push_back({n, n->input(0) == v ? 0U : 1U});
        scales_ = scales_ || (!affine->factor.empty() && is_per_channel(*n));
        append_step(*affine);
      }
      v = n->output();
    }
  }

  void append_step(const Affine& a) {
    for (std::size_t i = 0; i < factor_.size(); ++i) {
      if (!a.factor.empty()) factor_[i] *= a.factor[i], offset_[i] *= a.factor[i];
      if (!a.offset.empty()) offset_[i] += a.offset[i];
    }
  }

  void change() {
    Value *w = product_.input(1), *y = product_.output();
    g_.set_constant(w, weights_.get(w->constant(), 1, factor_));
    g_.alter(w, ir::Alteration::other());
    ir::Node& first = *only_reader(y);
    for (Value* v = y; v != readers_.back().node->output(); v = only_reader(v)->output())
      g_.alter(v, ir::Alteration::other());
    if (std::ranges::any_of(offset_, [](double o) { return o != 0; })) {
      Emitter e(g_, target_, product_.shared_origin(), &first);
      Value* row = e.constant(channel_tensor(y->dtype(), offset_), name_below(product_, "bias"));
      Value* sum = e.emit("Add", {y, row});
      g_.set_input(first, first.input(0) == y ? 0 : 1, sum);
    }
    for (const Reader& r : readers_) remove(*r.node, r.node->input(r.data));
  }

  void remove(ir::Node& n, Value* data) {
    if (const auto same = merge(data->shape(), n.output()->shape()))  // more may be known of it
      g_.set_type(data, data->dtype(), *same);
    // Nobody reads the data when it gets the name of the result, which it is now.
    for (std::size_t i = 0; i < n.input_count(); ++i) g_.set_input(n, i, nullptr);
    take_over(g_, n.output(), data);
    g_.erase(n);
  }

  struct Reader {
    ir::Node* node;
    std::size_t data;  // which input has the product
  };

  ir::Graph& g_;
  const onnx::Target& target_;
  ir::Node& product_;
  ScaledWeights& weights_;
  ExactSums& sums_;
  std::int64_t channels_ = 0;
  Doubles factor_, offset_;
  std::vector<Reader> readers_;
  bool scales_ = false;
};

}  // namespace

Rewriter scale_matmul(const onnx::Target& target) {
  const auto run = [target](ir::Graph& g) {
    int changes = 0;
    ScaledWeights weights;
    ExactSums sums;
    for (ir::Node* n = g.first(); n; n = n->next())
      if (n->op() == "MatMul" && ProductScale(g, target, *n, weights, sums).run()) ++changes;
    return changes;
  };
  return {"scale_matmul", run, {"MatMul"}};
}

}  // namespace t2o::rewriters
