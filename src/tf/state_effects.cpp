#include <algorithm>
#include <iterator>
#include <optional>

#include "tf/state_analysis.h"
#include "tf/variable_writes.h"

namespace t2o::tf {
namespace {

using Nodes = std::vector<std::uint32_t>;

constexpr std::size_t kMostPasses = 100;

std::vector<std::string> functions_of(const Body& body, std::size_t n) {
  std::vector<std::string> names;
  if (body.ops[n]->function) names.push_back(body.ops[n]->function->name);
  const OpInfo& op = *body.ops[n];
  if (op.kind != OpKind::call && !is_functional(op.kind) && !op.holds_functions) return names;
  for (const RawAttr& a : body.node(n).attrs)
    for (std::string& name : function_names(a.value)) names.push_back(std::move(name));
  return names;
}

// Loops and conditionals of TensorFlow 1 are parts of one graph. A Switch or an Enter leads into one, a Merge
// or an Exit out of it.
std::vector<bool> find_inside(const Body& body, const std::vector<bool>& runs) {
  if (body.guarded.empty()) return {};
  const auto is_kind = [&](const InputRef& in, OpKind k) {
    return in.node >= 0 && nth(body.ops, in.node)->kind == k;
  };
  std::vector<int> depth(body.size());
  for (const std::uint32_t n : order_of(body, runs, std::vector<bool>(body.size()))) {
    for_each_source(body, n, [&](std::uint32_t source, const InputRef*) {
      depth[n] = std::max(depth[n], depth[source]);
    });
    const auto inputs = body.inputs_of(n);
    const auto any = [&](OpKind k) {
      return std::ranges::any_of(inputs, [&](const InputRef& in) { return is_kind(in, k); });
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

Origin origin_of(const Body& body, std::uint32_t n) {
  return {std::string(body.node(n).name), std::string(body.node(n).op), body.name};
}

}  // namespace

StateEffects StateAnalysis::run() {
  visit_all();
  for (const auto& e : all_) find_writes(*e);
  if (std::ranges::all_of(all_, [](const auto& e) { return e->writes.empty(); })) return {};
  for (const auto& e : all_) find_globals(*e);
  for (auto e = all_.rbegin(); e != all_.rend(); ++e) find_aliases(**e);
  for (const auto& e : all_) {
    find_writes(*e);  // with the aliases
    std::vector<bool> writers(e->body->size());
    for (const auto& [n, keys] : e->written) writers[n] = true;
    e->order = order_of(*e->body, e->runs, writers);
  }
  settle();
  for (const auto& e : all_) {
    check(*e);
    for (const Key k : e->writes)
      if (k >= kFirstGlobal && k != kUnknownHandle) found_.changed.insert(names_.identity(k));
    if (!scope_->keep_changes) find_lost_changes(*e);
  }
  return std::move(found_);
}

// The bodies that run, callees before callers, without recursion.
void StateAnalysis::visit_all() {
  std::vector<std::pair<Body*, bool>> work = {{&bodies_->main(), false}};
  std::unordered_map<const Body*, std::unique_ptr<Effects>> open;
  while (!work.empty()) {
    auto& [body, expanded] = work.back();
    Body& b = *body;
    if (expanded) {
      work.pop_back();
      of_[&b] = open.at(&b).get();
      resolve_callees(*open.at(&b));
      all_.push_back(std::move(open.at(&b)));
      continue;
    }
    expanded = true;
    const auto [it, fresh] = open.try_emplace(&b);
    if (!fresh) {
      work.pop_back();
      continue;
    }
    it->second = std::make_unique<Effects>(b, names_, [this, body = &b](std::uint32_t n, std::size_t output) {
      return result_of(*of_.at(body), n, output);
    });
    Effects& e = *it->second;
    e.runs = executed(b);
    for (std::size_t n = 0; n < b.size(); ++n) {
      if (!e.runs[n] || !(runs_functions(b.ops[n]->kind) || b.ops[n]->holds_functions)) continue;
      for (const std::string& name : functions_of(b, n))
        if (Body* callee = bodies_->function(name); callee && !open.contains(callee))
          work.push_back({callee, false});
    }
  }
}

// What TensorFlow would run for the fetches, or for the function's results and side effects.
std::vector<bool> StateAnalysis::executed(const Body& body) const {
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

void StateAnalysis::resolve_callees(Effects& e) {
  const Body& body = *e.body;
  for (std::uint32_t n = 0; n < body.size(); ++n) {
    if (!e.runs[n] || !(runs_functions(body.ops[n]->kind) || body.ops[n]->holds_functions)) continue;
    const Bytes* condition = body.ops[n]->kind == OpKind::while_ ? body.node(n).attr("cond") : nullptr;
    const std::vector<std::string> conditions =
        condition ? function_names(*condition) : std::vector<std::string>();
    for (const std::string& name : functions_of(body, n))
      if (const auto it = of_.find(bodies_->function(name)); it != of_.end() && it->second != &e)
        e.callees[n].push_back({it->second, contains(conditions, name)});
    if (!runs_functions(body.ops[n]->kind) || !e.callees.contains(n)) continue;
    const std::size_t results = e.callees.at(n).back().effects->body->results.size();
    for (std::size_t i = 0; i < results;
         ++i)  // asked for now: later the nesting of calls would be a recursion
      e.accesses.variable_behind(
          {.node = static_cast<std::int32_t>(n), .output = static_cast<std::int32_t>(i)});
  }
}

// The variable that a call, a loop or a branch returns the handle of.
Key StateAnalysis::result_of(Effects& e, std::uint32_t n, std::size_t output) {
  const auto callees = e.callees.find(n);
  if (callees == e.callees.end()) return kNone;
  std::optional<Key> all;
  for (const auto& [callee, is_condition] : callees->second) {
    const Body& body = *callee->body;
    if (is_condition) continue;
    if (output >= body.results.size() || body.signature->outputs[output].type != DType::resource)
      return kNone;
    const Key inner = callee->accesses.variable_behind(body.results[output]);
    const Key here = inner == kNone || inner == kUnknownHandle ? inner : key_here(e, n, inner);
    if (all && *all != here) return kUnknownHandle;
    all = here;
  }
  return all.value_or(kNone);
}

// The key that a callee's key is in the caller. A loop may exchange its handles from round to round.
Key StateAnalysis::key_here(Effects& e, std::uint32_t n, Key k) {
  if (k >= kFirstGlobal) return k;
  const OpKind kind = e.body->ops[n]->kind;
  if (kind == OpKind::while_)
    for (const auto& [callee, is_condition] : e.callees.at(n)) {
      const Body& body = *callee->body;
      if (is_condition || k >= body.results.size()) continue;
      if (callee->accesses.variable_behind(body.results[k]) != k)
        return body.signature->inputs[k].type == DType::resource ? kUnknownHandle : kNone;
    }
  const std::size_t at = k + (kind == OpKind::if_ || kind == OpKind::case_ ? 1 : 0);
  const auto inputs = e.body->inputs_of(n);
  return at < inputs.size() ? e.accesses.variable_behind(inputs[at]) : kNone;
}

std::vector<Access> StateAnalysis::accesses_of(Effects& e, std::uint32_t n) {
  std::vector<Access> all = e.accesses.of(n);
  for (std::size_t i = 0, own = all.size(); i < own && !e.aliases.empty(); ++i)
    if (const auto it = e.aliases.find(all[i].variable); it != e.aliases.end())
      for (const Key k : it->second) all.push_back({k, all[i].write});
  return all;
}

const Keys& StateAnalysis::written_by(const Effects& e, std::uint32_t n) const {
  static const Keys kNothing;
  const auto it = e.written.find(n);
  return it == e.written.end() ? kNothing : it->second;
}

void StateAnalysis::find_writes(Effects& e) {
  const Body& body = *e.body;
  if (e.inside.empty()) e.inside = find_inside(body, e.runs);
  const auto add = [&](std::uint32_t n, Key k, bool is_kept) {
    e.written[n].insert(k);
    e.writes.insert(k);
    if (!is_kept || e.is_inside(n)) e.unkept.insert(k);
  };
  for (std::uint32_t n = 0; n < body.size(); ++n)
    if (e.runs[n] && body.ops[n]->kind == OpKind::write_variable)
      for (const Access& a : accesses_of(e, n))
        if (a.write) add(n, a.variable, has_written_value(body.node(n).op));
  for (const auto& [n, callees] : e.callees)
    for (const auto& [callee, is_condition] : callees) {
      if (callee->writes.empty()) continue;
      if (body.ops[n]->holds_functions) {
        // Which of its arguments a variable goes into, and how often they run, is not known here.
        if (reported_.insert({&body, 2 * kFirstGlobal + n}).second)
          report(body, n, "changes a variable in a function of its own, which cannot be followed",
                 "Change the variable in a loop of TensorFlow, such as `for i in tf.range(n)`, or outside.");
        continue;
      }
      for (const Key k : callee->writes)
        if (const Key here = key_here(e, n, k); here != kNone) {
          add(n, here, !callee->unkept.contains(k) && !is_condition);
          if (const auto it = e.aliases.find(here); it != e.aliases.end())
            for (const Key other : it->second) add(n, other, true);
        }
    }
}

void StateAnalysis::find_globals(Effects& e) {
  for (std::uint32_t n = 0; n < e.body->size(); ++n)
    if (e.runs[n] && is_variable(e.body->ops[n]->kind)) e.globals.insert(names_.key_of(*e.body, n));
  for (const auto& [n, callees] : e.callees)
    for (const Effects::Callee& c : callees)
      e.globals.insert(c.effects->globals.begin(), c.effects->globals.end());
}

// A function that gets one variable for two arguments: what it does with one, it does with the other. So it
// is then taken for all of its calls.
void StateAnalysis::find_aliases(Effects& e) {
  const auto join = [](Effects& callee, Key a, Key b) {
    if (a == b) return;
    Keys all = {a, b};
    for (const Key k : {a, b}) all.insert(callee.aliases[k].begin(), callee.aliases[k].end());
    for (const Key k : all) {
      callee.aliases[k] = all;
      callee.aliases[k].erase(k);
    }
  };
  for (const auto& [n, callees] : e.callees)
    for (const auto& [callee, is_condition] : callees) {
      if (e.body->ops[n]->holds_functions) continue;
      std::unordered_map<Key, Key> first;
      for (const Key g : callee->globals) first.emplace(g, g);
      const auto& arguments = callee->body->signature->inputs;
      for (Key k = 0; k < arguments.size(); ++k) {
        if (arguments[k].type != DType::resource) continue;
        const Key here = key_here(e, n, k);
        if (here == kNone || here == kUnknownHandle) continue;
        join(*callee, first.emplace(here, k).first->second, k);
        if (const auto it = e.aliases.find(here); it != e.aliases.end())
          for (const Key other : it->second) join(*callee, first.emplace(other, k).first->second, k);
      }
    }
}

// What is needed of one body depends on what others read. The sets only grow.
void StateAnalysis::settle() {
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
bool StateAnalysis::trace(Effects& e) {
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

void StateAnalysis::trace_access(Effects& e, std::uint32_t n, Keys& live) {
  const std::vector<Access> accesses = accesses_of(e, n);
  if (accesses.empty()) return;
  Body& body = *e.body;
  for (const Access& a : accesses)
    if (a.write && live.contains(a.variable)) need(body, n);
  if (!needed(body)[n]) return;
  const bool takes_old = takes_old_value(body.node(n).op);
  for (const Access& a : accesses)
    if (a.write && !takes_old && !e.aliases.contains(a.variable)) live.erase(a.variable);
  for (const Access& a : accesses)
    if (!a.write || takes_old) live.insert(a.variable);
}

// A call may leave a variable as it is: what is wanted behind it is wanted before it.
bool StateAnalysis::trace_call(Effects& e, std::uint32_t n, Keys& live) {
  Body& body = *e.body;
  const auto callees = e.callees.find(n);
  if (callees == e.callees.end()) return false;
  const Keys& writes = written_by(e, n);
  Keys wanted;
  std::set_intersection(writes.begin(), writes.end(), live.begin(), live.end(),
                        std::inserter(wanted, wanted.begin()));
  if (!wanted.empty()) need(body, n);
  if (!needed(body)[n]) return false;
  Keys reads;
  for (const Effects::Callee& c : callees->second)
    for (const Key k : c.effects->read)
      if (const Key here = key_here(e, n, k); here != kNone) reads.insert(here);
  if (body.ops[n]->kind == OpKind::while_)  // the next round reads what this one writes
    std::set_intersection(writes.begin(), writes.end(), reads.begin(), reads.end(),
                          std::inserter(wanted, wanted.begin()));
  bool changed = false;
  for (const Effects::Callee& c : callees->second)
    for (const Key k : c.effects->writes)
      if (wanted.contains(key_here(e, n, k))) changed = c.effects->wanted.insert(k).second || changed;
  for (const Key k : reads) {
    live.insert(k);
    if (const auto it = e.aliases.find(k); it != e.aliases.end())
      live.insert(it->second.begin(), it->second.end());
  }
  return changed;
}

void StateAnalysis::need(Body& body, std::uint32_t node) {
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

void StateAnalysis::find_lost_changes(Effects& e) {
  const Body& body = *e.body;
  for (std::uint32_t n = 0; n < body.size(); ++n) {
    if (!e.runs[n]) continue;
    for (const Key k : written_by(e, n))
      if (k >= kFirstGlobal && k != kUnknownHandle && !reported_.contains({&body, k}) &&
          lost_names_.insert(names_.name(body, k)).second)
        found_.lost.push_back({names_.name(body, k), origin_of(body, n), !e.unkept.contains(k)});
  }
}

StateEffects follow_state(Bodies& bodies, const MainScope& scope, Diagnostics& out) {
  return StateAnalysis(bodies, scope, out).run();
}

}  // namespace t2o::tf
