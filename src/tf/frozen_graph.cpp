#include "tf/frozen_graph.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "support/wire.h"
#include "support/wire_writer.h"
#include "tf/frozen_scope.h"
#include "tf/node_writer.h"
#include "tf/op_kinds.h"

namespace t2o::tf {
namespace {

using Extra = std::vector<std::pair<std::string_view, std::string>>;  // attributes that are set

struct Form {  // what a node is written as
  std::string op;
  std::vector<std::string> inputs;
  Extra attrs;
  std::vector<std::string_view> dropped;  // attributes
};

// "resource", "value" and "is_initialized" are outputs of ops that become Const or Identity, whose output has
// this name.
constexpr std::string_view kOutput = "output";

bool is_variable_op(std::string_view op) {
  const OpKind kind = op_kind(op);
  return kind == OpKind::variable_handle || kind == OpKind::variable_reference;
}

Pieces const_node(const std::string& name, const TensorPtr& t, const std::vector<std::string_view>& control) {
  NodeWriter node(name, "Const");
  for (const std::string_view c : control) node.input(c);
  node.attr("dtype", type_value(t->dtype()));
  std::string proto;
  append_number(proto, 1, dtype_number(t->dtype()));
  append_field(proto, 2, shape_proto(t->shape()));
  const bool is_string = t->dtype() == DType::string;
  if (is_string)
    for (const std::string& s : t->strings()) append_field(proto, 8, s);
  else if (bit_width(t->dtype()) < 8)
    fail(Code::unsupported_type,
         "a constant of " + std::string(t2o::name(t->dtype())) + " cannot be written to a GraphDef");
  Pieces content;
  content.add(proto);
  if (!is_string) {
    Pieces weights;
    weights.weights(t);
    content.field(4, std::move(weights));
  }
  Pieces value, entry, out;
  value.field(8, std::move(content));
  std::string key;
  append_field(key, 1, "value");
  entry.add(key);
  entry.field(2, std::move(value));
  out.add(node.text());
  out.field(5, std::move(entry));
  return out;
}

class Freezer {
 public:
  Freezer(const GraphDef& g, const std::vector<FrozenInput>& inputs,
          const std::function<TensorPtr(const VariableRef&)>& variable, Diagnostics& diagnostics)
      : graph_(g), inputs_(inputs), scopes_(g, variable), diagnostics_(diagnostics) {}

  Pieces run(const Strings& outputs) {
    mark(outputs);
    Pieces out;
    for (const NodeDef& n : graph_.body.nodes) {
      if (const auto input = placeholders_.find(n.name); input != placeholders_.end())
        add_placeholder(out, *input->second);
      else if (needed_.contains(n.name))
        add(out, 1, scopes_.main(), n);
    }
    Pieces library;
    while (Scope* f = scopes_.next()) add_function(library, *f);
    if (library.size() != 0) out.field(2, std::move(library));
    std::string versions, field;
    append_number(versions, 1, static_cast<std::uint64_t>(graph_.producer));
    append_number(versions, 2, static_cast<std::uint64_t>(graph_.min_consumer));
    append_field(field, 4, versions);
    out.add(field);
    return out;
  }

 private:
  static std::string whole(std::string_view tensor) {
    return std::string(tensor) + (tensor.find(':') == std::string_view::npos ? ":0" : "");
  }

  // What the outputs need, as far as the inputs; an input is a placeholder where nothing else needs its node.
  void mark(const Strings& outputs) {
    std::unordered_set<std::string> fed;
    for (const FrozenInput& i : inputs_) fed.insert(whole(i.tensor));
    std::vector<std::string_view> work;
    const auto visit = [&](std::string_view tensor) {
      const TensorRef r = parse_ref(tensor, false);
      if (!r.control && fed.contains(whole(tensor))) return;
      if (scopes_.main().index.contains(r.node) && needed_.insert(r.node).second) work.push_back(r.node);
    };
    const auto finish = [&] {
      while (!work.empty()) {
        const NodeDef& n = *scopes_.main().index.at(work.back());
        work.pop_back();
        for (const std::string_view input : n.inputs) visit(input);
      }
    };
    for (const std::string& o : outputs) visit(o);
    finish();
    for (const FrozenInput& i : inputs_) {
      const TensorRef r = parse_ref(i.tensor, false);
      const auto node = scopes_.main().index.find(r.node);
      if (node == scopes_.main().index.end()) continue;
      if (node->second->op == "Placeholder" || (r.index == 0 && !needed_.contains(r.node)))
        placeholders_.emplace(r.node, &i);
      else if (needed_.insert(r.node).second)
        work.push_back(node->second->name);
    }
    finish();
  }

