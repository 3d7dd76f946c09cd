#include "rewriters/all.h"
#include "rewriters/tf/recurrent_build.h"

namespace t2o::rewriters {
namespace {

int run(ir::Graph& g) {
  int changes = 0;
  std::vector<ir::Node*> loops;
  for (ir::Node& n : g.nodes()) {
    if (n.op() == "While" || n.op() == "StatelessWhile") loops.push_back(&n);
  }
  for (ir::Node* n : loops) {
    std::string why;
    const auto found = find_recurrent_loop(*n, why);
    trace_match("recurrent", n->output(), found ? "replaced" : why.c_str());
    if (!found) continue;
    build_layers(*found);
    ++changes;
  }
  return changes;
}

}  // namespace

Rewriter recurrent() {
  return {"recurrent", run, {}, [](const ir::Node& n) {
            return n.op() == "While" || n.op() == "StatelessWhile";
          }};
}

}  // namespace t2o::rewriters
