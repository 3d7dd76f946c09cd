#include <algorithm>

#include "rewriters/all.h"
#include "rewriters/tf/recurrent_build.h"
#include "rewriters/tf/unrolled_loop.h"

namespace t2o::rewriters {
namespace {

using Uses = std::vector<ir::Use>;

// A chain of steps becomes the loop that it was drawn from, and that one the layers it is. When it is none,
// nothing is changed.
class Roller {
 public:
  Roller(ir::Graph& g, NodeOrder& order, const Unrolled& u)
      : g_(g), order_(order), u_(u), steps_(static_cast<std::int64_t>(u.steps)) {}

  bool run(std::string& why) {
    collect_steps();
    if (!collect_outputs(why) || !find_place(why)) return false;
    UnrolledLoop loop(g_, u_, outputs_, order_.node(place_));
    for (const bool finals_in_lists : {false, true}) {
      if (!loop.build(finals_in_lists, why)) return false;
      if (const auto found = find_recurrent_loop(loop.node(), why)) {
        for (UnrolledOutput& o : outputs_) rewire(o, loop);
        build_layers(*found);
        finish();
        return true;
      }
      loop.undo();
    }
    return false;
  }

 private:
  // ---- what is read of the steps

  void collect_steps() {
    for (const auto& [b, all] : u_.in_each_step)
      for (const Value* v : all)
        if (v) inside_.insert(v->producer());
  }

  bool is_inside(ir::Node* n) const { return inside_.contains(n) || u_.zeros.contains(n); }

  bool is_read_outside(const Value* v) const {
    return v && (v->is_graph_output() ||
                 std::ranges::any_of(v->uses(), [&](const ir::Use& u) { return !is_inside(u.node); }));
  }

  bool collect_outputs(std::string& why) {
    for (const ir::Node* n : u_.body) {
      if (u_.aside.contains(n)) continue;
      for (Value* v : n->outputs()) {
        const auto all = u_.in_each_step.find(v);
        if (all == u_.in_each_step.end()) {
          if (is_read_outside(v)) return no(why, "another output of a step's operator is read elsewhere");
          continue;
        }
        UnrolledOutput o{v, &all->second};
        for (std::size_t step = 0; step < u_.steps; ++step)
          if (is_read_outside(all->second[step])) {
            o.last_only = o.last_only && step + 1 == u_.steps;
            o.variable = 1;
          }
        if (o.variable == 0) continue;
        for (const Unrolled::State& s : u_.states)
          if (s.after[1] == v) o.state = &s;
        outputs_.push_back(o);
      }
    }
    if (outputs_.empty()) return no(why, "nothing of it is read");
    return true;
  }

  static bool no(std::string& why, const char* text) {
    why = text;
    return false;
  }

  // ---- where the loop may stand: behind all that it needs, in front of all that reads it

  bool find_place(std::string& why) {
    std::size_t needed = 0;
    const auto need = [&](const Value* v) {
      if (!v || !v->producer() || v->graph() != &g_ || inside_.contains(v->producer())) return;
      const ir::Node& n = *v->producer();
      needed = std::max(needed, order_.place(n) + (order_.is_new(n) ? 0 : 1));
    };
    need(u_.source->input(0));
    for (const auto& [v, unpack] : u_.items) need(unpack->input(0));
    for (const Unrolled::State& s : u_.states)
      if (!s.is_own_zero) need(s.initial);
    for (const ir::Node* n : u_.body)
      for (const Value* in : n->inputs()) need(in);
    std::size_t first = order_.size();
    bool is_new = false;
    for (const UnrolledOutput& o : outputs_)
      for (const Value* v : *o.steps)
        for (const ir::Use& use : v ? v->uses() : Uses()) {
          if (is_inside(use.node)) continue;
          const std::size_t at = order_.place(*use.node);
          if (at < first) is_new = false;
          if (at <= first) is_new = is_new || order_.is_new(*use.node);
          first = std::min(first, at);
        }
    while (needed < order_.size() && !order_.node(needed)) ++needed;
    if (needed >= order_.size() || needed > first || (is_new && needed == first))
      return no(why, "something is read before all is there that its steps need");
    place_ = needed;
    return true;
  }