  static void add_placeholder(Pieces& out, const FrozenInput& input) {
    NodeWriter node(parse_ref(input.tensor, false).node, "Placeholder");
    node.attr("dtype", type_value(input.dtype)).attr("shape", shape_value(input.shape));
    std::string field;
    append_field(field, 1, node.text());
    out.add(field);
  }

  void add(Pieces& out, std::uint32_t field, Scope& s, const NodeDef& n) {
    try {
      if (is_variable_op(n.op))
        return out.field(field, const_node(std::string(n.name), scopes_.value(n), {}));
      Form form = form_of(out, field, s, n);
      if (form.op == "Const" && n.op != "Const")
        return out.field(field, const_node(std::string(n.name), Tensor::scalar(true), {}));
      out.field(field, written(n, form));
    } catch (const ConversionError& e) {
      Diagnostic d = e.diagnostic();
      if (d.origin.op.empty())
        d.origin = {std::string(n.name), std::string(n.op),
                    s.is_function() ? std::string(s.function.signature.name) : ""};
      diagnostics_.push_back(std::move(d));
    }
  }

  Form form_of(Pieces& out, std::uint32_t field, Scope& s, const NodeDef& n) {
    Form form{.op = std::string(n.op), .inputs = {}, .attrs = {}, .dropped = {"_class"}};
    std::optional<Frozen> first;
    bool any = false;
    for (const std::string_view input : n.inputs) {
      form.inputs.push_back(renamed(s, input));
      const auto h = scopes_.handle(s, input);
      if (h && form.inputs.size() == 1) first = h;
      any = any || h;
    }
    take_references(n, form);
    if (call_form(n.op) || scopes_.is_function(n.op)) return rewrite_call(s, n, form), form;
    call_functions(n, form);
    if (any) rewrite_reader(out, field, s, n, first, form);
    return form;
  }

  // Variables of TensorFlow 1 are references, which constants are not.
  static void take_references(const NodeDef& n, Form& form) {
    const OpDef* def = find_op_def(n.op);
    if (!def || std::ranges::none_of(def->inputs, [](const ArgDef& a) { return a.is_ref; })) return;
    if (n.op == "IsVariableInitialized")
      form.op = "Const";
    else if (n.op.starts_with("Ref") && op_kind(n.op) != OpKind::ordinary)
      form.op = n.op.substr(3);
    else
      refuse();
  }

  [[noreturn]] static void refuse() {
    fail(Code::unsupported_op,
         "--output-frozen-graph: the node needs a variable, and in a frozen graph variables are constants",
         "name --outputs that do not need this node, or leave out --output-frozen-graph");
  }

  void rewrite_reader(Pieces& out, std::uint32_t field, Scope& s, const NodeDef& n,
                      const std::optional<Frozen>& first, Form& form) {
    const OpKind kind = op_kind(n.op);
    form.dropped.push_back("_output_shapes");
    if (!first && kind != OpKind::pass_through_each) refuse();
    if (n.op == "ReadVariableOp" || (kind >= OpKind::switch_ && kind <= OpKind::exit) ||
        kind == OpKind::pass_through) {
      if (n.op == "ReadVariableOp") form.op = "Identity", form.dropped.push_back("dtype");
      form.attrs = {{"T", type_value(first->dtype)}};
    } else if (kind == OpKind::pass_through_each) {
      form.attrs = {{"T", types_value(types_of(s, n))}};
    } else if (n.op == "VariableShape") {
      form.op = "Shape";
      form.attrs = {{"T", type_value(first->dtype)}};
    } else if (n.op == "VarIsInitializedOp") {
      form.op = "Const";
    } else if (n.op == "ResourceGatherNd") {
      form.op = "GatherNd";
      form.dropped.push_back("dtype");
      form.attrs = {{"Tparams", type_value(first->dtype)}};
    } else if (n.op == "ResourceGather") {
      rewrite_gather(out, field, s, n, *first, form);
    } else {
      refuse();
    }
  }

