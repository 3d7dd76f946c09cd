#include "tf/state_effects.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "tf/variable_access.h"
#include "tf/variable_writes.h"

namespace t2o::tf {
namespace {

using Keys = std::set<Key>;
using Nodes = std::vector<std::uint32_t>;

constexpr std::size_t kMostPasses = 100;

// What one body does. Keys of arguments mean something to its callers; those of the model's variables are the
// same in all bodies.
struct Effects {
  Effects(Body& b, VariableNames& names) : body(&b), accesses(b, names) {}
  bool is_inside(std::uint32_t n) const { return !inside.empty() && inside[n]; }
  Body* body;
  Accesses accesses;
  std::vector<bool> runs;
  std::vector<bool> inside;  // nodes inside of loops and conditionals of TensorFlow 1; empty: there are none
  Nodes order;               // of the nodes that run, if some body writes variables
  Keys writes;               // by it and by functions that it calls
  Keys unkept;               // of them, those with a write that cannot be handed on as a state
  Keys read;    // variables of which the needed nodes read the value that they have before the body runs
  Keys wanted;  // variables of which somebody reads the value that they have after the body has run
};

std::vector<std::string> callees(const Body& body, std::size_t n) {
  std::vector<std::string> names;
  if (body.ops[n]->function) names.push_back(body.ops[n]->function->name);
  const OpInfo& op = *body.ops[n];
  if (op.kind != OpKind::call && !is_functional(op.kind) && !op.holds_functions) return names;
  for (const RawAttr& a : body.node(n).attrs)
    for (std::string& name : function_names(a.value)) names.push_back(std::move(name));
  return names;
}

bool is_condition_of_loop(const Body& body, std::size_t n, const Body& callee) {
  const Bytes* raw = body.ops[n]->kind == OpKind::while_ ? body.node(n).attr("cond") : nullptr;
  if (!raw) return false;
  const std::vector<std::string> names = function_names(*raw);
  return std::find(names.begin(), names.end(), callee.name) != names.end();
}

Origin origin_of(const Body& body, std::uint32_t n) {
  return {std::string(body.node(n).name), std::string(body.node(n).op), body.name};
}

class Analysis {
 public:
  Analysis(Bodies& bodies, const MainScope& scope, Diagnostics& out)
      : bodies_(&bodies), scope_(&scope), out_(&out), names_(bodies.graph().owner) {}
  std::vector<LostChange> run();

 private:
  bool is_main(const Body& b) const { return b.signature == nullptr; }
  std::vector<bool>& needed(Body& b) const { return is_main(b) ? *scope_->needed : b.needed; }
  void visit_all();
  std::vector<bool> executed(const Body&) const;
  void find_writes(Effects&);
  void refuse_hidden_writes(Effects&, std::uint32_t node);
  template <class F>
  void for_each_callee(Effects&, std::uint32_t node, F&&);
  void settle();
  bool trace(Effects&);
  void trace_access(Effects&, std::uint32_t node, Keys& live);
  bool trace_call(Effects&, std::uint32_t node, Keys& live);
  void need(Body&, std::uint32_t node);
  Keys written_by(Effects&, std::uint32_t node);
  void check(Effects&);
  void check_order(Effects&);
  void check_loops(Effects&, const std::vector<std::uint32_t>& writers);
  void check_memory(Effects&);
  void find_lost_changes(Effects&);
  void report(const Body&, std::uint32_t node, std::string message, std::string remedy);
  void report_stale(const Body&, std::uint32_t reader, std::uint32_t writer, Key);

