#include "tf/op_kinds.h"

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "tf/op_defs.h"

namespace t2o::tf {
namespace {

constexpr std::pair<std::string_view, OpKind> kOps[] = {
    {"Const", OpKind::constant},
    {"Placeholder", OpKind::placeholder},
    {"PlaceholderV2", OpKind::placeholder},
    {"PlaceholderWithDefault", OpKind::placeholder_with_default},
    {"Identity", OpKind::pass_through},
    {"IdentityN", OpKind::pass_through_each},
    {"RefIdentity", OpKind::pass_through},
    {"StopGradient", OpKind::pass_through},
    {"PreventGradient", OpKind::pass_through},
    {"Snapshot", OpKind::pass_through},
    {"DeepCopy", OpKind::pass_through},
    {"CheckNumerics", OpKind::pass_through},
    {"CheckNumericsV2", OpKind::pass_through},
    {"Print", OpKind::pass_through},
    {"DebugIdentity", OpKind::pass_through},
    {"DebugIdentityV2", OpKind::pass_through},
    {"DebugIdentityV3", OpKind::pass_through},
    {"DebugGradientIdentity", OpKind::pass_through},
    {"DebugGradientRefIdentity", OpKind::pass_through},
    {"Copy", OpKind::pass_through},
    {"CopyHost", OpKind::pass_through},
    {"EnsureShape", OpKind::ensure_shape},
    {"NoOp", OpKind::no_data},
    {"Assert", OpKind::no_data},
    {"PrintV2", OpKind::no_data},
    {"VarHandleOp", OpKind::variable_handle},
    {"Variable", OpKind::variable_reference},
    {"VariableV2", OpKind::variable_reference},
    {"ReadVariableOp", OpKind::read_variable},
    {"PartitionedCall", OpKind::call},
    {"StatefulPartitionedCall", OpKind::call},
    {"BatchFunction", OpKind::call},  // of a server that puts requests together
    {"If", OpKind::if_},
    {"StatelessIf", OpKind::if_},
    {"Case", OpKind::case_},
    {"StatelessCase", OpKind::case_},
    {"While", OpKind::while_},
    {"StatelessWhile", OpKind::while_},
    {"XlaIf", OpKind::if_},
    {"XlaWhile", OpKind::while_},
    {"XlaReduce", OpKind::computation},
    {"XlaReduceWindow", OpKind::computation},
    {"XlaSelectAndScatter", OpKind::computation},
    {"XlaScatter", OpKind::computation},
    {"XlaVariadicReduce", OpKind::computation},
    {"XlaVariadicReduceV2", OpKind::computation},
    {"XlaVariadicSort", OpKind::computation},
    {"Switch", OpKind::switch_},
    {"RefSwitch", OpKind::switch_},
    {"_SwitchN", OpKind::switch_n},
    {"Merge", OpKind::merge},
    {"RefMerge", OpKind::merge},
    {"NextIteration", OpKind::next_iteration},
    {"RefNextIteration", OpKind::next_iteration},
    {"Enter", OpKind::enter},
    {"RefEnter", OpKind::enter},
    {"Exit", OpKind::exit},
    {"RefExit", OpKind::exit},
    {"LoopCond", OpKind::loop_cond},
    {kGuarded, OpKind::guarded},
    {"IteratorGetNext", OpKind::dequeue},
    {"IteratorGetNextSync", OpKind::dequeue},
    {"QueueDequeue", OpKind::dequeue},
    {"QueueDequeueV2", OpKind::dequeue},
    {"QueueDequeueMany", OpKind::dequeue},
    {"QueueDequeueManyV2", OpKind::dequeue},
    {"QueueDequeueUpTo", OpKind::dequeue},
    {"QueueDequeueUpToV2", OpKind::dequeue},
    {"Unstage", OpKind::dequeue},
    {"InfeedDequeue", OpKind::dequeue},
    {"InfeedDequeueTuple", OpKind::dequeue},
    {"RemoteCall", OpKind::refused},
    {"SymbolicGradient", OpKind::refused},
};

bool starts_with_any(std::string_view s, std::initializer_list<std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view p) { return s.starts_with(p); });
}

// Reference and resource variables alike: the first input is the variable, and the op changes it.
bool writes_variable(std::string_view op, const OpDef* def) {
  if (!def || def->inputs.empty()) return false;
  if (starts_with_any(op, {"ResourceScatter", "ResourceApply", "ResourceSparseApply",
                           "ResourceStridedSliceAssign", "ResourceCountUpTo"}))
    return true;
  if (op.starts_with("Assign") && op.ends_with("VariableOp")) return true;
  return def->inputs[0].is_ref && starts_with_any(op, {"Assign", "Scatter", "Apply", "SparseApply",
                                                       "StridedSliceAssign", "CountUpTo"});
}

}  // namespace

OpKind op_kind(std::string_view op) {
  static const std::unordered_map<std::string_view, OpKind> kKinds(std::begin(kOps), std::end(kOps));
  const auto it = kKinds.find(op);
  return it == kKinds.end() ? OpKind::ordinary : it->second;
}

OpKind op_kind(std::string_view op, const OpDef* def) {
  if (tfgraph::is_internal(op)) return OpKind::refused;
  const OpKind k = op_kind(op);
  return k == OpKind::ordinary && writes_variable(op, def) ? OpKind::write_variable : k;
}

std::optional<std::size_t> handed_on_input(OpKind k, std::size_t output) {
  switch (k) {
    case OpKind::pass_through_each:
      return output;
    case OpKind::pass_through:
    case OpKind::switch_:
    case OpKind::switch_n:
    case OpKind::enter:
      return 0;
    default:
      return {};
  }
}

}  // namespace t2o::tf
