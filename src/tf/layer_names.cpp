#include "tf/layer_names.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "tf/op_kinds.h"

namespace t2o::tf {
namespace {

// "dense" in "model/dense/MatMul" and in "model/dense_1/MatMul": a layer that is called again has a new
// scope.
bool is_below(std::string_view node, std::string_view layer) {
  for (std::size_t at = 0; (at = node.find(layer, at)) != std::string_view::npos; ++at) {
    if (at != 0 && node[at - 1] != '/') continue;
    std::size_t end = at + layer.size();
    if (end < node.size() && node[end] == '_')
      end = std::min(node.find_first_not_of("0123456789", end + 1), node.size());
    if (end < node.size() && node[end] == '/') return true;
  }
  return false;
}

// Gradients repeat the names of layers behind a scope of their own.
std::string last_below(const NodeList& list, std::string_view layer) {
  std::string inside;
  for (auto n = list.nodes.rbegin(); n != list.nodes.rend(); ++n) {
    if (is_state(n->op) || !is_below(n->name, layer)) continue;
    if (n->name.starts_with(layer)) return std::string(n->name);
    if (inside.empty() && n->name.find("gradients") == std::string_view::npos) inside = n->name;
  }
  return inside;
}

}  // namespace

bool is_state(std::string_view op) {
  switch (op_kind(op)) {
    case OpKind::constant:
    case OpKind::no_data:
    case OpKind::variable_handle:
    case OpKind::variable_reference:
    case OpKind::read_variable:
      return true;
    default:
      return op.starts_with("Assign") || op == "VarIsInitializedOp" || op == "IsVariableInitialized";
  }
}

std::string last_node_of_layer(const GraphDef& g, std::string_view layer, const Strings& tensors) {
  if (std::string found = last_below(g.body, layer); !found.empty()) return found;
  std::unordered_map<std::string_view, const RawFunction*> library;
  for (const RawFunction& f : g.functions) library.emplace(f.name, &f);
  std::unordered_set<std::string> seen;
  Strings work;
  const auto call = [&](const NodeDef& n) {
    Strings names = {std::string(n.op)};
    for (const RawAttr& a : n.attrs)
      for (std::string& name : function_names(a.value)) names.push_back(std::move(name));
    for (std::string& name : names)
      if (library.contains(name) && seen.insert(name).second) work.push_back(std::move(name));
  };
  for (const NodeDef& n : g.body.nodes)
    if (std::ranges::any_of(tensors, [&](std::string_view t) { return t.substr(0, t.find(':')) == n.name; }))
      call(n);
  while (!work.empty()) {
    const FunctionDef f = parse_function(library.at(work.back())->bytes, g.owner);
    work.pop_back();
    if (std::string found = last_below(f.body, layer); !found.empty()) return found;
    for (const NodeDef& n : f.body.nodes) call(n);
  }
  return "";
}

}  // namespace t2o::tf
