#include <algorithm>
#include <optional>

#include "tf/state_analysis.h"

// What cannot be followed.
namespace t2o::tf {

void StateAnalysis::check(Effects& e) {
  Body& body = *e.body;
  const std::vector<bool>& all = needed(body);
  std::vector<std::uint32_t> writers;
  for (const std::uint32_t n : e.order) {
    if (!all[n]) continue;
    bool writes = body.ops[n]->kind == OpKind::write_variable;
    if (const auto callees = e.callees.find(n); callees != e.callees.end())
      for (const auto& [callee, is_condition] : callees->second)
        for (const Key k : callee->wanted) {
          if (!callee->writes.contains(k) || key_here(e, n, k) == kNone) continue;
          writes = true;
          if (is_condition)
            report(body, n, "changes a variable in the condition of a loop", "Change it in the loop's body.");
        }
    if (writes) writers.push_back(n);
  }
  check_handles(e);
  check_loops(e, writers);
  check_memory(e);
  if (writers.empty()) return;
  check_order(e);
  for (const std::uint32_t n : e.order)
    if (all[n]) body.order.push_back(n);
}

// A handle that stands for one variable in one round of a loop or branch, and for another one in the next.
void StateAnalysis::check_handles(Effects& e) {
  Body& body = *e.body;
  for (const std::uint32_t n : e.order) {
    const std::vector<Access> accesses = accesses_of(e, n);
    bool takes = std::ranges::any_of(accesses, [&](const Access& a) {
      return a.variable == kUnknownHandle && (a.write || needed(body)[n]);
    });
    if (const auto callees = e.callees.find(n); callees != e.callees.end())
      for (const Effects::Callee& callee : callees->second)
        for (const Keys* keys : {&callee.effects->read, &callee.effects->writes})
          for (const Key k : *keys)
            takes = takes || (k != kUnknownHandle && key_here(e, n, k) == kUnknownHandle);
    if (takes && reported_.insert({&body, kUnknownHandle}).second)
      report(body, n, "its data decides which variable a handle stands for, and the model changes variables",
             "Read the variables outside, and let it choose between their values.");
  }
}

// Nodes inside of loops and conditionals of TensorFlow 1 run as often as the data says: their order is not
// that of the graph.
void StateAnalysis::check_loops(Effects& e, const std::vector<std::uint32_t>& writers) {
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
    if (e.is_inside(n)) changed.insert(written_by(e, n).begin(), written_by(e, n).end());
  for (const std::uint32_t n : e.order) {
    if (!needed(body)[n] || !e.is_inside(n) || runs_functions(body.ops[n]->kind)) continue;
    for (const Access& a : accesses_of(e, n))
      if (!a.write && e.accesses.enters_loop(a.variable) && changed.contains(a.variable))
        report_stale(body, n, n, a.variable);
  }
}

void StateAnalysis::check_order(Effects& e) {
  Body& body = *e.body;
  Keys exported;
  for (const std::uint32_t n : e.order)
    if (needed(body)[n]) exported.insert(written_by(e, n).begin(), written_by(e, n).end());
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
void StateAnalysis::check_memory(Effects& e) {
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
  std::unordered_map<std::uint64_t, Held> held;  // by node and output
  const auto place = [](std::uint32_t n, std::size_t output) { return std::uint64_t{n} << 32 | output; };
  for (const std::uint32_t n : e.order) {
    const OpKind kind = body.ops[n]->kind;
    const auto inputs = body.inputs_of(n);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].node < 0) continue;
      const std::size_t output = kind == OpKind::pass_through_each ? i : 0;
      const auto it = held.find(
          place(static_cast<std::uint32_t>(inputs[i].node), static_cast<std::size_t>(inputs[i].output)));
      if (it != held.end()) {
        const Held memory = it->second;
        const auto now = last(memory.variable);
        if (now != memory.writer && needed(body)[n]) report_stale(body, n, *now, memory.variable);
        if (passes_through(kind)) held.emplace(place(n, output), memory);
      }
      const Key k = passes_through(kind) ? e.accesses.variable_behind(inputs[i]) : kNone;
      if (k != kNone && !names_.is_handle(k)) held.emplace(place(n, output), Held{k, last(k)});
    }
    if (runs_functions(kind)) continue;
    for (const Access& a : accesses_of(e, n))
      if (a.write && !names_.is_handle(a.variable)) written_by[a.variable] = n;
  }
}

void StateAnalysis::report(const Body& body, std::uint32_t n, std::string message, std::string remedy) {
  out_->push_back({.code = Code::unsupported_op,
                   .message = std::move(message),
                   .remedy = std::move(remedy),
                   .origin = {std::string(body.node(n).name), std::string(body.node(n).op), body.name}});
}

void StateAnalysis::report_stale(const Body& body, std::uint32_t reader, std::uint32_t writer, Key k) {
  if (!reported_.insert({&body, k}).second) return;
  const std::string by = reader == writer ? "it" : "'" + std::string(body.node(writer).name) + "'";
  report(body, reader, "reads variable '" + names_.name(body, k) + "' after " + by + " has changed it",
         "Return the new value from where it is assigned, instead of reading it from the variable" +
             std::string(scope_->keep_changes ? "." : ", or export the model for inference."));
}

}  // namespace t2o::tf
