#include <algorithm>

#include "rewriters/all.h"

// A pool with a window of one pixel only picks pixels: a convolution of single pixels behind it can pick them
// itself.
namespace t2o::rewriters {
namespace {

bool all_are(const Ints* v, std::int64_t number) {
  return !v || std::ranges::all_of(*v, [number](std::int64_t i) { return i == number; });
}

bool picks_pixels(const ir::Node& n) {
  if ((n.op() != "AveragePool" && n.op() != "MaxPool") || n.outputs().size() != 1 ||
      !n.attr_if<Ints>("strides") || n.attr("auto_pad"))
    return false;
  const auto* kernel = n.attr_if<Ints>("kernel_shape");
  return kernel && all_are(kernel, 1) && all_are(n.attr_if<Ints>("pads"), 0) &&
         n.attr_or<std::int64_t>("ceil_mode", 0) == 0;
}

// of single pixels, all of which it takes
bool is_pointwise(const ir::Node& n) {
  if (n.op() != "Conv" || n.attr("auto_pad") || !n.input(1)->shape().ranked()) return false;
  const Shape& w = n.input(1)->shape();
  for (int i = 2; i < w.rank(); ++i)
    if (w[i] != 1) return false;
  return all_are(n.attr_if<Ints>("pads"), 0) && all_are(n.attr_if<Ints>("strides"), 1);
}

bool join(ir::Graph& g, ir::Node& pool) {
  const Value* y = pool.output();
  const auto joins = [y](const ir::Use& u) {
    return is_pointwise(*u.node) && u.input == 0 && u.node->graph() == y->graph();
  };
  if (!y->is_used() || y->is_graph_output() || !std::ranges::all_of(y->uses(), joins)) return false;
  const std::vector<ir::Use> readers = y->uses();
  for (const ir::Use& u : readers) {
    g.set_attr(*u.node, "strides", *pool.attr_if<Ints>("strides"));
    g.set_input(*u.node, 0, pool.input(0));
  }
  return true;
}

}  // namespace

Rewriter stride_conv() {
  const auto run = [](ir::Graph& g) {
    int changes = 0;
    for (ir::Node* n = g.first(); n; n = n->next())
      if (picks_pixels(*n) && join(g, *n)) ++changes;
    return changes;
  };
  return {"stride_conv", run, {"Conv"}};
}

}  // namespace t2o::rewriters