  void rewrite_gather(Pieces& out, std::uint32_t field, Scope& s, const NodeDef& n, const Frozen& first,
                      Form& form) {
    std::int32_t batch_dims = 0;
    if (const Bytes* raw = n.attr("batch_dims"))
      if (const Attr a = decode_attr(*raw, {graph_.owner}); const auto* i = std::get_if<std::int64_t>(&a))
        batch_dims = static_cast<std::int32_t>(*i);
    std::string axis = std::string(n.name) + "/axis";
    while (s.index.contains(axis)) axis += "_";
    out.field(field, const_node(axis, Tensor::scalar(batch_dims), {}));
    form.op = "GatherV2";
    const auto count = static_cast<std::ptrdiff_t>(data_inputs(n).size());
    form.inputs.insert(form.inputs.begin() + count, s.is_function() ? axis + ":output:0" : axis);
    form.dropped.insert(form.dropped.end(), {"dtype", "validate_indices"});
    form.attrs = {{"Tparams", type_value(first.dtype)}, {"Taxis", type_value(DType::i32)}};
  }

  DTypes types_of(Scope& s, const NodeDef& n) {
    DTypes types;
    if (const Bytes* raw = n.attr("T"))
      if (const Attr a = decode_attr(*raw, {graph_.owner}, "list(type)");
          const auto* list = std::get_if<DTypes>(&a))
        types = *list;
    return with_handles(types, scopes_.arguments(s, n, 0));
  }

  static DTypes with_handles(DTypes types, const FrozenArgs& args) {
    for (std::size_t i = 0; i < std::min(types.size(), args.size()); ++i)
      if (args[i]) types[i] = args[i]->dtype;
    return types;
  }

  // The functions are called as they are written.
  void rewrite_call(Scope& s, const NodeDef& n, Form& form) {
    const CallForm* call = call_form(n.op);
    const FrozenArgs args = scopes_.arguments(s, n, call ? call->first_argument : 0);
    if (!call) {
      form.op = scopes_.function(n.op, args).name;
      return;
    }
    rename_functions(n, args, form);
    if (std::ranges::none_of(args, [](const auto& a) { return a.has_value(); })) return;
    form.dropped.insert(form.dropped.end(),
                        {"_output_shapes", "_read_only_resource_inputs", "output_shapes"});
    FrozenArgs results;
    const std::vector<DType> outputs = list_of(n, call->output_types);
    for (std::size_t k = 0; k < outputs.size(); ++k) results.push_back(result(s, n, k, outputs[k]));
    form.attrs.emplace_back(call->input_types,
                            types_value(with_handles(list_of(n, call->input_types), args)));
    if (call->output_types != call->input_types)
      form.attrs.emplace_back(call->output_types, types_value(with_handles(outputs, results)));
  }

  std::optional<Frozen> result(Scope& s, const NodeDef& n, std::size_t k, DType type) {
    if (type != DType::resource) return std::nullopt;
    const std::string name(n.name);
    return scopes_.handle(s, name + (s.is_function() ? ":output:" : ":") + std::to_string(k));
  }

  DTypes list_of(const NodeDef& n, std::string_view attr) {
    const Bytes* raw = n.attr(attr);
    if (!raw) return {};
    const Attr a = decode_attr(*raw, {graph_.owner}, "list(type)");
    const auto* list = std::get_if<DTypes>(&a);
    return list ? *list : DTypes();
  }

  // Of ops that call functions in a way of their own: a reduction's, a dataset's. They get no variables.
  void call_functions(const NodeDef& n, Form& form) { rename_functions(n, {}, form); }

  void rename_functions(const NodeDef& n, const FrozenArgs& args, Form& form) {
    for (const RawAttr& a : n.attrs) {
      const Strings called = function_names(a.value);
      if (called.empty() || !scopes_.is_function(called.front())) continue;
      std::string value;
      for (WireReader r(a.value); r.next();) {
        if (r.field() == 10) append_field(value, 10, function_text(r.message(), args));
        if (r.field() != 1) continue;
        std::string list;
        for (WireReader entry = r.message(); entry.next();)
          if (entry.field() == 9) append_field(list, 9, function_text(entry.message(), args));
        append_field(value, 1, list);
      }
      form.attrs.emplace_back(a.name, std::move(value));
    }
  }

  std::string function_text(WireReader function, const FrozenArgs& args) {
    std::string text;
    while (function.next()) {
      if (function.field() == 1) append_field(text, 1, scopes_.function(function.text(), args).name);
      if (function.field() == 2) append_field(text, 2, function.text());
    }
    return text;
  }

  // An input by the name that its node's output has now.
  std::string renamed(Scope& s, std::string_view tensor) {
    const TensorRef r = parse_ref(tensor, s.is_function());
    if (!s.is_function() || r.control || r.output.empty()) return std::string(tensor);
    const auto node = s.index.find(r.node);
    if (node == s.index.end()) return std::string(tensor);
    const NodeDef& n = *node->second;
    const auto inputs = data_inputs(n);
    const bool asks = n.op == "ReadVariableOp" || n.op == "VarIsInitializedOp";
    if (!is_variable_op(n.op) && !(asks && !inputs.empty() && scopes_.handle(s, inputs[0])))
      return std::string(tensor);
    return std::string(r.node).append(":").append(kOutput).append(":0");
  }

