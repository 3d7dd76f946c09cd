#include <algorithm>

#include "rewriters/all.h"
#include "rewriters/onnx/facts.h"

namespace t2o::rewriters {
// Transpose(Transpose(x, p), q) = Transpose(x, p[q]), and nothing at all when that is the identity. The inner
// one may be read elsewhere too: it then stays for that reader.
Rewriter cancel_transposes() {
  return for_each_node("cancel_transposes", {"Transpose"}, [](ir::Graph& g, ir::Node& n) {
    const Ints* outer = perm_of(&n);
    if (!outer) return false;
    Value* x = n.input(0);
    Ints both = *outer;
    const Ints* inner = perm_of(x->producer());
    if (inner && inner->size() == both.size()) {
      for (std::int64_t& p : both) p = nth(*inner, p);
      x = x->producer()->input(0);
    } else if (!std::ranges::is_sorted(both)) {
      return false;
    }
    if (std::ranges::is_sorted(both)) {
      // a graph output keeps a node of its own
      if (n.output()->is_graph_output()) return take_over(g, n.output(), x);
      g.replace_all_uses(n.output(), x);
    } else {
      g.set_input(n, 0, x);
      g.set_attr(n, "perm", std::move(both));
    }
    return true;
  });
}

}  // namespace t2o::rewriters
