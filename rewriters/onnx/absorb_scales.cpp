#include <array>
#include <cmath>
#include <string_view>
#include <vector>

#include "onnx/facts.h"
#include "onnx/op_traits.h"
#include "rewriters/all.h"
#include "rewriters/onnx/exact_sums.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/onnx/per_channel.h"

// A product with one number goes into the weights that it meets: x / 255 in front of a convolution, or the
// scale behind the Clip of one, as fake quantization leaves both. The operators between keep a factor; what
// they add or clip at is multiplied too. If sums are exact and a threshold sees them, the factor stays.
namespace t2o::rewriters {
namespace {

using onnx::Trait;

constexpr double kMost = 1 << 20,
                 kMostWeight = 1e15;         // nothing overflows, or loses digits, that did not before
constexpr std::size_t kMostBytes = 1 << 24;  // of weights that are computed anew for one node less
constexpr Dim kMostAdded = 1 << 16;          // numbers of a constant that is added on the way
constexpr std::size_t kLongest = 16;         // a way to the weights

enum class Keeps : std::uint8_t { nothing, positive, any };  // which factors pass

bool adds_zeros_or_itself(const ir::Node& pad) { return !pad.input(2) || is_number(pad.input(2), 0); }

bool has_moderate_constant(const ir::Node& n, std::size_t i) {
  const Value* v = n.input(i);
  return v && v->constant() && can_scale(v->dtype()) && v->constant()->elements() <= kMostAdded;
}

// What the node does to a factor of its input `data`.
Keeps keeps(const ir::Node& n, std::size_t data) {
  if (n.outputs().size() != 1) return Keeps::nothing;
  if (contains({"Add", "Sub", "Mul"}, n.op()))
    return has_moderate_constant(n, 1 - data) ? Keeps::any : Keeps::nothing;
  if (data != 0) return Keeps::nothing;
  if (n.op() == "Div") return has_moderate_constant(n, 1) ? Keeps::any : Keeps::nothing;
  if (n.op() == "Pad") return adds_zeros_or_itself(n) ? Keeps::any : Keeps::nothing;
  if (n.op() == "Clip") {
    const bool known =
        (!n.input(1) || is_scalar_constant(n.input(1))) && (!n.input(2) || is_scalar_constant(n.input(2)));
    return known ? Keeps::positive : Keeps::nothing;
  }
  if (onnx::has(n.op(), Trait::keeps_factor)) return Keeps::any;
  return onnx::has(n.op(), Trait::keeps_positive_factor) ? Keeps::positive : Keeps::nothing;
}

// c of x * c, c * x or x / (1 / c), where the node is one and has the shape of x.
std::optional<double> scale_of(const ir::Node& n, std::size_t data) {
  const bool divides = n.op() == "Div" && data == 0;
  if (!divides && n.op() != "Mul") return std::nullopt;
  const Value *x = n.input(data), *other = n.input(1 - data);
  if (!is_scalar_constant(other) || !x->shape().ranked() || x->shape().rank() < other->shape().rank())
    return std::nullopt;
  const double number = other->constant()->float_at(0);
  return divides ? 1 / number : number;
}

struct Step {
  ir::Node* node;
  std::size_t data;  // which input is on the way
};

class Absorption {
 public:
  Absorption(ir::Graph& g, ir::Node& n, ScaledWeights& weights, ExactSums& sums)
      : g_(g), node_(n), weights_(weights), sums_(sums) {}

  bool run() {
    if (!find_weights()) return false;
    bool changed = false;
    while (take_from_operand() || take_from_reader()) changed = true;
    return changed;
  }

 private:
  bool find_weights() {
    const auto are_weights = [&](std::size_t i) {
      const Value* w = node_.input(i);
      return w->constant() && can_scale(w->dtype()) && w->uses().size() == 1 && w->shape().rank() > 0 &&
             w->constant()->byte_size() <= kMostBytes;
    };
    if (are_weights(1)) {
      at_ = 1;
      return !node_.input(0)->constant();
    }
    at_ = 0;
    return node_.op() == "MatMul" && are_weights(0) && !node_.input(1)->constant();
  }

  // up from what is multiplied with the weights
  bool take_from_operand() {
    std::vector<Step> way;
    bool any = true;
    const ir::Node* reader = &node_;
    Value* v = node_.input(1 - at_);
    for (;;) {
      ir::Node* n = v->producer();
      if (!n || only_reader(v) != reader || way.size() == kLongest) return false;
      const std::size_t data = n->input(0) && n->input(0)->constant() ? 1 : 0;
      if (const auto c = scale_of(*n, data); c && fits(*c) && (any || *c > 0)) {
        if (!take_over(g_, v, n->input(data))) return false;
        change(way, 1 / *c);
        for (const Step& s : way) g_.alter(s.node->output(), ir::Alteration::scale(1 / *c));
        scale_weights(*c);
        return true;
      }
      if (!pass(way, any, {n, data})) return false;
      reader = n;
      v = n->input(data);
    }
  }