  static Pieces written(const NodeDef& n, const Form& form) {
    NodeWriter node(n.name, form.op);
    for (const std::string& input : form.inputs) node.input(input);
    node.device(n.device);
    for (const auto& [name, value] : form.attrs) node.attr(name, value);
    Pieces out;
    out.add(node.text());
    for (const RawAttr& a : n.attrs) {
      const bool is_set = std::ranges::any_of(form.attrs, [&](const auto& x) { return x.first == a.name; });
      if (is_set || contains(form.dropped, a.name)) continue;
      std::string key;
      append_field(key, 1, a.name);
      Pieces entry, value;
      entry.add(key);
      value.view(a.value);
      entry.field(2, std::move(value));
      out.field(5, std::move(entry));
    }
    return out;
  }

  void add_function(Pieces& library, Scope& s) {
    Pieces out;
    out.add(signature_of(s));
    for (const NodeDef& n : s.nodes->nodes) add(out, 3, s, n);
    std::string text;
    const auto pair = [&](std::uint32_t field, std::string_view key, std::string_view value) {
      std::string entry;
      append_field(entry, 1, key);
      append_field(entry, 2, value);
      append_field(text, field, entry);
    };
    for (const auto& [name, tensor] : s.function.ret) pair(4, name, renamed(s, tensor));
    for (const RawAttr& a : s.function.attrs)
      if (s.args.empty() || a.name != "_input_shapes") pair(5, a.name, as_text(a.value));
    for (const auto& [name, node] : s.function.control_ret) pair(6, name, node);
    out.add(text);
    library.field(1, std::move(out));
  }

  // As an OpDef, for the types that the arguments and results have here.
  std::string signature_of(Scope& s) {
    const auto arg = [](const ArgDef& a, DType type) {
      std::string text;
      append_field(text, 1, a.name);
      if (type != DType::undefined) append_number(text, 3, dtype_number(type));
      if (!a.type_attr.empty()) append_field(text, 4, a.type_attr);
      if (!a.number_attr.empty()) append_field(text, 5, a.number_attr);
      if (!a.type_list_attr.empty()) append_field(text, 6, a.type_list_attr);
      return text;
    };
    std::string text, field;
    append_field(text, 1, s.name);
    const OpDef& def = s.function.signature;
    for (std::size_t i = 0; i < def.inputs.size(); ++i)
      append_field(
          text, 2,
          arg(def.inputs[i], i < s.args.size() && s.args[i] ? s.args[i]->dtype : def.inputs[i].type));
    for (const ArgDef& a : def.outputs) append_field(text, 3, arg(a, type_of_result(s, a)));
    for (const AttrDef& a : def.attrs) {
      std::string attr;
      append_field(attr, 1, a.name);
      append_field(attr, 2, a.type);
      append_field(text, 4, attr);
    }
    if (def.stateful) append_number(text, 17, 1);
    for (const auto& [name, node] : s.function.control_ret) append_field(text, 20, name);
    append_field(field, 1, text);
    return field;
  }

  DType type_of_result(Scope& s, const ArgDef& a) {
    for (const auto& [name, tensor] : s.function.ret)
      if (name == a.name && a.type == DType::resource)
        if (const auto h = scopes_.handle(s, tensor)) return h->dtype;
    return a.type;
  }

  const GraphDef& graph_;
  const std::vector<FrozenInput>& inputs_;
  Scopes scopes_;
  Diagnostics& diagnostics_;
  std::unordered_set<std::string_view> needed_;
  std::unordered_map<std::string_view, const FrozenInput*> placeholders_;
};

}  // namespace

FrozenGraph freeze(const GraphDef& g, const std::vector<FrozenInput>& inputs, const Strings& outputs,
                   const std::function<TensorPtr(const VariableRef&)>& variable, Diagnostics& diagnostics) {
  return {Freezer(g, inputs, variable, diagnostics).run(outputs), g.owner};
}

void check_size(const FrozenGraph& g) {
  constexpr std::uint64_t kLimit = std::numeric_limits<std::int32_t>::max();
  if (g.graph_def.size() > kLimit)
    fail(Code::output,
         "--output-frozen-graph: the graph has " + std::to_string(g.graph_def.size()) +
             " bytes, and a GraphDef holds at most " + std::to_string(kLimit),
         "leave out --output-frozen-graph");
}

}  // namespace t2o::tf
