#include <algorithm>

#include "rewriters/all.h"
#include "rewriters/onnx/layout_form.h"

namespace t2o::rewriters {
namespace {

const Ints* perm_behind(const Value* v) { return v->producer() ? perm_of(*v->producer()) : nullptr; }

}  // namespace

// Transpose(Transpose(x, p), q) = Transpose(x, p[q]), and nothing at all when that is the identity. The inner
// one may be read elsewhere too: it then stays for that reader.
Rewriter cancel_transposes() {
  auto run = [](ir::Graph& g) {
    int changes = 0;
    for (ir::Node& n : g.nodes()) {
      const Ints* outer = perm_of(n);
      const Ints* inner = outer ? perm_behind(n.input(0)) : nullptr;
      if (!inner || inner->size() != outer->size()) continue;
      Ints both(outer->size());
      for (std::size_t i = 0; i < both.size(); ++i) both[i] = (*inner)[static_cast<std::size_t>((*outer)[i])];
      Value* x = n.input(0)->producer()->input(0);
      if (!std::is_sorted(both.begin(), both.end())) {
        g.set_input(n, 0, x);
        g.set_attr(n, "perm", std::move(both));
      } else if (!n.output()->is_graph_output()) {
        g.replace_all_uses(n.output(), x);
      } else if (!take_over(g, n.output(), x)) {
        continue;  // a graph output keeps a node of its own
      }
      ++changes;
    }
    if (changes != 0) g.erase_dead();
    return changes;
  };
  return {"cancel_transposes", run, {"Transpose"}};
}

}  // namespace t2o::rewriters
