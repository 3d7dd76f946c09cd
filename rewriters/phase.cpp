#include "rewriters/phase.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "ir/contents.h"
#include "ir/verify.h"

namespace t2o {
namespace {

std::vector<const Step*> ordered_steps(const Phase& phase, const std::vector<std::string>& order) {
  std::vector<const Step*> steps;
  for (const Step& s : phase.steps) steps.push_back(&s);
  const auto place = [&](const Step* s) {
    return std::ranges::find(order, phase.name + "/" + s->rewriter.name);
  };
  if (!order.empty())
    std::ranges::stable_sort(steps, [&](const Step* a, const Step* b) { return place(a) < place(b); });
  return steps;
}

class PhaseRun {
 public:
  PhaseRun(ir::Graph& g, const PhaseOptions& options)
      : graph_(g), options_(options), contents_(ir::contents_of(g)) {}

  void run(const Phase& phase) {
    for (const Step* step : ordered_steps(phase, options_.order)) run(step->rewriter);
    settle(phase.settled);
    if (options_.check) check(phase);
  }

 private:
  int run(const Rewriter& r) {
    if (contains(options_.without, r.name)) return 0;
    const int changes = apply(r);
    if (options_.after) options_.after(r.name, changes);
    return changes;
  }

  int apply(const Rewriter& r) {
    int changes = 0;
    const bool has_work = r.looks_for.empty() || std::ranges::any_of(r.looks_for, [&](const std::string& op) {
                            return contents_.ops.contains(op);
                          });
    for (ir::Graph* each : contents_.graphs)
      if (const int found = has_work ? r.run(*each) : 0; found != 0) {
        each->erase_dead();
        changes += found;
      }
    if (changes != 0) contents_ = ir::contents_of(graph_);
    return changes;
  }

  // In turn, until each has found nothing since another one changed the graph. Two rewriters that undo each
  // other must not run forever: the number of rounds has a bound, and check() finds such a pair.
  void settle(const std::vector<Rewriter>& rewriters) {
    constexpr std::size_t kMostRounds = 4;
    std::size_t settled = 0;
    for (std::size_t i = 0; settled < rewriters.size() && i < kMostRounds * rewriters.size(); ++i)
      settled = run(rewriters[i % rewriters.size()]) == 0 ? settled + 1 : 1;
  }

  void check(const Phase& phase) {
    const std::string where = "phase '" + phase.name + "': ";
    if (const Diagnostics broken = ir::verify_graph(graph_, ir::Named::some); !broken.empty())
      throw std::logic_error(where + to_string(broken.front()));
    for (const Rewriter& r : rewriters_of({phase}))
      if (apply(r) != 0) throw std::logic_error(where + r.name + " finds more to do at its end");
  }

  ir::Graph& graph_;
  const PhaseOptions& options_;
  ir::Contents contents_;
};

bool lacks_rank(const Value* v) {
  return v && !v->shape().ranked() && v->dtype() != DType::variant && v->dtype() != DType::resource;
}

}  // namespace

void check_phases(const std::vector<Phase>& phases) {
  for (const Phase& phase : phases) {
    std::unordered_set<std::string> before;
    for (const Step& s : phase.steps) {
      const std::string what = "phase '" + phase.name + "' lists " + s.rewriter.name;
      for (const After& a : s.after)
        if (!before.contains(a.rewriter))
          throw std::logic_error(what + ", and " + a.rewriter +
                                 ", which it runs after, is not in front of it");
      if (!before.insert(s.rewriter.name).second) throw std::logic_error(what + " twice");
    }
  }
}

void run_phases(const std::vector<Phase>& phases, ir::Graph& g, const PhaseOptions& options) {
  PhaseRun run(g, options);
  for (const Phase& phase : phases) run.run(phase);
}

bool lacks_shapes(const std::vector<Phase>& phases, const ir::Graph& g) {
  const std::vector<Rewriter> all = rewriters_of(phases);
  const auto nodes = g.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const ir::Node& n) {
    return std::ranges::any_of(n.inputs(), lacks_rank) && std::ranges::any_of(all, [&](const Rewriter& r) {
             return r.reads_shapes_of && r.reads_shapes_of(n);
           });
  });
}

std::vector<Rewriter> rewriters_of(const std::vector<Phase>& phases) {
  std::vector<Rewriter> all;
  std::unordered_set<std::string> names;
  const auto add = [&](const Rewriter& r) {
    if (names.insert(r.name).second) all.push_back(r);
  };
  for (const Phase& phase : phases) {
    for (const Step& s : phase.steps) add(s.rewriter);
    for (const Rewriter& r : phase.settled) add(r);
  }
  return all;
}

}  // namespace t2o
