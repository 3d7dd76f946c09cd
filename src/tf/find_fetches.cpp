#include "tf/find_fetches.h"

#include <algorithm>

#include "support/nearest.h"

namespace t2o::tf {
namespace {

constexpr std::size_t kMaxComparisons = 200'000;

// Of a queue, an iterator, a dataset ...
bool is_handle(const ArgDef& a) {
  return a.type == DType::resource || a.type == DType::variant || (a.is_ref && a.type == DType::string);
}

bool is_summary(std::string_view op) {
  for (const std::string_view prefix :
       {"MergeSummary", "ScalarSummary", "HistogramSummary", "ImageSummary", "AudioSummary", "TensorSummary"})
    if (op.starts_with(prefix)) return true;
  return false;
}

// tf.gradients and every optimizer work below "gradients/", "gradients_1/" ...
bool is_gradient(std::string_view node) {
  constexpr std::string_view kScope = "gradients";
  for (std::size_t at = 0; (at = node.find(kScope, at)) != std::string_view::npos;) {
    const bool begins = at == 0 || node[at - 1] == '/';
    at += kScope.size();
    const std::size_t end = node.find_first_not_of("_0123456789", at);
    if (begins && end != std::string_view::npos && node[end] == '/') return true;
  }
  return false;
}

bool may_be_output(const Body& body, std::size_t i) {
  switch (body.ops[i]->kind) {
    case OpKind::ordinary:
    case OpKind::pass_through:
    case OpKind::pass_through_each:
    case OpKind::ensure_shape:
    case OpKind::read_variable:
    case OpKind::call:
    case OpKind::function:
    case OpKind::if_:
    case OpKind::case_:
    case OpKind::while_:
    case OpKind::computation:
    case OpKind::switch_:
    case OpKind::switch_n:
    case OpKind::merge:
    case OpKind::enter:
    case OpKind::exit:
    case OpKind::loop_cond:
    case OpKind::guarded:
      break;
    default:
      return false;
  }
  const std::string_view op = body.node(i).op;
  const OpDef* def = body.ops[i]->def;
  if (def && !def->outputs.empty() && is_handle(def->outputs[0])) return false;
  for (const std::string_view prefix :
       {"Save", "Restore", "MergeV2Checkpoints", "ShardedFile", "VarIsInitialized", "IsVariableInitialized",
        "LookupTableImport", "InitializeTable", "HashTable", "MutableHashTable", "ControlTrigger",
        "QueueSize", "QueueIsClosed", "IteratorToStringHandle"})
    if (op.starts_with(prefix)) return false;
  return !is_summary(op);
}

std::size_t output_count(const Body& body, std::size_t i) {
  const OpInfo& op = *body.ops[i];
  const NodeDef& n = body.node(i);
  if (n.op.starts_with("FusedBatchNorm")) return 1;  // the others are statistics
  const OpDef* def = op.function ? op.function->signature : op.def;
  if (!def) return 1;
  Attrs attrs;
  for (const ArgDef& arg : def->outputs)
    for (const std::string& key : {arg.number_attr, arg.type_list_attr})
      if (const Bytes* raw = n.attr(key))
        attrs.push_back({key, decode_attr(*raw, {}, key == arg.number_attr ? "int" : "list(type)")});
  std::size_t count = 0;
  for (const ArgDef& arg : def->outputs) count += tensor_count(arg, attrs);
  return count;
}

// The scopes of savers ("save/"): what ends there is for saving's sake.
std::vector<std::string> saver_scopes(const Body& body) {
  std::vector<std::string> scopes;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const NodeDef& n = body.node(i);
    const bool saves =
        contains({"SaveV2", "RestoreV2", "Save", "SaveSlices", "Restore", "RestoreSlice"}, n.op);
    if (!saves) continue;
    const std::size_t slash = n.name.find('/');
    std::string scope(n.name.substr(0, slash == std::string_view::npos ? 0 : slash + 1));
    if (!scope.empty() && !contains(scopes, scope)) scopes.push_back(std::move(scope));
  }
  return scopes;
}

bool tells_of_initialization(std::string_view op) {
  return op == "IsVariableInitialized" || op == "VarIsInitializedOp" || op.starts_with("IsBoostedTrees") ||
         op.starts_with("IsTensorForest");
}

// What is computed of nothing but constants and of whether variables are initialized, as
// report_uninitialized_variables() does.
std::vector<bool> reports_on_initialization(const Body& body) {
  std::vector<std::vector<std::uint32_t>> readers(body.size());
  std::vector<std::uint32_t> open(body.size()), work;
  for (std::uint32_t i = 0; i < body.size(); ++i) {
    if (tells_of_initialization(body.node(i).op)) work.push_back(i);
    for (const InputRef& in : body.inputs_of(i)) {
      const bool is_constant = in.node >= 0 && nth(body.ops, in.node)->kind == OpKind::constant;
      if (is_constant) continue;
      ++open[i];
      if (in.node >= 0) nth(readers, in.node).push_back(i);
    }
  }
  std::vector<bool> reports(body.size());
  while (!work.empty()) {
    const std::uint32_t n = work.back();
    work.pop_back();
    reports[n] = true;
    for (const std::uint32_t r : readers[n])
      if (--open[r] == 0) work.push_back(r);
  }
  return reports;
}

}  // namespace

bool is_for_training(const Body& body) {
  for (std::size_t i = 0; i < body.size(); ++i)
    for (const std::string_view prefix : {"Apply", "ResourceApply", "SparseApply", "ResourceSparseApply"})
      if (body.node(i).op.starts_with(prefix)) return true;
  return false;
}

// What nothing reads, but a variable's value only where there is nothing else: training leaves such behind.
// Gradients of a graph that is trained with them are no outputs, and do not keep what they read from being
// some; nor do summaries.
std::vector<Fetch> find_fetches(const Body& body) {
  const std::vector<std::string> savers = saver_scopes(body);
  const bool trains = is_for_training(body);
  std::vector<bool> is_read(body.size()), is_aside = reports_on_initialization(body);
  for (std::size_t i = 0; i < body.size(); ++i) {
    is_aside[i] = is_aside[i] || is_summary(body.node(i).op) || (trains && is_gradient(body.node(i).name));
    if (is_aside[i]) continue;
    for (const InputRef& in : body.inputs_of(i))
      if (in.node >= 0) nth(is_read, in.node) = true;
  }
  std::vector<Fetch> fetches, values;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const auto below = [&](const std::string& scope) { return body.node(i).name.starts_with(scope); };
    if (is_read[i] || is_aside[i] || !may_be_output(body, i) || std::ranges::any_of(savers, below)) continue;
    const std::size_t count = output_count(body, i);
    for (std::size_t k = 0; k < count; ++k)
      (body.ops[i]->kind == OpKind::read_variable ? values : fetches)
          .push_back({.tensor = std::string(body.node(i).name) + ":" + std::to_string(k)});
  }
  return fetches.empty() ? values : fetches;
}

std::string nearest_name(const Body& body, std::string_view wanted) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(body.size(), kMaxComparisons); ++i)
    names.emplace_back(body.node(i).name);
  return nearest(wanted, names);
}

}  // namespace t2o::tf