  // ---- its readers

  // Packs of all steps are the stacked list itself.
  void replace_packs(const UnrolledOutput& o, UnrolledLoop& loop) {
    const Values& all = *o.steps;
    Value* stack[2][2] = {{o.read, nullptr}, {nullptr, nullptr}};  // by order and layout
    for (const ir::Use& use : Uses(all[0]->uses())) {
      ir::Node& n = *use.node;
      if (inside_.contains(&n) || n.op() != "Pack" || n.input_count() != all.size() || !n.output()->is_used())
        continue;
      const bool forward = std::equal(all.begin(), all.end(), n.inputs().begin());
      const bool backward = std::equal(all.rbegin(), all.rend(), n.inputs().begin());
      const std::int64_t axis = axis_of(n);
      if ((!forward && !backward) || (axis != 0 && axis != 1)) continue;
      auto& [first, second] = stack[backward ? 1 : 0];
      if (!first) first = loop.reversed(o.read);
      if (axis == 1 && !second) second = loop.swapped(first, 3);
      replace_value(g_, n.output(), axis == 1 ? second : first);
    }
  }

  bool is_still_read(const Value* v) const {
    if (!v) return false;
    return v->is_graph_output() || std::ranges::any_of(v->uses(), [&](const ir::Use& u) {
             if (is_inside(u.node)) return false;
             return u.node->op() != "Pack" || u.node->output()->is_used();
           });
  }

  void rewire(const UnrolledOutput& o, UnrolledLoop& loop) {
    if (!o.is_list) return replace_value(g_, o.steps->back(), o.read);
    if (o.last_only) return replace_value(g_, o.steps->back(), loop.row(o.read, 0));
    replace_packs(o, loop);
    Ints read;
    for (std::size_t step = 0; step < u_.steps; ++step)
      if (is_still_read((*o.steps)[step])) read.push_back(static_cast<std::int64_t>(step));
    if (!read.empty() && read.back() == steps_ - 1) {
      replace_value(g_, o.steps->back(), loop.row(o.read, -1));
      read.pop_back();
    }
    if (read.empty()) return;
    if (read.size() <= 2) {
      for (const std::int64_t step : read) replace_value(g_, nth(*o.steps, step), loop.row(o.read, step));
      return;
    }
    const Values& rows = loop.unpacked(u_.backwards ? loop.reversed(o.read) : o.read);
    for (const std::int64_t step : read) {
      const auto i = static_cast<std::size_t>(step);
      replace_value(g_, (*o.steps)[i], rows[u_.row(i)]);
    }
  }

  void finish() {
    order_.add_before(place_);
    std::vector<ir::Node*> old(inside_.begin(), inside_.end());
    std::ranges::sort(old, [&](const ir::Node* a, const ir::Node* b) { return order_.is_before(*b, *a); });
    for (ir::Node* n : old)
      if (std::ranges::none_of(n->outputs(), [](const Value* v) { return v->is_used(); })) order_.erase(*n);
  }

  ir::Graph& g_;
  NodeOrder& order_;
  const Unrolled& u_;
  std::int64_t steps_;
  std::unordered_set<ir::Node*> inside_;  // the nodes of all steps
  std::vector<UnrolledOutput> outputs_;
  std::size_t place_ = 0;
};

int run(ir::Graph& g) {
  std::vector<ir::Node*> sources;
  for (ir::Node& n : g.nodes()) {
    if (n.op() == "Unpack") sources.push_back(&n);
  }
  if (sources.empty()) return 0;
  NodeOrder order(g);
  std::string why;
  UnrolledFinder finder(order, why);
  int changes = 0;
  for (ir::Node* n : sources)
    for (const bool backwards : {false, true}) {
      const auto found = finder.find(*n, backwards);
      const bool done = found && Roller(g, order, *found).run(why);
      trace_match("unrolled", n->output(), done ? "replaced" : why.c_str());
      if (done) ++changes;
    }
  g.erase_dead();
  return changes;
}

}  // namespace

Rewriter unrolled() {
  return {"unrolled", run, {"Unpack"}, [](const ir::Node& n) { return n.op() == "Unpack"; }};
}

}  // namespace t2o::rewriters
