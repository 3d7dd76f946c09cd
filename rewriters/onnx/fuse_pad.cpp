#include <algorithm>

#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"
#include "rewriters/onnx/zero_pad.h"

namespace t2o::rewriters {
namespace {

// The pool's pads with the Pad's; empty where they are not the pool's own.
Ints joint_pads(const ir::Node& pad, const ir::Node& pool) {
  const auto* kernel = pool.attr_if<Ints>("kernel_shape");
  const auto* own = pool.attr_if<Ints>("pads");
  const auto* dilations = pool.attr_if<Ints>("dilations");
  const bool strange = pool.attr("auto_pad") || pool.attr_or<std::int64_t>("ceil_mode", 0) != 0 ||
                       pool.outputs().size() != 1 ||
                       (dilations && std::ranges::any_of(*dilations, [](std::int64_t d) { return d != 1; }));
  if (!kernel || strange) return {};
  const bool has_own = own && std::ranges::any_of(*own, [](std::int64_t p) { return p != 0; });
  if (pool.op() == "AveragePool" ? has_own : !is_never_negative(pad.input(0))) return {};
  const Ints all = pad.input(1)->constant()->to_ints();
  const std::size_t spatial = kernel->size(), rank = spatial + 2;
  if (all.size() != 2 * rank) return {};
  Ints pads = own ? *own : Ints(2 * spatial, 0);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::size_t axis = i % rank;
    if (all[i] < 0 || (axis < 2 && all[i] != 0)) return {};
    if (axis >= 2) pads[axis - 2 + (i < rank ? 0 : spatial)] += all[i];
  }
  for (std::size_t i = 0; i < pads.size(); ++i)
    if (pads[i] >= (*kernel)[i % spatial]) return {};
  return pads;
}

bool join(ir::Graph& g, ir::Node& pad) {
  ir::Node* pool = only_reader(pad.output());
  if (!pool || (pool->op() != "MaxPool" && pool->op() != "AveragePool")) return false;
  Ints pads = joint_pads(pad, *pool);
  if (pads.empty()) return false;
  g.set_attr(*pool, "pads", std::move(pads));
  if (pool->op() == "AveragePool") g.set_attr(*pool, "count_include_pad", std::int64_t{1});
  g.set_input(*pool, 0, pad.input(0));
  return true;
}

}  // namespace

Rewriter fuse_pad() {
  const auto run = [](ir::Graph& g) {
    int changes = 0;
    for (ir::Node* n = g.first(); n; n = n->next())
      if (is_zero_pad(*n) && join(g, *n)) ++changes;
    return changes;
  };
  return {"fuse_pad", run, {"Pad"}};
}

}  // namespace t2o::rewriters
