#include "onnx/emitter.h"
#include "rewriters/portable/rows.h"

// A Tile repeats an axis of size 1 as an Expand does. An axis that it keeps has a 1 among the repeats, which
// an Expand keeps too.
namespace t2o::rewriters {
namespace {

bool expands(const ir::Node& n) {
  const Value* repeats = n.input(1);
  const Shape& x = n.input(0)->shape();
  if (repeats->constant() || !x.ranked()) return false;
  const auto& known = repeats->known_elements();
  for (int i = 0; i < x.rank(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    const bool is_kept = known && at < known->size() && (*known)[at] == 1;
    if (x[i] != 1 && !is_kept) return false;
  }
  return true;
}

}  // namespace

Rewriter expand_tiles(const onnx::Target& target) {
  return for_each_node("expand_tiles", {"Tile"}, [target](ir::Graph& g, ir::Node& n) {
    if (n.op() != "Tile" || !expands(n)) return false;
    Emitter e(n, target);
    Value* y = e.emit("Expand", {n.input(0), n.input(1)});
    g.set_type(y, y->dtype(), n.output()->shape());
    return take_over(g, n.output(), y);
  });
}

}  // namespace t2o::rewriters
