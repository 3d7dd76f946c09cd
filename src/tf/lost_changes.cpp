#include "tf/lost_changes.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "ir/nesting.h"
#include "support/text.h"
#include "tf/frozen_seeds.h"

namespace t2o::tf {
namespace {

constexpr std::size_t kFew = 3, kMostSeeds = 12;

std::string some_of(const Strings& names) { return quoted_list(names, kFew); }

// What is left to do about draws of random numbers: hand their seeds on, or feed them.
std::string remedy_of(const std::vector<Draw>& draws, const ir::Graph& g, const ImportRequest& request,
                      bool can_be_kept) {
  Strings options;
  if (can_be_kept) options.emplace_back("--stateful-io hands the seed on from run to run");
  Strings seeds;
  std::unordered_set<std::string_view> seen;
  for (const Draw& d : draws)
    if (seen.insert(d.seed).second) seeds.push_back(d.seed);
  if (!seen.contains("") && seeds.size() <= kMostSeeds) {
    Strings names;
    for (const Value* v : g.inputs())
      if (!request.inputs_renamed) names.push_back(v->name());
    append(names, seeds);
    options.push_back("feed the seed as an input: --inputs " + joined(names, ","));
  }
  return joined(options, ", or ");
}

// Numbers that are drawn from a variable come again in each run of the model that has it as a constant.
void tell_draws(const ir::Graph& graph, const std::vector<Variable>& variables,
                std::vector<LostChange>& changes, const ImportRequest& request, bool may_keep,
                Diagnostics& diagnostics) {
  std::unordered_map<const Value*, std::string> constants;
  for (const Variable& v : variables)
    if (v.initial && v.initial->constant()) constants.emplace(v.initial, v.ref.node);
  const std::vector<Draw> draws = find_draws(graph, constants);
  std::unordered_map<std::string_view, const LostChange*> lost;
  for (const LostChange& c : changes) lost.emplace(c.variable, &c);
  for (const bool is_changed : {true, false}) {
    std::vector<Draw> told;
    Strings others, seeds;
    std::unordered_set<std::string_view> seen;
    bool can_be_kept = is_changed && may_keep;
    for (const Draw& d : draws) {
      const auto change = lost.find(d.variable);
      if ((change != lost.end()) != is_changed) continue;
      can_be_kept = can_be_kept && change->second->can_be_kept;
      if (!told.empty()) others.push_back(d.node->name());
      if (seen.insert(d.variable).second) seeds.push_back(d.variable);
      told.push_back(d);
    }
    if (told.empty()) continue;
    const std::string which =
        (seeds.size() == 1 ? "its seed is variable " : "the seeds are variables ") + some_of(seeds);
    diagnostics.push_back(
        {.severity = is_changed ? Severity::warning : Severity::note,
         .code = Code::unsupported_op,
         .message = "draws random numbers, which each run of the exported model repeats: " + which +
                    (is_changed ? ", whose change is not exported" : ", which is a constant there") +
                    (others.empty() ? "" : ". So do " + some_of(others)),
         .remedy = remedy_of(told, graph, request, can_be_kept),
         .origin = told.front().node->origin()});
  }
  std::unordered_set<std::string_view> drawn;
  for (const Draw& d : draws) drawn.insert(d.variable);
  std::erase_if(changes, [&](const LostChange& c) { return drawn.contains(c.variable); });
}

// A generator moves its state on when it draws. ONNX has no such generator: the model draws other numbers, in
// each run.
void tell_generators(const ir::Graph& graph, Diagnostics& diagnostics) {
  const ir::Node* first = nullptr;
  ir::for_each_node(graph, [&](const ir::Node& n) {
    const bool draws =
        n.op() == "RngReadAndSkip" || n.op() == "RngSkip" || n.op().starts_with("StatefulUniform");
    if (draws && !first) first = &n;
  });
  if (!first) return;
  diagnostics.push_back({.severity = Severity::warning,
                         .code = Code::unsupported_op,
                         .message =
                             "draws from a tf.random.Generator, whose state --stateful-io cannot return: the "
                             "model draws other numbers, in each run",
                         .remedy = "Draw with tf.random.stateless_* from a seed that is a variable.",
                         .origin = first->origin()});
}

}  // namespace

void tell_lost_changes(const ir::Graph& graph, const std::vector<Variable>& variables,
                       std::vector<LostChange> changes, const ImportRequest& request,
                       Diagnostics& diagnostics) {
  const bool may_keep = !request.cuts_inside();
  if (request.keep_state) tell_generators(graph, diagnostics);
  tell_draws(graph, variables, changes, request, may_keep, diagnostics);
  std::unordered_set<std::string_view> unread;  // only what is cut off has read them
  for (const Variable& v : variables)
    if (!may_keep && v.initial && !v.initial->is_used()) unread.insert(v.ref.node);
  std::erase_if(changes, [&](const LostChange& c) { return unread.contains(c.variable); });
  const auto warn = [&](const LostChange& c, std::string message, std::string remedy) {
    diagnostics.push_back({.severity = Severity::warning,
                           .code = Code::unsupported_op,
                           .message = std::move(message),
                           .remedy = std::move(remedy),
                           .origin = c.origin});
  };
  constexpr const char* kStateful = "--stateful-io makes such variables inputs and outputs.";
  if (changes.size() <= kFew) {
    for (const LostChange& c : changes)
      warn(c, "the change of variable '" + c.variable + "' is not exported",
           c.can_be_kept && may_keep ? kStateful : "");
    return;
  }
  Strings names;
  bool can_be_kept = may_keep;
  for (const LostChange& c : changes) {
    names.push_back(c.variable);
    can_be_kept = can_be_kept && c.can_be_kept;
  }
  warn(changes[0],
       "the changes of " + std::to_string(names.size()) + " variables are not exported: " + some_of(names),
       "Export the model for inference if it is trained as it stands" +
           (can_be_kept ? std::string("; ") + kStateful : std::string(".")));
}

}  // namespace t2o::tf