  Bodies* bodies_;
  const MainScope* scope_;
  Diagnostics* out_;
  VariableNames names_;
  std::vector<std::unique_ptr<Effects>> all_;  // callees before callers
  std::unordered_map<const Body*, Effects*> of_;
  std::set<std::pair<const Body*, Key>> reported_;
  std::set<std::string> lost_names_;
  std::vector<LostChange> lost_;
};

std::vector<LostChange> Analysis::run() {
  visit_all();
  if (std::all_of(all_.begin(), all_.end(), [](const auto& e) { return e->writes.empty(); })) return {};
  for (const auto& e : all_) {
    std::vector<bool> writers(e->body->size());
    for (std::uint32_t n = 0; n < e->body->size(); ++n) writers[n] = e->runs[n] && !written_by(*e, n).empty();
    e->order = order_of(*e->body, e->runs, writers);
  }
  settle();
  for (const auto& e : all_) {
    check(*e);
    if (!scope_->keep_changes) find_lost_changes(*e);
  }
  return std::move(lost_);
}

// The bodies that run, callees before callers, without recursion.
void Analysis::visit_all() {
  std::vector<std::pair<Body*, bool>> work = {{&bodies_->main(), false}};
  std::unordered_map<const Body*, std::unique_ptr<Effects>> open;
  while (!work.empty()) {
    auto& [body, expanded] = work.back();
    Body& b = *body;
    if (expanded) {
      work.pop_back();
      find_writes(*open.at(&b));
      of_[&b] = open.at(&b).get();
      all_.push_back(std::move(open.at(&b)));
      continue;
    }
    expanded = true;
    const auto [it, fresh] = open.try_emplace(&b);
    if (!fresh) {
      work.pop_back();
      continue;
    }
    it->second = std::make_unique<Effects>(b, names_);
    Effects& e = *it->second;
    e.runs = executed(b);
    for (std::size_t n = 0; n < b.size(); ++n) {
      if (!e.runs[n] || !(runs_functions(b.ops[n]->kind) || b.ops[n]->holds_functions)) continue;
      for (const std::string& name : callees(b, n))
        if (Body* callee = bodies_->function(name); callee && !open.contains(callee))
          work.push_back({callee, false});
    }
  }
}

// What TensorFlow would run for the fetches, or for the function's results and side effects.
std::vector<bool> Analysis::executed(const Body& body) const {
  Nodes work;
  if (is_main(body)) work = scope_->roots;
  for (const InputRef& r : body.results)
    if (r.node >= 0) work.push_back(static_cast<std::uint32_t>(r.node));
  for (const auto& [name, node] : body.function.control_ret)
    if (const auto it = body.index.find(node)) work.push_back(*it);
  std::vector<bool> seen(body.size());
  for (const std::uint32_t n : work) seen[n] = true;
  while (!work.empty()) {
    const std::uint32_t n = work.back();
    work.pop_back();
    const auto visit = [&](std::uint32_t source, const InputRef* data) {
      if (seen[source] || (data && is_main(body) && scope_->cut(*data))) return;
      seen[source] = true;
      work.push_back(source);
    };
    for_each_source(body, n, visit, true);
  }
  return seen;
}

// Loops and conditionals of TensorFlow 1 are parts of one graph. A Switch or an Enter leads into one, a Merge
// or an Exit out of it.
std::vector<bool> find_inside(const Body& body, const std::vector<bool>& runs) {
  if (body.guarded.empty()) return {};
  const auto is_kind = [&](const InputRef& in, OpKind k) {
    return in.node >= 0 && body.ops[static_cast<std::size_t>(in.node)]->kind == k;
  };
  std::vector<int> depth(body.size());
  for (const std::uint32_t n : order_of(body, runs, std::vector<bool>(body.size()))) {
    for_each_source(body, n, [&](std::uint32_t source, const InputRef*) {
      depth[n] = std::max(depth[n], depth[source]);
    });
    const auto inputs = body.inputs_of(n);
    const auto any = [&](OpKind k) {
      return std::any_of(inputs.begin(), inputs.end(), [&](const InputRef& in) { return is_kind(in, k); });
    };
    const OpKind kind = body.ops[n]->kind;
    if (kind == OpKind::enter || (is_any_switch(kind) && !any(OpKind::loop_cond))) ++depth[n];
    if (kind == OpKind::exit || (kind == OpKind::merge && !any(OpKind::next_iteration)))
      depth[n] = std::max(0, depth[n] - 1);
  }
  std::vector<bool> inside(body.size());
  for (std::size_t n = 0; n < body.size(); ++n) inside[n] = depth[n] > 0;
  return inside;
}

// The functions of other operators, such as the reduction of a dataset: which of their arguments a variable
// goes into, and how often they run, is not known here.
void Analysis::refuse_hidden_writes(Effects& e, std::uint32_t n) {
  for (const std::string& name : callees(*e.body, n))
    if (const auto it = of_.find(bodies_->function(name)); it != of_.end() && !it->second->writes.empty())
      return report(
          *e.body, n, "changes a variable in a function of its own, which cannot be followed",
          "Change the variable in a loop of TensorFlow, such as `for i in tf.range(n)`, or outside.");
}

void Analysis::find_writes(Effects& e) {
  const Body& body = *e.body;
  e.inside = find_inside(body, e.runs);
  for (std::uint32_t n = 0; n < body.size(); ++n) {
    if (!e.runs[n]) continue;
    if (body.ops[n]->holds_functions) refuse_hidden_writes(e, n);
    if (body.ops[n]->kind == OpKind::write_variable) {
      for (const Access& a : e.accesses.of(n)) {
        if (!a.write) continue;
        e.writes.insert(a.variable);
        if (!has_written_value(body.node(n).op) || e.is_inside(n)) e.unkept.insert(a.variable);
      }
    }
    for_each_callee(e, n, [&](const Effects& callee, auto&& key_here) {
      for (const Key k : callee.writes)
        if (const Key here = key_here(k); here != kNone) {
          e.writes.insert(here);
          if (callee.unkept.contains(k) || e.is_inside(n) || is_condition_of_loop(body, n, *callee.body))
            e.unkept.insert(here);
        }
    });
  }
}

// Calls f(effects of the callee, function that translates the callee's keys).
template <class F>
void Analysis::for_each_callee(Effects& e, std::uint32_t n, F&& f) {
  const Body& body = *e.body;
  const OpKind kind = body.ops[n]->kind;
  if (!runs_functions(kind)) return;
  const auto inputs = body.inputs_of(n);
  const std::size_t skip = kind == OpKind::if_ || kind == OpKind::case_ ? 1 : 0;
  const auto key_here = [&](Key k) {
    if (k >= kFirstGlobal) return k;
    return k + skip < inputs.size() ? e.accesses.variable_behind(inputs[k + skip]) : kNone;
  };
  for (const std::string& name : callees(body, n))
    if (const auto it = of_.find(bodies_->function(name)); it != of_.end()) f(*it->second, key_here);
}

Keys Analysis::written_by(Effects& e, std::uint32_t n) {
  Keys keys;
  if (e.body->ops[n]->kind == OpKind::write_variable)
    for (const Access& a : e.accesses.of(n))
      if (a.write) keys.insert(a.variable);
  for_each_callee(e, n, [&](const Effects& callee, auto&& key_here) {
    for (const Key k : callee.writes)
      if (const Key here = key_here(k); here != kNone) keys.insert(here);
  });
  return keys;
}

// What is needed of one body depends on what others read. The sets only grow.
void Analysis::settle() {
  if (scope_->keep_changes) all_.back()->wanted = all_.back()->writes;  // of the main graph
  bool changed = true;
  for (std::size_t pass = 0; changed; ++pass) {
    if (pass == kMostPasses)
      fail(Code::unsupported_op,
           "its functions call each other too deeply to follow what they do to variables");
    changed = false;
    for (auto e = all_.rbegin(); e != all_.rend(); ++e) changed = trace(**e) || changed;
    for (const auto& e : all_) changed = trace(*e) || changed;
  }
}

// Walks a body backwards with the variables whose value is read later.
bool Analysis::trace(Effects& e) {
  Keys live = e.wanted;
  bool changed = false;
  for (std::size_t i = e.order.size(); i-- > 0;) {
    const std::uint32_t n = e.order[i];
    if (runs_functions(e.body->ops[n]->kind))
      changed = trace_call(e, n, live) || changed;
    else
      trace_access(e, n, live);
  }
  const std::size_t before = e.read.size();
  e.read.merge(live);
  return changed || e.read.size() != before;
}

void Analysis::trace_access(Effects& e, std::uint32_t n, Keys& live) {
  const std::vector<Access> accesses = e.accesses.of(n);
  if (accesses.empty()) return;
  Body& body = *e.body;
  for (const Access& a : accesses)
    if (a.write && live.contains(a.variable)) need(body, n);
  if (!needed(body)[n]) return;
  for (const Access& a : accesses)
    if (a.write && !takes_old_value(body.node(n).op)) live.erase(a.variable);
  for (const Access& a : accesses)
    if (!a.write || takes_old_value(body.node(n).op)) live.insert(a.variable);
}

// A call may leave a variable as it is: what is wanted behind it is wanted before it.
bool Analysis::trace_call(Effects& e, std::uint32_t n, Keys& live) {
  Body& body = *e.body;
  const bool is_loop = body.ops[n]->kind == OpKind::while_;
  const Keys writes = written_by(e, n);
  Keys wanted;
  std::set_intersection(writes.begin(), writes.end(), live.begin(), live.end(),
                        std::inserter(wanted, wanted.begin()));
  if (!wanted.empty()) need(body, n);
  if (!needed(body)[n]) return false;
  Keys reads;
  for_each_callee(e, n, [&](const Effects& callee, auto&& key_here) {
    for (const Key k : callee.read)
      if (const Key here = key_here(k); here != kNone) reads.insert(here);
  });
  if (is_loop)  // the next round reads what this one writes
    std::set_intersection(writes.begin(), writes.end(), reads.begin(), reads.end(),
                          std::inserter(wanted, wanted.begin()));
  bool changed = false;
  for_each_callee(e, n, [&](const Effects& callee, auto&& key_here) {
    for (const Key k : callee.writes)
      if (wanted.contains(key_here(k))) changed = of_.at(callee.body)->wanted.insert(k).second || changed;
  });
  live.insert(reads.begin(), reads.end());
  return changed;
}

void Analysis::need(Body& body, std::uint32_t node) {
  std::vector<bool>& all = needed(body);
  Nodes work;
  const auto add = [&](std::uint32_t n) {
    if (all[n]) return;
    all[n] = true;
    work.push_back(n);
  };
  add(node);
  while (!work.empty()) {
    const std::uint32_t n = work.back();
    work.pop_back();
    for (const InputRef& in : body.inputs_of(n))
      if (in.node >= 0 && !(is_main(body) && scope_->cut(in))) add(static_cast<std::uint32_t>(in.node));
  }
}

// ---- what cannot be followed

void Analysis::check(Effects& e) {
  Body& body = *e.body;
  const std::vector<bool>& all = needed(body);
  Nodes writers;
  for (const std::uint32_t n : e.order) {
    if (!all[n]) continue;
    bool writes = body.ops[n]->kind == OpKind::write_variable;
    for_each_callee(e, n, [&](const Effects& callee, auto&& key_here) {
      for (const Key k : callee.wanted) {
        if (!callee.writes.contains(k) || key_here(k) == kNone) continue;
        writes = true;
        if (is_condition_of_loop(body, n, *callee.body))
          report(body, n, "changes a variable in the condition of a loop", "Change it in the loop's body.");
      }
    });
    if (writes) writers.push_back(n);
  }
  check_loops(e, writers);
  check_memory(e);
  if (writers.empty()) return;
  check_order(e);
  for (const std::uint32_t n : e.order)
    if (all[n]) body.order.push_back(n);
}

// Nodes inside of loops and conditionals of TensorFlow 1 run as often as the data says: their order is not
// that of the graph.
void Analysis::check_loops(Effects& e, const Nodes& writers) {
  Body& body = *e.body;
  if (e.inside.empty()) return;
  for (const std::uint32_t n : writers)
    if (e.is_inside(n))
      report(body, n,
             "changes a variable in a loop or a branch of TensorFlow 1, and " +
                 std::string(scope_->keep_changes ? "--stateful-io cannot return that"
                                                  : "the new value is read"),
             "Let the loop or the branch return the value, and assign it outside.");
  Keys changed;  // by what runs inside
  for (const std::uint32_t n : e.order)
    if (e.is_inside(n)) changed.merge(written_by(e, n));
  for (const std::uint32_t n : e.order) {
    if (!needed(body)[n] || !e.is_inside(n) || runs_functions(body.ops[n]->kind)) continue;
    for (const Access& a : e.accesses.of(n))
      if (!a.write && e.accesses.enters_loop(a.variable) && changed.contains(a.variable))
        report_stale(body, n, n, a.variable);
  }
}

void Analysis::check_order(Effects& e) {
  Body& body = *e.body;
  Keys exported;
  for (const std::uint32_t n : e.order)
    if (needed(body)[n]) exported.merge(written_by(e, n));
  std::unordered_map<Key, std::uint32_t> last;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pairs;
  std::vector<Key> keys;
  for (const std::uint32_t n : e.order)
    for (const Key k : written_by(e, n)) {
      if (!exported.contains(k)) continue;
      const auto [it, fresh] = last.try_emplace(k, n);
      if (!fresh) {
        pairs.emplace_back(it->second, n);
        keys.push_back(k);
      }
      it->second = n;
    }
  const std::vector<bool> ordered = are_ordered(body, e.order, pairs);
  const auto adds = [&](std::uint32_t n) { return is_sum(body.node(n).op); };
  for (std::size_t i = 0; i < pairs.size(); ++i)
    if (!ordered[i] && !(adds(pairs[i].first) && adds(pairs[i].second)) &&
        reported_.insert({&body, keys[i]}).second)
      report(body, pairs[i].second,
             "changes variable '" + names_.name(body, keys[i]) + "', and '" +
                 std::string(body.node(pairs[i].first).name) +
                 "' changes it too: the graph does not say which is first",
             "Put one after the other with a control dependency.");
}

// An Identity hands on the memory of a reference variable, not a copy: a reader that runs after a write may
// get the new elements. All writes count, also those that are not exported.
void Analysis::check_memory(Effects& e) {
  Body& body = *e.body;
  if (e.writes.empty()) return;
  std::unordered_map<Key, std::uint32_t> written_by;  // by now
  struct Held {
    Key variable;
    std::optional<std::uint32_t> writer;  // the last one when the memory was taken
  };
  const auto last = [&](Key k) {
    const auto it = written_by.find(k);
    return it == written_by.end() ? std::nullopt : std::optional(it->second);
  };
  std::unordered_map<std::uint32_t, Held> held;
  for (const std::uint32_t n : e.order) {
    const bool passes = passes_through(body.ops[n]->kind);
    for (const InputRef& in : body.inputs_of(n)) {
      const auto it = in.node < 0 ? held.end() : held.find(static_cast<std::uint32_t>(in.node));
      if (it == held.end()) continue;
      const Held memory = it->second;
      const auto now = last(memory.variable);
      if (now != memory.writer && needed(body)[n]) report_stale(body, n, *now, memory.variable);
      if (passes) held.emplace(n, memory);
    }
    if (runs_functions(body.ops[n]->kind)) continue;
    for (const Access& a : e.accesses.of(n)) {
      if (names_.is_handle(a.variable)) continue;
      if (passes) held.emplace(n, Held{a.variable, last(a.variable)});
      if (a.write) written_by[a.variable] = n;
    }
  }
}

void Analysis::report(const Body& body, std::uint32_t n, std::string message, std::string remedy) {
  out_->push_back({.code = Code::unsupported_op,
                   .message = std::move(message),
                   .remedy = std::move(remedy),
                   .origin = origin_of(body, n)});
}

void Analysis::report_stale(const Body& body, std::uint32_t reader, std::uint32_t writer, Key k) {
  if (!reported_.insert({&body, k}).second) return;
  const std::string by = reader == writer ? "it" : "'" + std::string(body.node(writer).name) + "'";
  report(body, reader, "reads variable '" + names_.name(body, k) + "' after " + by + " has changed it",
         "Return the new value from where it is assigned, instead of reading it from the variable" +
             std::string(scope_->keep_changes ? "." : ", or export the model for inference."));
}

void Analysis::find_lost_changes(Effects& e) {
  const Body& body = *e.body;
  for (std::uint32_t n = 0; n < body.size(); ++n) {
    if (!e.runs[n]) continue;
    for (const Key k : written_by(e, n))
      if (k >= kFirstGlobal && !reported_.contains({&body, k}) &&
          lost_names_.insert(names_.name(body, k)).second)
        lost_.push_back({names_.name(body, k), origin_of(body, n), !e.unkept.contains(k)});
  }
}

}  // namespace

std::vector<LostChange> follow_state(Bodies& bodies, const MainScope& scope, Diagnostics& out) {
  return Analysis(bodies, scope, out).run();
}

}  // namespace t2o::tf
