#include "rewriters/runtime/reductions.h"

#include <algorithm>

#include "rewriters/onnx/facts.h"

namespace t2o::rewriters {

bool keeps_dims(const ir::Node& n) { return n.attr_or<std::int64_t>("keepdims", 1) != 0; }

std::optional<Ints> reduced_axes(const ir::Node& n) {
  const Shape& s = n.input(0)->shape();
  std::optional<Ints> axes = axes_of(n);
  if (!axes && (n.input(1) || n.attr("axes"))) return std::nullopt;
  if (!axes || axes->empty()) {
    if (n.attr_or<std::int64_t>("noop_with_empty_axes", 0) != 0 || !s.ranked()) return std::nullopt;
    axes = ints_from(0, s.rank());
  }
  for (std::int64_t& a : *axes) {
    if (a < 0 && !s.ranked()) return std::nullopt;
    a += a < 0 ? s.rank() : 0;
  }
  std::ranges::sort(*axes);
  axes->erase(std::unique(axes->begin(), axes->end()), axes->end());
  return axes;
}

Value* reduce_like(Emitter& e, const std::string& op, Value* x, const ir::Node& like, bool keeps) {
  if (const auto axes = axes_of(like); axes && !axes->empty()) return e.reduce(op, x, *axes, keeps);
  return like.input(1) ? e.reduce(op, x, like.input(1), keeps) : e.reduce_all(op, x, keeps);
}

}  // namespace t2o::rewriters