  // down from what the node gives
  bool take_from_reader() {
    if (node_.input(2) && !has_moderate_constant(node_, 2)) return false;
    std::vector<Step> way;
    bool any = true;
    for (Value* v = node_.output();;) {
      ir::Node* n = only_reader(v);
      if (!n || way.size() == kLongest) return false;
      const std::size_t data = n->input(0) == v ? 0 : 1;
      if (const auto c = scale_of(*n, data); c && fits(*c) && (any || *c > 0)) {
        Value* y = n->output();
        const auto same = merge(v->shape(), y->shape());  // more may be known of it
        g_.set_input(*n, data, n->input(1 - data));       // so that `v` has no reader when it gets the name
        if (!same || !take_over(g_, y, v)) {
          g_.set_input(*n, data, v);
          return false;
        }
        g_.set_type(v, v->dtype(), *same);
        g_.erase(*n);
        change(way, *c);
        if (!way.empty()) g_.alter(node_.output(), ir::Alteration::scale(*c));  // the last has y's name
        for (std::size_t i = 0; i + 1 < way.size(); ++i)
          g_.alter(way[i].node->output(), ir::Alteration::scale(*c));
        scale_weights(*c);
        if (node_.input(2)) multiply(node_, 2, *c);
        return true;
      }
      if (!pass(way, any, {n, data})) return false;
      v = n->output();
    }
  }

  bool fits(double c) const {
    if (!(std::abs(c) <= kMost && std::abs(c) >= 1 / kMost) || sums_.need(node_, {c})) return false;
    if (node_.input(at_)->dtype() == DType::f64) return true;
    const double most = std::abs(c) * onnx::largest(node_.input(at_));
    return most <= kMostWeight && most >= 1 / kMostWeight;
  }

  static bool pass(std::vector<Step>& way, bool& any, Step step) {
    const Keeps kept = keeps(*step.node, step.data);
    any = any && kept == Keeps::any;
    way.push_back(step);
    return kept != Keeps::nothing;
  }

  // What is on the way works on numbers that are `factor` times what they were.
  void change(const std::vector<Step>& way, double factor) {
    for (const Step& s : way) {
      if (s.node->op() == "Add" || s.node->op() == "Sub") multiply(*s.node, 1 - s.data, factor);
      if (s.node->op() != "Clip") continue;
      for (const std::size_t bound : {1U, 2U})
        if (s.node->input(bound)) multiply(*s.node, bound, factor);
    }
  }

  void multiply(ir::Node& n, std::size_t i, double factor) {
    const Tensor& t = *n.input(i)->constant();
    Doubles numbers = t.to_floats();
    for (double& v : numbers) v *= factor;
    const TensorPtr product = channel_tensor(t.dtype(), numbers)->with_dims(t.dims());
    Value* own = n.input(i);
    if (own->uses().size() == 1)
      g_.set_constant(own, product);
    else
      g_.set_input(n, i, g_.add_constant(own->name(), product));
    g_.derive(n.input(i), own, {ir::Alteration::scale(factor)});
  }

  void scale_weights(double c) {
    Value* w = node_.input(at_);
    const auto rows = static_cast<std::size_t>(w->shape()[0]);
    g_.set_constant(w, weights_.get(w->constant(), 0, Doubles(rows, c)));
    g_.alter(w, ir::Alteration::scale(c));
  }

  ir::Graph& g_;
  ir::Node& node_;
  ScaledWeights& weights_;
  ExactSums& sums_;
  std::size_t at_ = 1;  // which input the weights are
};

int absorb(ir::Graph& g) {
  static constexpr std::array<std::string_view, 4> kWeighted = {"Conv", "ConvTranspose", "Gemm", "MatMul"};
  int changes = 0;
  ScaledWeights weights;
  ExactSums sums;
  for (ir::Node* n = g.first(); n; n = n->next())
    if (contains(kWeighted, n->op()) && Absorption(g, *n, weights, sums).run()) ++changes;
  return changes;
}

}  // namespace

Rewriter absorb_scales() { return {"absorb_scales", absorb, {"Mul", "Div"}}; }

}  // namespace t2o::rewriters
