#include <algorithm>

#include "tf/importer.h"
#include "tf/region.h"

namespace t2o::tf {
namespace {

constexpr std::size_t kMaxCalls = 200'000;
constexpr std::size_t kMaxPrefix = 200;  // names are labels: deep nests do not need all of theirs

bool has_lists(const std::vector<ArgDef>& args) {
  return std::ranges::any_of(
      args, [](const ArgDef& a) { return !a.number_attr.empty() || !a.type_list_attr.empty(); });
}

std::string nested(const std::string& prefix, std::string_view level) {
  return prefix.size() > kMaxPrefix ? prefix : prefix + std::string(level) + "/";
}

// A handle stands for what it leads to, and has its type.
bool may_be(DType declared, DType given) {
  const auto is_open = [](DType t) {
    return contains({DType::undefined, DType::resource, DType::variant}, t);
  };
  return declared == given || is_open(declared) || is_open(given);
}

Shape argument_shape(const Frame& f, std::size_t argument) {
  const auto& all = f.body->function.arg_attrs;
  if (argument >= all.size()) return {};
  for (const RawAttr& a : all[argument]) {
    if (a.name != "_output_shapes") continue;
    const Attr shapes = decode_attr(a.value, {{}, &f.attrs}, "list(shape)");
    if (const auto* s = std::get_if<Shapes>(&shapes); s && s->size() == 1) return (*s)[0];
  }
  return {};
}

// For each input of a loop: does its body return it unchanged?
std::vector<bool> invariant_inputs(Bodies& bodies, const PendingNode& loop) {
  std::vector<bool> invariant(loop.inputs.size(), true);
  for (const PendingNode::Branch& b : loop.branches) {
    if (loop.attrs[b.attr].name != "body") continue;
    const Body* body = bodies.function(b.function.name);
    for (std::size_t i = 0; i < invariant.size(); ++i)
      if (!body || i >= body->handed_on.size() || body->handed_on[i] != static_cast<std::int32_t>(i))
        invariant[i] = false;
  }
  return invariant;
}

// A loop's condition returns one value. Every other function returns the results of the node.
void check_results(const Frame& f, const PendingNode& pending) {
  const OpInfo& op = *f.body->ops[pending.node];
  if (!op.def || op.kind == OpKind::computation) return;
  const DTypes types = tensor_types(op.def->outputs, pending.attrs);
  for (std::size_t i = 0; i < pending.branches.size(); ++i) {
    const bool is_condition =
        op.kind == OpKind::while_ && pending.attrs[pending.branches[i].attr].name == "cond";
    const Values& results = pending.graphs[i]->outputs();
    const std::string function = "function '" + pending.branches[i].function.name + "'";
    if (const std::size_t wanted = is_condition ? 1 : types.size(); results.size() != wanted)
      fail(Code::bad_model,
           function + " gives " + std::to_string(results.size()) + " results, not " + std::to_string(wanted));
    for (std::size_t k = 0; k < results.size() && !is_condition; ++k)
      if (!may_be(types[k], results[k]->dtype()))
        fail(Code::bad_model, function + " gives " + std::string(name(results[k]->dtype())) + " as result " +
                                  std::to_string(k) + ", not " + std::string(name(types[k])));
  }
}

}  // namespace

Body& Importer::enter(const std::string& function) {
  if (++calls_ == kMaxCalls)
    give_up("its function calls, inlined, are more than " + std::to_string(kMaxCalls));
  Body* body = c_.bodies.function(function);
  if (!body)
    fail(Code::bad_model, "function '" + function + "' is not in the model's library",
         "Export the model again with its functions.");
  if (body->active)
    fail(Code::unsupported_op, "function '" + function + "' calls itself, which ONNX cannot express",
         "Rewrite it as a loop.");
  if (has_lists(body->signature->inputs) || has_lists(body->signature->outputs))
    fail(Code::not_yet, "function '" + function + "' has an argument or result that is a list of tensors");
  return *body;
}

void Importer::begin_call(Frame& f, std::uint32_t n, const Values& inputs) {
  const NodeDef& def = f.body->node(n);
  Func callee{.name = std::string(def.op), .attrs = {}};
  if (f.body->ops[n]->kind == OpKind::function) {
    callee.attrs = c_.decode_attrs(f, n);
  } else {
    const Bytes* raw = def.attr("f");
    Attr a = raw ? decode_attr(*raw, {c_.bodies.graph().owner, &f.attrs}, "func") : Attr(std::int64_t{0});
    auto* named = std::get_if<Func>(&a);
    if (!named) fail(Code::bad_model, "the call has no function in its attribute 'f'");
    callee = std::move(*named);
  }
  Body& body = enter(callee.name);
  if (inputs.size() != body.signature->inputs.size())
    fail(Code::bad_model, "function '" + callee.name + "' is called with " + std::to_string(inputs.size()) +
                              " arguments instead of " + std::to_string(body.signature->inputs.size()));
  Frame inner{.kind = Frame::Kind::call,
              .body = &body,
              .graph = f.graph,
              .attrs = std::move(callee.attrs),
              .args = inputs};
  inner.prefix = nested(f.prefix, def.name);
  inner.labels = f.labels.of_call(def.name);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (c_.trust_shapes && !inputs[i]->is_graph_input())
      nodes_.refine_shape(inputs[i], argument_shape(inner, i));
  push_frame(std::move(inner));
}

void Importer::begin_control_flow(Frame& f, std::uint32_t n, const Values& inputs) {
  auto pending = std::make_unique<PendingNode>();
  pending->node = n;
  pending->attrs = c_.decode_attrs(f, n);
  pending->inputs = inputs;
  if (inputs.empty()) fail(Code::bad_model, std::string(f.body->node(n).op) + " has no inputs");
  for (std::size_t i = 0; i < pending->attrs.size(); ++i) {
    if (const auto* one = std::get_if<Func>(&pending->attrs[i].value)) pending->branches.push_back({i, *one});
    if (const auto* many = std::get_if<Funcs>(&pending->attrs[i].value))
      for (const Func& b : *many) pending->branches.push_back({i, b});
  }
  if (pending->branches.empty()) fail(Code::bad_model, std::string(f.body->node(n).op) + " has no functions");
  if (f.body->ops[n]->kind == OpKind::while_) pending->invariant = invariant_inputs(c_.bodies, *pending);
  f.pending = std::move(pending);
  begin_branch(f, n);
}

void Importer::begin_branch(Frame& f, std::uint32_t n) {
  const PendingNode& pending = *f.pending;
  const NodeDef& def = f.body->node(n);
  check_nesting(*f.graph);
  const PendingNode::Branch& branch = pending.branches[pending.graphs.size()];
  Frame inner{
      .kind = Frame::Kind::branch, .body = &enter(branch.function.name), .attrs = branch.function.attrs};
  inner.owned = f.graph->make_subgraph();
  inner.graph = inner.owned.get();
  inner.graph->set_name(branch.function.name);
  const std::string& role = pending.attrs[branch.attr].name;
  inner.prefix = nested(f.prefix, std::string(def.name) + "/" + role);
  inner.labels = f.labels.of_branch(*f.body, n, role);
  const OpKind kind = f.body->ops[n]->kind;
  if (kind == OpKind::computation)
    add_own_inputs(inner);
  else
    add_branch_inputs(inner, pending, kind == OpKind::while_);
  push_frame(std::move(inner));
}

// A branch uses the resource of the graph around it. So does a loop whose body returns the resource
// unchanged. The subgraph keeps an input that nothing reads.
void Importer::add_branch_inputs(Frame& f, const PendingNode& pending, bool is_loop) {
  const std::size_t skip = is_loop ? 0 : 1;  // the condition
  const auto& args = f.body->signature->inputs;
  if (args.size() != pending.inputs.size() - skip)
    fail(Code::bad_model, "function '" + f.body->name + "' takes " + std::to_string(args.size()) +
                              " arguments, but is given " + std::to_string(pending.inputs.size() - skip));
  const DTypes types = tensor_types(args, f.attrs);
  Shapes loop_shapes;
  for (const ir::NamedAttr& a : pending.attrs)
    if (const auto* s = std::get_if<Shapes>(&a.value);
        s && is_loop && c_.trust_shapes && a.name == "output_shapes")
      loop_shapes = *s;
  for (std::size_t i = 0; i < args.size(); ++i) {
    Value* given = pending.inputs[i + skip];
    const bool is_same = !is_loop || pending.invariant[i];
    Shape shape = is_same ? given->shape() : i < loop_shapes.size() ? loop_shapes[i] : Shape();
    if (c_.trust_shapes)
      if (std::optional<Shape> both = merge(shape, argument_shape(f, i))) shape = std::move(*both);
    Value* inner = f.graph->add_input(f.labels.of(args[i].name), types[i], std::move(shape));
    f.branch_inputs.push_back(inner);
    f.args.push_back(types[i] == DType::resource && is_same ? given : inner);
  }
}

// Of a computation, which its op calls for elements: nothing outside is seen from it.
void Importer::add_own_inputs(Frame& f) {
  const auto& args = f.body->signature->inputs;
  const DTypes types = tensor_types(args, f.attrs);
  for (std::size_t i = 0; i < args.size(); ++i) {
    f.branch_inputs.push_back(f.graph->add_input(f.labels.of(args[i].name), types[i], Shape::scalar()));
    f.args.push_back(f.branch_inputs.back());
  }
}

void Importer::end_branch(GraphPtr graph) {
  Frame& f = frames_.back();
  PendingNode& pending = *f.pending;
  pending.graphs.push_back(std::move(graph));
  try {
    if (pending.graphs.size() < pending.branches.size()) return begin_branch(f, pending.node);
    check_results(f, pending);
    for (std::size_t i = 0; i < pending.branches.size(); ++i) {
      Attr& a = pending.attrs[pending.branches[i].attr].value;
      if (std::holds_alternative<Func>(a)) {
        a = pending.graphs[i];
      } else {
        if (!std::holds_alternative<Graphs>(a)) a = Graphs{};
        std::get<Graphs>(a).push_back(pending.graphs[i]);
      }
    }
    const Values outputs = nodes_.add_node(f, pending.node, std::move(pending.attrs), pending.inputs);
    f.pending.reset();
    deliver(outputs);
  } catch (const ConversionError& e) {
    c_.report(f, pending.node, e.diagnostic());
    f.pending.reset();
    deliver_failure();
  }
}

}  // namespace t2o::tf
