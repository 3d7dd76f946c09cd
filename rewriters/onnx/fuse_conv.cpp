#include <algorithm>
#include <cmath>

#include "rewriters/all.h"
#include "rewriters/names.h"
#include "rewriters/onnx/exact_sums.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/onnx/per_channel.h"

namespace t2o::rewriters {
namespace {

class ConvFusion {
 public:
  ConvFusion(ir::Graph& g, ir::Node& conv, ScaledWeights& weights, ExactSums& sums)
      : g_(g), conv_(conv), weights_(weights), sums_(sums) {}

  bool run() {
    if (!conv_.input(1) || !has_weights()) return false;
    int changes = fold_pad();
    if (find_channels()) {
      if (conv_.input(2) && !(bias_ = per_channel(conv_.input(2), 1, 0, channels_))) return changes != 0;
      while (absorb_reader()) ++changes;
    }
    return changes != 0;
  }

 private:
  bool is_transposed() const { return conv_.op() == "ConvTranspose"; }

  // Weights that are codes take a bias beside them, but no scale.
  bool has_weights() {
    const Value* w = conv_.input(1);
    can_scale_ = w->constant() && can_scale(w->dtype());
    const ir::Node* dq = w->producer();
    return can_scale_ || (is_op(dq, "DequantizeLinear") && w->shape().is_static());
  }

  bool find_channels() {
    const Shape& w = conv_.input(1)->shape();
    if (is_transposed() && conv_.attr_or<std::int64_t>("group", 1) != 1) return false;
    axis_ = is_transposed() ? 1 : 0;
    channels_ = w[axis_];
    rank_ = w.rank();
    return conv_.output()->shape().ranked();
  }

  // conv * a + b = a convolution with other weights and another bias
  bool absorb_reader() {
    const Result result = find_result();
    ir::Node* reader = only_reader(result.value);
    const auto affine =
        reader ? affine_of(*reader, result.value, rank_, result.axis, channels_) : std::nullopt;
    if (!affine || !is_moderate(affine->factor) || !is_moderate(affine->offset)) return false;
    if (!affine->factor.empty()) {
      if (!can_scale_) return false;
      if (conv_.input(1)->uses().size() != 1)
        return false;  // a second copy of the weights is worth more than a Mul
      if (sums_.need(conv_, affine->factor)) return false;
      g_.set_constant(conv_.input(1), weights_.get(conv_.input(1)->constant(), axis_, affine->factor));
      g_.alter(conv_.input(1), ir::Alteration::other());
    }
    set_bias(*affine);
    if (const auto same = merge(result.value->shape(), reader->output()->shape()))  // more may be known of it
      g_.set_type(result.value, result.value->dtype(), *same);
    if (result.value != conv_.output()) g_.alter(conv_.output(), ir::Alteration::other());
    // Nobody reads the result when it gets the name of what the reader gave, which it is now.
    for (std::size_t i = 0; i < reader->input_count(); ++i) g_.set_input(*reader, i, nullptr);
    take_over(g_, reader->output(), result.value);
    g_.erase(*reader);
    return true;
  }

  // What the convolution gives, and where its channels are: behind a Transpose, if that alone reads it.
  struct Result {
    Value* value;
    int axis;
  };
  Result find_result() const {
    const Result own{conv_.output(), 1};
    const ir::Node* t = only_reader(own.value);
    const Ints* perm = perm_of(t);
    if (!perm) return own;
    return {t->output(), static_cast<int>(std::ranges::find(*perm, 1) - perm->begin())};
  }

  void set_bias(const Affine& a) {
    if (!bias_ && a.offset.empty()) return;
    if (!bias_) bias_ = Doubles(static_cast<std::size_t>(channels_), 0);
    for (std::size_t i = 0; i < bias_->size(); ++i) {
      if (!a.factor.empty()) (*bias_)[i] *= a.factor[i];
      if (!a.offset.empty()) (*bias_)[i] += a.offset[i];
    }
    const TensorPtr bias = channel_tensor(conv_.output()->dtype(), *bias_);
    Value* own = conv_.input(2);
    if (own && own->uses().size() == 1) {
      g_.set_constant(own, bias);
      g_.alter(own, ir::Alteration::other());
      return;
    }
    Value* fresh = g_.add_constant(name_below(conv_, "bias"), bias);
    if (!own && a.weights && a.weights->shape().elements() == channels_)
      g_.derive(fresh, a.weights, {ir::Alteration::reshape(fresh->shape())});
    if (conv_.input_count() < 3)
      g_.add_node_input(conv_, fresh);
    else
      g_.set_input(conv_, 2, fresh);
  }

  // A Pad of zeros around height and width is the convolution's own padding.
  int fold_pad() {
    const ir::Node* pad = conv_.input(0) ? conv_.input(0)->producer() : nullptr;
    if (is_transposed() || !is_op(pad, "Pad") || conv_.attr("auto_pad") || pad->attr("mode") || pad->input(3))
      return 0;
    const Value* amount = pad->input(1);
    const Value* fill = pad->input(2);
    const int rank = conv_.input(1)->shape().rank();
    if (!amount || !amount->constant() || amount->constant()->elements() != 2 * rank) return 0;
    if (fill && (!fill->constant() || fill->constant()->float_at(0) != 0)) return 0;
    const Ints all = amount->constant()->to_ints();
    const auto* own = conv_.attr_if<Ints>("pads");
    const auto spatial = static_cast<std::size_t>(rank) - 2;
    Ints pads = own ? *own : Ints(2 * spatial, 0);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::size_t axis = i % static_cast<std::size_t>(rank);
      if (all[i] < 0 || (axis < 2 && all[i] != 0)) return 0;
      if (axis >= 2) pads[axis - 2 + (i < static_cast<std::size_t>(rank) ? 0 : spatial)] += all[i];
    }
    g_.set_attr(conv_, "pads", std::move(pads));
    g_.set_input(conv_, 0, pad->input(0));
    return 1;
  }

  ir::Graph& g_;
  ir::Node& conv_;
  ScaledWeights& weights_;
  ExactSums& sums_;
  bool can_scale_ = false;
  int axis_ = 0, rank_ = 0;
  std::int64_t channels_ = 0;
  std::optional<Doubles> bias_;
};

int fuse(ir::Graph& g) {
  int changes = 0;
  ScaledWeights weights;
  ExactSums sums;
  for (ir::Node* n = g.first(); n; n = n->next())
    if (n->op() == "Conv" || n->op() == "ConvTranspose") changes += ConvFusion(g, *n, weights, sums).run();
  return changes;
}

}  // namespace

Rewriter fuse_conv() { return {"fuse_conv", fuse, {"Conv", "ConvTranspose"}}; }

}  // namespace t2o::rewriters
