#include "tf/state_effects.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <set>

#include "tf/variable_changes.h"

namespace t2o::tf {
namespace {

struct Summary {                        // of a function: what it does to its arguments
  std::set<Key> reads, writes, unkept;  // of the writes those that cannot be handed on
};

// TF1's changes give the variable itself back: who takes that reads what the variable holds by then.
bool gives_back_variable(const OpInfo& op) {
  return op.kind == OpKind::write_variable && op.def && !op.def->outputs.empty() && op.def->outputs[0].is_ref;
}

std::vector<std::string> callees(const Body& body, std::size_t n) {
  std::vector<std::string> names;
  if (body.ops[n]->function) names.push_back(body.ops[n]->function->name);
  if (body.ops[n]->kind != OpKind::call && !is_functional(body.ops[n]->kind)) return names;
  for (const RawAttr& a : body.node(n).attrs)
    for (std::string& name : function_names(a.value)) names.push_back(std::move(name));
  return names;
}

class Analysis {
 public:
  Analysis(Bodies& bodies, const MainScope& scope, Diagnostics& out)
      : bodies_(&bodies), scope_(&scope), out_(&out) {}
  std::vector<LostChange> run();

 private:
  bool is_main(const Body& b) const { return b.signature == nullptr; }
  std::vector<bool> executed(const Body&) const;
  void analyse(Body&);
  void keep_changes(Body&, const std::vector<bool>& runs);
  void add_accesses(const Body&, std::uint32_t node);
  void add_call(const Body&, std::uint32_t node);
  Key variable_behind(const Body&, InputRef);
  std::vector<bool>& needed(Body& b) const { return is_main(b) ? *scope_->needed : b.needed; }
  void need(Body&, std::vector<std::uint32_t> nodes) const;
  void find_stale_reads(Body&, const std::vector<bool>& runs, std::vector<Key> shared);
  Changes follow_changes(Body&, const Walk&, const std::vector<Key>& shared);
  void follow(Body&, const Changes&, const Access&);
  void find_changed_memory(Body&, const Walk&, const Changes&);
  void report_stale(const Body&, std::uint32_t reader, Key);
  void find_lost_changes(const Body&);
  std::string variable_name(const Body&, Key) const;

