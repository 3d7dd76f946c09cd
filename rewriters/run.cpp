#include "rewriters/run.h"

#include <algorithm>

#include "ir/contents.h"

namespace t2o {

void run_rewriters(const std::vector<Rewriter>& rewriters, ir::Graph& g,
                   const std::function<void(const std::string& name)>& after) {
  ir::Contents c = ir::contents_of(g);
  for (const Rewriter& r : rewriters) {
    int changes = 0;
    const bool has_work =
        r.needs.empty() || std::any_of(r.needs.begin(), r.needs.end(),
                                       [&](const std::string& op) { return c.ops.contains(op); });
    for (ir::Graph* each : c.graphs)
      if (has_work) changes += r.run(*each);
    if (changes != 0) c = ir::contents_of(g);
    after(r.name);
  }
}

}  // namespace t2o
