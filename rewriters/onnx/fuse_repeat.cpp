
#include "onnx/emitter.h"
#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

namespace t2o::rewriters {
namespace {

const Tensor* constant_input(const ir::Node& n, std::size_t i) {
  return n.input(i) && n.input(i)->constant() ? n.input(i)->constant().get() : nullptr;
}

std::optional<std::int64_t> only_axis(const ir::Node& n) {
  const auto axes = axes_of(n);
  return axes && axes->size() == 1 ? std::optional(axes->front()) : std::nullopt;
}

// Each element along an axis several times, as it is spelled: a new axis behind it, a Tile along that, a
// Reshape that merges both. Not 0 times: a Resize has no scale of 0.
struct Repeat {
  Value* x = nullptr;
  std::int64_t axis = 0, times = 1;
};

std::optional<Repeat> find_repeat(const ir::Node& reshape) {
  const ir::Node* tile =
      reshape.op() == "Reshape" && reshape.input(0) ? reshape.input(0)->producer() : nullptr;
  if (!is_op(tile, "Tile") || only_reader(tile->output()) != &reshape || !constant_input(*tile, 1))
    return std::nullopt;
  const ir::Node* unsqueeze = tile->input(0)->producer();
  if (!is_op(unsqueeze, "Unsqueeze") || only_reader(unsqueeze->output()) != tile) return std::nullopt;
  const auto added = only_axis(*unsqueeze);
  const Ints repeats = constant_input(*tile, 1)->to_ints();
  Repeat r{unsqueeze->input(0)};
  if (!added || *added < 1 || !r.x->shape().ranked() ||
      static_cast<int>(repeats.size()) != r.x->shape().rank() + 1 ||
      *added >= static_cast<std::int64_t>(repeats.size()))
    return std::nullopt;
  r.axis = *added - 1;
  r.times = nth(repeats, *added);
  if (r.times < 1) return std::nullopt;
  for (std::size_t i = 0; i < repeats.size(); ++i)
    if (static_cast<std::int64_t>(i) != *added && repeats[i] != 1) return std::nullopt;
  return r;
}

// All dims are as they must be but for one at most, which then is too: the number of elements says so.
bool has_shape_of(const Repeat& r, const Shape& y) {
  const Shape& x = r.x->shape();
  if (!y.ranked() || y.rank() != x.rank()) return false;
  int open = 0;
  for (int i = 0; i < x.rank(); ++i) {
    const Dim d = i == r.axis && is_known(x[i]) ? x[i] * r.times : x[i];
    const bool sure = d != kUnknownDim && y[i] == d && !(i == r.axis && is_symbol(d));
    if (!sure) ++open;
    if (!sure && is_known(d) && is_known(y[i])) return false;
  }
  return open <= 1;
}

class RepeatFusion {
 public:
  RepeatFusion(ir::Graph& g, const onnx::Target& target) : g_(g), target_(target) {}

  int run() {
    int changes = 0;
    for (ir::Node* n = g_.first(); n;) {
      ir::Node* next = n->next();
      if (const auto r = find_repeat(*n); r && r->x->dtype() == DType::f32 && r->x->shape().rank() == 4 &&
                                          has_shape_of(*r, n->output()->shape())) {
        std::vector<float> scales(4, 1.0F);
        nth(scales, r->axis) = static_cast<float>(r->times);
        changes += replace(*n, r->x, scales);
      }
      n = next;
    }
    if (changes != 0) g_.erase_dead();
    for (ir::Node& n : g_.nodes()) changes += merge(n);
    return changes;
  }

 private:
  int replace(ir::Node& n, Value* x, const std::vector<float>& scales) {
    Emitter e(n, target_);
    Value* none = target_.opset < 13 ? e.constant<float>({0}, std::vector<float>{}) : nullptr;
    Value* factors = e.constant<float>({4}, scales);
    Value* y = e.emit("Resize", {x, none, factors},
                      {{"mode", std::string("nearest")},
                       {"coordinate_transformation_mode", std::string("asymmetric")},
                       {"nearest_mode", std::string("floor")}});
    g_.set_type(y, y->dtype(), n.output()->shape());
    return take_over(g_, n.output(), y) ? 1 : 0;
  }

  // of height, then of width
  int merge(ir::Node& n) {
    if (!repeats_elements(&n) || !n.input(0)->producer()) return 0;
    const ir::Node& inner = *n.input(0)->producer();
    if (!repeats_elements(&inner) || only_reader(inner.output()) != &n ||
        inner.input(2)->shape() != n.input(2)->shape())
      return 0;
    std::vector<float> scales;
    for (std::int64_t i = 0; i < n.input(2)->constant()->elements(); ++i)
      scales.push_back(
          static_cast<float>(n.input(2)->constant()->float_at(i) * inner.input(2)->constant()->float_at(i)));
    g_.set_input(n, 2,
                 g_.add_constant(n.input(2)->name(),
                                 Tensor::of<float>({static_cast<std::int64_t>(scales.size())}, scales)));
    g_.set_input(n, 0, inner.input(0));
    return 1;
  }

  ir::Graph& g_;
  const onnx::Target& target_;
};

}  // namespace

Rewriter fuse_repeat(const onnx::Target& target) {
  return {"fuse_repeat", [target](ir::Graph& g) { return RepeatFusion(g, target).run(); }, {"Tile"}};
}

}  // namespace t2o::rewriters
