#include "tf/frozen_scope.h"

#include <algorithm>
#include <charconv>

#include "diagnostics.h"
#include "tf/node_writer.h"
#include "tf/op_kinds.h"
#include "tf/variables.h"

namespace t2o::tf {
namespace {

constexpr int kMaxDepth = 500;  // of handles handed from node to node, and of calls that give them back

constexpr CallForm kCallForms[] = {
    {"PartitionedCall", 0, "Tin", "Tout"},
    {"StatefulPartitionedCall", 0, "Tin", "Tout"},
    {"If", 1, "Tin", "Tout"},
    {"StatelessIf", 1, "Tin", "Tout"},
    {"Case", 1, "Tin", "Tout"},
    {"StatelessCase", 1, "Tin", "Tout"},
    {"While", 0, "T", "T"},
    {"StatelessWhile", 0, "T", "T"},
};

bool hands_on(OpKind k) {
  return passes_through(k) ||
         contains({OpKind::switch_, OpKind::merge, OpKind::enter, OpKind::exit, OpKind::next_iteration}, k);
}

std::unordered_map<std::string_view, const NodeDef*> index_of(const NodeList& list) {
  std::unordered_map<std::string_view, const NodeDef*> index;
  index.reserve(list.nodes.size());
  for (const NodeDef& n : list.nodes) index.emplace(n.name, &n);
  return index;
}

std::size_t argument_number(const FunctionDef& f, std::string_view name) {
  const auto& args = f.signature.inputs;
  return static_cast<std::size_t>(
      std::ranges::find_if(args, [&](const ArgDef& a) { return a.name == name; }) - args.begin());
}

}  // namespace

TensorRef parse_ref(std::string_view tensor, bool in_function) {
  TensorRef r;
  if (tensor.starts_with('^')) return {tensor.substr(1), {}, 0, true};
  const std::size_t colon = tensor.find(':'), last = tensor.rfind(':');
  r.node = tensor.substr(0, colon);
  if (colon == std::string_view::npos) return r;
  if (in_function)
    r.output = tensor.substr(colon + 1, last > colon ? last - colon - 1 : std::string_view::npos);
  if (!in_function || last > colon)
    std::from_chars(tensor.data() + last + 1, tensor.data() + tensor.size(), r.index);
  return r;
}

std::vector<std::string_view> data_inputs(const NodeDef& n) {
  std::vector<std::string_view> inputs;
  for (const std::string_view i : n.inputs)
    if (!i.starts_with('^')) inputs.push_back(i);
  return inputs;
}

const CallForm* call_form(std::string_view op) {
  for (const CallForm& f : kCallForms)
    if (f.op == op) return &f;
  return nullptr;
}

Scopes::Scopes(const GraphDef& g, std::function<TensorPtr(const VariableRef&)> variable)
    : graph_(g), variable_(std::move(variable)) {
  for (const RawFunction& f : g.functions) library_.emplace(f.name, &f);
  main_.nodes = &g.body;
  main_.index = index_of(g.body);
}

TensorPtr Scopes::value(const NodeDef& variable) const {
  return variable_(variable_ref(variable, graph_.owner));
}

std::optional<Frozen> Scopes::handle(Scope& s, std::string_view tensor) {
  const TensorRef r = parse_ref(tensor, s.is_function());
  if (r.control) return std::nullopt;
  const auto node = s.index.find(r.node);
  if (node == s.index.end()) {
    const std::size_t i = argument_number(s.function, r.node);
    return i < s.args.size() ? s.args[i] : std::nullopt;
  }
  const auto [at, fresh] = s.known.try_emplace({node->second, r.index});
  if (!fresh) return at->second;  // none yet, where a loop leads back
  if (depth_ >= kMaxDepth) return std::nullopt;
  ++depth_;
  const std::optional<Frozen> found = find_handle(s, *node->second, r);
  --depth_;
  return s.known[{node->second, r.index}] = found;
}

std::optional<Frozen> Scopes::find_handle(Scope& s, const NodeDef& n, const TensorRef& r) {
  if (n.op == "VarHandleOp") {
    const TensorPtr v = value(n);
    return Frozen{v->dtype(), v->shape()};
  }
  const OpKind kind = op_kind(n.op);
  if (call_form(n.op) || is_function(n.op)) return result_of_call(s, n, r);
  if (!hands_on(kind)) return std::nullopt;
  const auto inputs = data_inputs(n);
  const std::size_t i = kind == OpKind::pass_through_each ? r.index : 0;
  return i < inputs.size() ? handle(s, inputs[i]) : std::nullopt;
}

std::optional<Frozen> Scopes::result_of_call(Scope& s, const NodeDef& n, const TensorRef& r) {
  const CallForm* form = call_form(n.op);
  if (form && form->input_types == "T") {  // a loop gives back what it got
    const auto inputs = data_inputs(n);
    return r.index < inputs.size() ? handle(s, inputs[r.index]) : std::nullopt;
  }
  const FrozenArgs args = arguments(s, n, form ? form->first_argument : 0);
  if (std::ranges::none_of(args, [](const auto& a) { return a.has_value(); })) return std::nullopt;
  Strings names = {std::string(n.op)};
  if (form) names.clear();
  for (const RawAttr& a : n.attrs)
    for (std::string& name : form ? function_names(a.value) : Strings()) names.push_back(std::move(name));
  if (names.empty() || !is_function(names.front())) return std::nullopt;
  Scope& callee = function(names.front(), args);
  const auto& results = callee.function.signature.outputs;
  std::size_t k = r.index;
  for (std::size_t i = 0; !form && i < results.size(); ++i)
    if (results[i].name == r.output) k = i;
  if (k >= results.size() || results[k].type != DType::resource) return std::nullopt;
  for (const auto& [name, tensor] : callee.function.ret)
    if (name == results[k].name) return handle(callee, tensor);
  return std::nullopt;
}

FrozenArgs Scopes::arguments(Scope& s, const NodeDef& n, std::size_t first_argument) {
  const auto inputs = data_inputs(n);
  FrozenArgs args;
  for (std::size_t i = first_argument; i < inputs.size(); ++i) args.push_back(handle(s, inputs[i]));
  return args;
}

Scope& Scopes::function(std::string_view name, const FrozenArgs& args) {
  std::string key(name);
  bool any = false;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!args[i]) continue;
    any = true;
    key += '\0' + std::to_string(i) + ' ' + type_value(args[i]->dtype) + shape_value(args[i]->shape);
  }
  const auto [at, fresh] = by_arguments_.try_emplace(key);
  if (!fresh) return *at->second;
  const auto raw = library_.find(name);
  if (raw == library_.end()) fail(Code::bad_model, "there is no function '" + std::string(name) + "'");
  Scope& s = functions_.emplace_back();
  at->second = &s;
  s.name = name;
  for (int i = 1; names_.contains(s.name) || (i > 1 && library_.contains(s.name)); ++i)
    s.name = std::string(name) + "_frozen_" + std::to_string(i);
  names_.insert(s.name);
  s.function = parse_function(raw->second->bytes, graph_.owner);
  s.nodes = &s.function.body;
  s.index = index_of(s.function.body);
  if (any) s.args = args;
  return s;
}

Scope* Scopes::next() { return next_ < functions_.size() ? &functions_[next_++] : nullptr; }

}  // namespace t2o::tf