  Bodies* bodies_;
  const MainScope* scope_;
  Diagnostics* out_;
  std::unordered_map<const Body*, Summary> summaries_;
  std::set<const Body*> changing_;  // bodies that keep changes
  std::vector<Access> accesses_;    // of the body at hand, in the order of its nodes
  std::set<Key> stale_;
  std::set<Key> unkept_;   // variables of which a change cannot be handed on
  std::set<Key> entered_;  // variables that go into a loop's rounds
  std::vector<LostChange> lost_;
  std::vector<Key> behind_;  // of the body's pass-through nodes: what variable_behind() found
};

std::size_t argument_count(const Body& b) { return b.signature ? b.signature->inputs.size() : 0; }

bool is_handle(const Body& body, Key k) {
  const std::size_t args = argument_count(body);
  return k < args || (k != kNone && body.ops[k - args]->kind == OpKind::variable_handle);
}

template <class F>
void for_each_source(const Body& body, std::size_t n, F&& f) {  // data and control
  for (const InputRef& in : body.inputs_of(n))
    if (in.node >= 0 && !is_back_edge(body, n, in)) f(static_cast<std::uint32_t>(in.node), &in);
  for (const std::string_view ref : body.node(n).inputs) {
    if (!ref.starts_with('^')) continue;
    if (const auto it = body.index.find(ref.substr(1))) f(*it, static_cast<const InputRef*>(nullptr));
  }
}

// Callees before callers, without recursion.
std::vector<LostChange> Analysis::run() {
  std::vector<std::pair<Body*, bool>> work = {{&bodies_->main(), false}};
  std::set<const Body*> seen;
  while (!work.empty()) {
    auto& [body, expanded] = work.back();
    if (expanded) {
      Body& ready = *body;
      work.pop_back();
      analyse(ready);
      continue;
    }
    expanded = true;
    const Body& b = *body;
    if (!seen.insert(&b).second) {
      work.pop_back();
      continue;
    }
    const std::vector<bool> runs = executed(b);
    for (std::size_t n = 0; n < b.size(); ++n) {
      if (!runs[n] || !runs_functions(b.ops[n]->kind)) continue;
      for (const std::string& name : callees(b, n))
        if (Body* callee = bodies_->function(name); callee && !seen.contains(callee))
          work.push_back({callee, false});
    }
  }
  return std::move(lost_);
}

// What TensorFlow would run for the fetches, or for the function's results and side effects.
std::vector<bool> Analysis::executed(const Body& body) const {
  std::vector<std::uint32_t> work;
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
    for_each_source(body, n, [&](std::uint32_t source, const InputRef* data) {
      if (seen[source] || (data && is_main(body) && scope_->cut(*data))) return;
      seen[source] = true;
      work.push_back(source);
    });
  }
  return seen;
}

void Analysis::analyse(Body& body) {
  const std::vector<bool> runs = executed(body);
  if (scope_->keep_changes) keep_changes(body, runs);
  accesses_.clear();
  behind_.assign(body.size(), kUnasked);
  stale_.clear();
  unkept_.clear();
  entered_.clear();
  for (std::uint32_t n = 0; n < body.size(); ++n)
    if (runs[n]) add_accesses(body, n);
  std::set<Key> reads, writes;
  for (const Access& a : accesses_) (a.write ? writes : reads).insert(a.variable);
  std::vector<Key> shared;
  std::set_intersection(reads.begin(), reads.end(), writes.begin(), writes.end(), std::back_inserter(shared));
  if (!shared.empty()) find_stale_reads(body, runs, shared);
  for (const Access& a : accesses_)  // the next round reads what this one has changed
    if (!a.write && needed(body)[a.node] && entered_.contains(a.variable) && writes.contains(a.variable))
      report_stale(body, a.node, a.variable);
  std::unordered_map<Key, std::uint32_t> changed_by;
  for (const Access& a : accesses_)  // changed twice: only followed where it is read
    if (a.write && !reads.contains(a.variable) &&
        changed_by.emplace(a.variable, a.node).first->second != a.node)
      unkept_.insert(a.variable);
  if (!writes.empty() && !scope_->keep_changes) find_lost_changes(body);
  Summary& s = summaries_[&body];
  for (const Key k : reads)
    if (k < argument_count(body)) s.reads.insert(k);
  for (const Key k : writes)
    if (k < argument_count(body)) s.writes.insert(k);
  for (const Key k : unkept_)
    if (k < argument_count(body)) s.unkept.insert(k);
}

void Analysis::keep_changes(Body& body, const std::vector<bool>& runs) {
  std::vector<std::uint32_t> changes;
  for (std::uint32_t n = 0; n < body.size(); ++n) {
    const OpKind kind = body.ops[n]->kind;
    if (!runs[n] || (kind != OpKind::write_variable && !runs_functions(kind))) continue;
    const std::vector<std::string> called = callees(body, n);
    const bool in_callee = std::any_of(called.begin(), called.end(), [&](const std::string& name) {
      return changing_.contains(bodies_->function(name));
    });
    if (kind != OpKind::write_variable && !in_callee) continue;
    changes.push_back(n);
    if (is_functional(kind) || !body.guarded.empty())
      out_->push_back(
          {.code = Code::unsupported_op,
           .message = "changes a variable in a loop or a branch, and --stateful-io cannot return that",
           .remedy = "Let the loop or the branch return the value, and assign it outside.",
           .origin = {std::string(body.node(n).name), std::string(body.node(n).op), body.name}});
  }
  if (changes.empty()) return;
  changing_.insert(&body);
  need(body, std::move(changes));
}

void Analysis::need(Body& body, std::vector<std::uint32_t> nodes) const {
  std::vector<bool>& all = needed(body);
  const std::vector<bool> more =
      reachable(body, std::move(nodes), [&](const InputRef& in) { return is_main(body) && scope_->cut(in); });
  for (std::size_t i = 0; i < more.size(); ++i) all[i] = all[i] || more[i];
}

void Analysis::add_accesses(const Body& body, std::uint32_t n) {
  const OpKind kind = body.ops[n]->kind;
  if (runs_functions(kind)) return add_call(body, n);
  const auto inputs = body.inputs_of(n);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Key k = variable_behind(body, inputs[i]);
    if (k == kNone) continue;
    if (handed_on_input(kind, 0) && is_handle(body, k)) continue;
    Access a{n, k, kind == OpKind::write_variable && i == 0, {}};
    if (inputs[i].node >= 0 && gives_back_variable(*body.ops[static_cast<std::size_t>(inputs[i].node)]))
      a.through = static_cast<std::uint32_t>(inputs[i].node);
    if (a.write && (!can_be_handed_on(body.node(n).op) || !body.guarded.empty())) unkept_.insert(k);
    accesses_.push_back(a);
  }
}

