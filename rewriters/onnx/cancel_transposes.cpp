#include <algorithm>

#include "rewriters/all.h"

namespace t2o::rewriters {
namespace {

const Ints* perm_of(const Value* v) {
  const ir::Node* n = v->producer();
  return n && n->op() == "Transpose" ? n->attr_if<Ints>("perm") : nullptr;
}

}  // namespace

// Transpose(Transpose(x, p), q) = Transpose(x, p[q]), and nothing at all when that is the identity. The inner one may be read
// elsewhere too: it then stays for that reader.
Rewriter cancel_transposes() {
  auto run = [](ir::Graph& g) {
    int changes = 0;
    for (ir::Node& n : g.nodes()) {
      const Ints* outer = n.outputs().empty() ? nullptr : perm_of(n.output());
      const Ints* inner = outer ? perm_of(n.input(0)) : nullptr;
      if (!inner || inner->size() != outer->size()) continue;
      Ints both(outer->size());
      for (std::size_t i = 0; i < both.size(); ++i) both[i] = (*inner)[static_cast<std::size_t>((*outer)[i])];
      Value* x = n.input(0)->producer()->input(0);
      if (!std::is_sorted(both.begin(), both.end())) {
        g.set_input(n, 0, x);
        g.set_attr(n, "perm", std::move(both));
      } else if (!n.output()->is_graph_output()) {
        g.replace_all_uses(n.output(), x);
      } else {
        continue;  // a graph output keeps a node of its own
      }
      ++changes;
    }
    if (changes != 0) g.erase_dead();
    return changes;
  };
  return {"cancel_transposes", run};
}

}  // namespace t2o::rewriters
