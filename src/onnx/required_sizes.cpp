#include "onnx/required_sizes.h"

#include <algorithm>
#include <optional>

namespace t2o::onnx {
namespace {

bool is_true(const Value* v) {
  return !v || (v->constant() && v->constant()->elements() == 1 && v->constant()->int_at(0) != 0);
}

class Requirements {
 public:
  explicit Requirements(const ir::Graph& g) : symbols_(g.symbols()) {}

  // Of nodes that surely run: a branch may not.
  void add(const ir::Graph& g) {
    for (const ir::Node& n : g.nodes()) {
      if (n.op() == "Concat") concat(n);
      if (n.op() == "Reshape") reshape(n);
      if (const GraphPtr* body = n.attr_if<GraphPtr>("body"); body && takes_a_step(n)) add(**body);
    }
  }

  std::map<Dim, RequiredSize> of_inputs(const ir::Graph& g) const {
    std::map<Dim, RequiredSize> found;
    for (const Value* v : g.inputs())
      if (v->shape().ranked())
        for (const Dim d : v->shape().dims())
          if (const auto it = sizes_.find(d); it != sizes_.end()) found.insert(*it);
    return found;
  }

 private:
  static bool takes_a_step(const ir::Node& n) {
    if (n.op() != "Loop") return false;
    const TensorPtr count = n.input(0) ? n.input(0)->constant() : nullptr;
    return count && count->elements() == 1 && count->int_at(0) > 0 && is_true(n.input(1));
  }

  void require(Dim d, std::int64_t size, const ir::Node& by) {
    if (!is_symbol(d)) return;
    const Symbols::Affine a = symbols_.affine_of(d);
    const std::int64_t times = size - a.offset;
    if (times > 0 && times % a.factor == 0) sizes_.try_emplace(a.base, RequiredSize{times / a.factor, &by});
  }

  // All parts have the same sizes, except along the axis.
  void concat(const ir::Node& n) {
    const Shape& whole = n.output()->shape();
    if (!whole.ranked()) return;
    auto axis = n.attr_or<std::int64_t>("axis", 0);
    if (axis < 0) axis += whole.rank();
    for (const Value* part : n.inputs()) {
      if (!part->shape().ranked() || part->shape().rank() != whole.rank()) continue;
      for (int i = 0; i < whole.rank(); ++i)
        if (i != axis && is_known(whole[i])) require(part->shape()[i], whole[i], n);
    }
  }

  // As many elements as the stated sizes have.
  void reshape(const ir::Node& n) {
    const Shape &from = n.input(0)->shape(), &to = n.output()->shape();
    const TensorPtr stated = n.input(1)->constant();
    if (!from.ranked() || !stated || !to.elements().value_or(0)) return;
    const Ints sizes = stated->to_ints();
    if (std::ranges::any_of(sizes, [](std::int64_t d) { return d <= 0; })) return;
    std::int64_t rest = *to.elements();
    std::optional<Dim> open;
    for (const Dim d : from.dims()) {
      if (d == 0 || (is_known(d) ? rest % d != 0 : open || !is_symbol(d))) return;
      if (is_known(d))
        rest /= d;
      else
        open = d;
    }
    if (open) require(*open, rest, n);
  }

  const Symbols& symbols_;
  std::map<Dim, RequiredSize> sizes_;
};

}  // namespace

std::map<Dim, RequiredSize> required_sizes(const ir::Graph& g) {
  Requirements all(g);
  all.add(g);
  return all.of_inputs(g);
}

}  // namespace t2o::onnx
