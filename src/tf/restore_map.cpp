#include "tf/restore_map.h"

#include <charconv>
#include <functional>
#include <unordered_set>
#include <vector>

namespace t2o::tf {
namespace {

using Index = std::unordered_map<std::string_view, const NodeDef*>;

struct TensorName {  // "node", "node:1", "^node"; "node:output:1" in a function
  std::string_view node;
  std::size_t index = 0;
};

TensorName split(std::string_view name) {
  if (name.starts_with('^')) name.remove_prefix(1);
  TensorName t{name.substr(0, name.find(':'))};
  if (const std::size_t colon = name.rfind(':'); colon != std::string_view::npos)
    std::from_chars(name.data() + colon + 1, name.data() + name.size(), t.index);
  return t;
}

Index index_of(const NodeList& list) {
  Index index;
  index.reserve(list.nodes.size());
  for (const NodeDef& n : list.nodes) index.emplace(n.name, &n);
  return index;
}

const NodeDef* find(const Index& index, std::string_view tensor) {
  const auto found = index.find(split(tensor).node);
  return found == index.end() ? nullptr : found->second;
}

// One body: the top level, or a restore function.
class RestoreReader {
 public:
  // `variable_of`: the node at top level that an Assign's target stands for; "" when there is none.
  RestoreReader(const Index& index, const Owner& owner,
                std::function<std::string_view(std::string_view)> variable_of, RestoreMap& out)
      : index_(index), owner_(owner), variable_of_(std::move(variable_of)), out_(out) {}

  void read(const NodeDef& n) {
    if ((n.op != "AssignVariableOp" && n.op != "Assign") || n.inputs.size() < 2) return;
    const NodeDef* restore = nullptr;
    std::size_t output = 0;
    std::string_view value = n.inputs[1];
    for (int hops = 0; hops < kMaxHops; ++hops) {
      restore = find(index_, value);
      output = split(value).index;
      if (restore == nullptr || restore->op != "Identity" || restore->inputs.empty()) break;
      value = restore->inputs[0];
    }
    if (restore == nullptr || restore->op != "RestoreV2" || restore->inputs.size() < 3) return;
    const std::string_view variable = variable_of_(n.inputs[0]);
    const Strings& keys = strings_of(restore->inputs[1]);
    if (variable.empty() || output >= keys.size()) return;
    const Strings& slices = strings_of(restore->inputs[2]);
    out_.emplace(variable, RestoredFrom{keys[output], output < slices.size() ? slices[output] : ""});
  }

 private:
  static constexpr int kMaxHops = 8;

  const Strings& strings_of(std::string_view tensor) {
    const NodeDef* n = find(index_, tensor);
    const Bytes* value = n != nullptr && n->op == "Const" ? n->attr("value") : nullptr;
    const auto [at, fresh] = constants_.try_emplace(n);
    if (fresh && value != nullptr) {
      const Attr attr = decode_attr(*value, {owner_});
      const auto* t = std::get_if<TensorPtr>(&attr);
      if (t != nullptr && *t != nullptr && (*t)->dtype() == DType::string) at->second = (*t)->strings();
    }
    return at->second;
  }

  const Index& index_;
  const Owner& owner_;
  std::function<std::string_view(std::string_view)> variable_of_;
  RestoreMap& out_;
  std::unordered_map<const NodeDef*, Strings> constants_;
};

void read_function(const GraphDef& g, const Index& top, const NodeDef& call, RestoreMap& out) {
  const Bytes* f = call.attr("f");
  if (f == nullptr) return;
  const Attr attr = decode_attr(*f, {g.owner});
  const auto* func = std::get_if<Func>(&attr);
  if (func == nullptr) return;
  for (const RawFunction& raw : g.functions) {
    if (raw.name != func->name) continue;
    const FunctionDef def = parse_function(raw.bytes, g.owner);
    std::unordered_map<std::string_view, std::string_view> variables;  // by argument
    for (std::size_t i = 0; i < def.signature.inputs.size() && i < call.inputs.size(); ++i)
      if (const NodeDef* n = find(top, call.inputs[i]))
        variables.emplace(def.signature.inputs[i].name, n->name);
    const Index index = index_of(def.body);
    RestoreReader reader(
        index, g.owner,
        [&](std::string_view target) {
          const auto found = variables.find(split(target).node);
          return found == variables.end() ? std::string_view{} : found->second;
        },
        out);
    for (const NodeDef& n : def.body.nodes) reader.read(n);
    return;
  }
}

void read_assignments(const GraphDef& g, const Index& top, const NodeDef& restore_op, RestoreMap& out) {
  RestoreReader reader(
      top, g.owner,
      [&](std::string_view target) {
        const NodeDef* n = find(top, target);
        return n == nullptr ? std::string_view{} : n->name;
      },
      out);
  std::vector<const NodeDef*> work{&restore_op};
  std::unordered_set<const NodeDef*> seen{&restore_op};
  while (!work.empty()) {
    const NodeDef& n = *work.back();
    work.pop_back();
    reader.read(n);
    for (const std::string_view input : n.inputs)
      if (const NodeDef* from = find(top, input); from != nullptr && seen.insert(from).second)
        work.push_back(from);
  }
}

}  // namespace

RestoreMap read_restore_map(const GraphDef& g, std::string_view restore_op) {
  RestoreMap out;
  const Index top = index_of(g.body);
  const NodeDef* op = find(top, restore_op);
  if (op == nullptr) return out;
  if (op->op == "StatefulPartitionedCall" || op->op == "PartitionedCall")
    read_function(g, top, *op, out);
  else
    read_assignments(g, top, *op, out);
  return out;
}

}  // namespace t2o::tf
