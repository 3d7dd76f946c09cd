#include <cmath>

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

// ---- by a Gather, which copies whole rows

constexpr std::int64_t kShortestRow = 5;        // elements; a Resize copies shorter rows faster
constexpr std::int64_t kMostIndices = 1 << 14;  // so that the model stays small

bool may_gather(const Shape& x, std::int64_t axis, std::int64_t times) {
  std::int64_t row = 1;  // at least so many elements
  for (int i = static_cast<int>(axis) + 1; i < x.rank(); ++i)
    row *= is_known(x[i]) ? std::min(x[i], kShortestRow) : 1;
  const Dim size = x[static_cast<int>(axis)];
  return is_known(size) && row >= kShortestRow && size <= kMostIndices / times;
}

bool gather(ir::Graph& g, const onnx::Target& target, ir::Node& n, const Repeat& r) {
  Ints rows;
  for (std::int64_t i = 0; i < r.x->shape()[static_cast<int>(r.axis)] * r.times; ++i)
    rows.push_back(i / r.times);
  Emitter e(n, target);
  Value* y = e.gather(r.x, e.ints(rows), r.axis);
  g.set_type(y, y->dtype(), n.output()->shape());
  return take_over(g, n.output(), y);
}

// A Resize that repeats elements along one axis.
std::optional<Repeat> one_axis(const ir::Node& n) {
  if (!repeats_elements(&n)) return std::nullopt;
  const Shape& x = n.input(0)->shape();
  const Tensor& scales = *n.input(2)->constant();
  if (!x.ranked() || scales.elements() != x.rank()) return std::nullopt;
  std::optional<Repeat> found;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const double scale = scales.float_at(axis);
    if (scale == 1) continue;
    if (found || scale < 1 || scale != std::floor(scale) || scale > kMostIndices) return std::nullopt;
    found = {n.input(0), axis, static_cast<std::int64_t>(scale)};
  }
  return found;
}

class RepeatFusion {
 public:
  RepeatFusion(ir::Graph& g, const onnx::Target& target) : g_(g), target_(target) {}

  int run() {
    int changes = 0;
    for (ir::Node* n = g_.first(); n;) {
      ir::Node* next = n->next();
      const auto r = find_repeat(*n);
      const bool is_image = r && r->x->dtype() == DType::f32 && r->x->shape().rank() == 4;
      if (is_image && has_shape_of(*r, n->output()->shape())) changes += replace(*n, *r);
      n = next;
    }
    if (changes != 0) g_.erase_dead();
    for (ir::Node& n : g_.nodes()) changes += merge(n);
    return changes;
  }

 private:
  int replace(ir::Node& n, const Repeat& r) {
    std::vector<float> scales(4, 1.0F);
    nth(scales, r.axis) = static_cast<float>(r.times);
    return resize(n, r.x, scales);
  }

  int resize(ir::Node& n, Value* x, const std::vector<float>& scales) {
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

// Most runtimes resize no axis but height and width. Those stay: around a Gather along the height ONNX
// Runtime merges fewer Transposes.
Rewriter repeat_by_gather(const onnx::Target& target) {
  return for_each_node("repeat_by_gather", {"Resize"}, [target](ir::Graph& g, ir::Node& n) {
    const auto r = one_axis(n);
    return r && r->axis < 2 && may_gather(r->x->shape(), r->axis, r->times) && gather(g, target, n, *r) ? 1
                                                                                                        : 0;
  });
}

}  // namespace t2o::rewriters