void Analysis::add_call(const Body& body, std::uint32_t n) {
  const auto inputs = body.inputs_of(n);
  const OpKind kind = body.ops[n]->kind;
  const std::size_t skip = kind == OpKind::if_ || kind == OpKind::case_ ? 1 : 0;
  std::set<Key> reads, writes;
  for (const std::string& name : callees(body, n)) {
    const auto it = summaries_.find(bodies_->function(name));
    if (it == summaries_.end()) continue;
    const auto map = [&](const std::set<Key>& arguments, std::set<Key>& to) {
      for (const Key a : arguments)
        if (a + skip < inputs.size())
          if (const Key k = variable_behind(body, inputs[a + skip]); k != kNone) to.insert(k);
    };
    map(it->second.reads, reads);
    map(it->second.writes, writes);
    map(is_functional(kind) ? it->second.writes : it->second.unkept, unkept_);
  }
  for (const Key k : reads) {
    accesses_.push_back({n, k, false, {}});
    if (kind == OpKind::while_ && writes.contains(k)) report_stale(body, n, k);  // in the second round
  }
  for (const Key k : writes) accesses_.push_back({n, k, true, {}});
}

Key Analysis::variable_behind(const Body& body, InputRef in) {
  std::vector<std::size_t> passed;
  std::size_t values = 0;  // so many of them hand on what a reference variable held there
  bool entered = false;
  const auto found =
      [&](Key k) {  // remembered, or a chain of a million would be walked from each of its nodes
        for (std::size_t i = 0; i < passed.size(); ++i) behind_[passed[i]] = i < values ? kNone : k;
        if (entered && k != kNone) entered_.insert(k);
        return values > 0 ? kNone : k;
      };
  const auto not_a_value = [&](Key k) {
    values = 0;
    return found(k);
  };
  for (std::size_t steps = 0; steps <= body.size(); ++steps) {
    if (in.argument >= 0) return not_a_value(static_cast<Key>(in.argument));
    if (in.node < 0) return not_a_value(kNone);
    const auto n = static_cast<std::size_t>(in.node);
    const OpKind kind = body.ops[n]->kind;
    if (kind == OpKind::variable_handle) return not_a_value(argument_count(body) + n);
    if (kind == OpKind::variable_reference) return found(argument_count(body) + n);
    if (behind_[n] != kUnasked)
      return is_handle(body, behind_[n]) ? not_a_value(behind_[n]) : found(behind_[n]);
    const auto inputs = body.inputs_of(n);
    const bool changes = gives_back_variable(*body.ops[n]);
    const auto k = changes ? 0 : handed_on_input(kind, static_cast<std::size_t>(in.output));
    if (!k || *k >= inputs.size()) return not_a_value(kNone);
    entered = entered || kind == OpKind::enter;
    if (kind != OpKind::pass_through_each) passed.push_back(n);  // one answer for all outputs
    if (!changes && !body.node(n).op.starts_with("Ref")) values = passed.size();
    in = inputs[*k];
  }
  return not_a_value(kNone);
}

Walk walk_of(const Body& body, const std::vector<bool>& runs) {
  Walk w;
  w.first.resize(body.size() + 1);
  std::vector<std::uint32_t> missing(body.size());
  for (std::uint32_t n = 0; n < body.size(); ++n)
    if (runs[n])
      for_each_source(body, n, [&](std::uint32_t s, const InputRef*) {
        missing[n] += runs[s];
        w.first[s + 1] += runs[s];
      });
  for (std::size_t n = 0; n < body.size(); ++n) w.first[n + 1] += w.first[n];
  w.readers.resize(w.first.back());
  std::vector<std::uint32_t> fill(w.first.begin(), w.first.end() - 1);
  for (std::uint32_t n = 0; n < body.size(); ++n)
    if (runs[n])
      for_each_source(body, n, [&](std::uint32_t s, const InputRef*) {
        if (runs[s]) w.readers[fill[s]++] = n;
      });
  for (std::uint32_t n = 0; n < body.size(); ++n)
    if (runs[n] && missing[n] == 0) w.order.push_back(n);
  for (std::size_t i = 0; i < w.order.size(); ++i)
    w.for_readers(w.order[i], [&](std::uint32_t r) {
      if (--missing[r] == 0) w.order.push_back(r);
    });
  return w;
}

// Walks the nodes in execution order with a bit for each of up to 64 variables: "has been changed by now".
void Analysis::find_stale_reads(Body& body, const std::vector<bool>& runs, std::vector<Key> shared) {
  const Walk walk = walk_of(body, runs);
  const Changes followed = follow_changes(body, walk, shared);
  std::erase_if(shared, [&](Key k) { return followed.follows(k); });
  for (std::size_t from = 0; from < shared.size(); from += 64) {
    std::vector<std::uint64_t> before(body.size()), reads(body.size()), writes(body.size());
    for (const Access& a : accesses_) {
      const auto at = std::lower_bound(shared.begin(), shared.end(), a.variable);
      const auto bit = static_cast<std::size_t>(at - shared.begin()) - from;
      if (at != shared.end() && *at == a.variable && bit < 64)
        (a.write ? writes : reads)[a.node] |= std::uint64_t{1} << bit;
    }
    for (const std::uint32_t n : walk.order) {
      const std::uint64_t stale = needed(body)[n] ? before[n] & reads[n] : 0;
      for (std::size_t bit = 0; bit < 64; ++bit)
        if ((stale >> bit & 1) != 0) report_stale(body, n, shared[from + bit]);
      walk.for_readers(n, [&](std::uint32_t r) { before[r] |= before[n] | writes[n]; });
    }
  }
}

// Where a body itself makes all changes of a variable, outside of loops and branches, a plain read is what
// the last change before it leaves, and a change goes on from the one before it. Reads of those variables
// are dealt with here; others than plain ones, of which a node may make several, are not followed.
Changes Analysis::follow_changes(Body& body, const Walk& walk, const std::vector<Key>& shared) {
  Changes changes;
  changes.select(body, accesses_, shared, entered_);
  if (changes.none()) return changes;
  changes.spread(body, walk);
  for (std::size_t i = walk.order.size(); i-- > 0;) {  // what one needs comes before it
    const std::uint32_t n = walk.order[i];
    if (!needed(body)[n]) continue;
    auto a = std::lower_bound(accesses_.begin(), accesses_.end(), n,
                              [](const Access& x, std::uint32_t node) { return x.node < node; });
    for (auto last = accesses_.end(); a != accesses_.end() && a->node == n; last = a++)
      if (changes.follows(a->variable) && (last == accesses_.end() || *last != *a)) follow(body, changes, *a);
  }
  find_changed_memory(body, walk, changes);
  return changes;
}

// An Identity hands on the memory of a reference variable, not a copy: who takes it after a change in place
// sees that one.
void Analysis::find_changed_memory(Body& body, const Walk& walk, const Changes& changes) {
  std::unordered_map<std::uint32_t, std::pair<Key, Changes::Set>>
      held;  // and the changes before it was taken
  for (const Access& a : accesses_)
    if (passes_through(body.ops[a.node]->kind) && changes.follows(a.variable) && !is_handle(body, a.variable))
      held.insert({a.node, {a.variable, changes.made_before(a.node, a.variable)}});
  if (held.empty()) return;
  for (const std::uint32_t n : walk.order)
    for (const InputRef& in : body.inputs_of(n)) {
      const auto it = in.node < 0 ? held.end() : held.find(static_cast<std::uint32_t>(in.node));
      if (it == held.end()) continue;
      const auto [variable, made] = it->second;
      if (needed(body)[n] && (changes.made_before(n, variable) & ~made & changes.in_place()).any())
        report_stale(body, n, variable);
      if (passes_through(body.ops[n]->kind)) held.insert({n, {variable, made}});
    }
}

void Analysis::follow(Body& body, const Changes& changes, const Access& a) {
  const Changes::Set made = changes.made_before(a.node, a.variable);
  if (made.none()) return;
  if (a.write && !scope_->keep_changes && !takes_old_value(body.node(a.node).op)) return;
  const std::optional<std::uint32_t> last = changes.last_of(made);
  if (last && !a.write && a.through == last) return;  // the change's output is what it leaves
  if (!last || (!a.write && body.ops[a.node]->kind != OpKind::read_variable))
    return report_stale(body, a.node, a.variable);
  body.read_after[a.node] = *last;
  body.followed.insert(*last);
  need(body, {*last});
}

void Analysis::report_stale(const Body& body, std::uint32_t reader, Key k) {
  if (!stale_.insert(k).second) return;
  const auto writer = std::find_if(accesses_.begin(), accesses_.end(),
                                   [&](const Access& a) { return a.write && a.variable == k; });
  const std::string by =
      writer == accesses_.end() ? "it" : "'" + std::string(body.node(writer->node).name) + "'";
  out_->push_back(
      {.code = Code::unsupported_op,
       .message = "reads variable '" + variable_name(body, k) + "' after " + by + " has changed it",
       .remedy = "Return the new value from where it is assigned, instead of reading it from the variable" +
                 std::string(scope_->keep_changes ? "." : ", or export the model for inference."),
       .origin = {std::string(body.node(reader).name), std::string(body.node(reader).op), body.name}});
}

void Analysis::find_lost_changes(const Body& body) {
  std::set<Key> told = stale_;
  for (const Access& a : accesses_)
    if (a.write && a.variable >= argument_count(body) && told.insert(a.variable).second)
      lost_.push_back({variable_name(body, a.variable),
                       {std::string(body.node(a.node).name), std::string(body.node(a.node).op), body.name},
                       !unkept_.contains(a.variable)});
}

std::string Analysis::variable_name(const Body& body, Key k) const {
  const std::size_t args = argument_count(body);
  return k < args ? body.signature->inputs[k].name : std::string(body.node(k - args).name);
}

}  // namespace

std::vector<LostChange> check_state_effects(Bodies& bodies, const MainScope& scope, Diagnostics& out) {
  return Analysis(bodies, scope, out).run();
}

}  // namespace t2o::tf
