#include "tf/node_importer.h"

#include <algorithm>

#include "tf/region.h"
#include "tf/variables.h"

namespace t2o::tf {
namespace {

constexpr std::uint32_t kMostOutputs = 1 << 16;  // of an op that nobody knows

template <class T>
T attr_or(const Attrs& attrs, std::string_view key, T fallback) {
  const Attr* a = find_attr(attrs, key);
  const T* v = a ? std::get_if<T>(a) : nullptr;
  return v ? *v : fallback;
}

bool is_reference(const Value* v) {  // of a variable of TensorFlow 1
  return v && v->dtype() == DType::resource && is_op(v, OpKind::variable_reference);
}

bool is_variable_handle(const Value* v) {
  return v && v->dtype() == DType::resource && is_op(v, OpKind::variable_handle);
}

bool is_dropped(std::string_view attr) { return attr == "_output_shapes" || attr == "_class"; }

}  // namespace

Values NodeImporter::import_leaf(Frame& f, std::uint32_t n, const Values& inputs) {
  const NodeDef& def = f.body->node(n);
  const auto first = [&] {
    if (inputs.empty()) fail(Code::bad_model, std::string(def.op) + " has no input");
    return inputs[0];
  };
  switch (f.body->ops[n]->kind) {
    case OpKind::constant:
      return import_constant(f, n);
    case OpKind::placeholder:
    case OpKind::placeholder_with_default:
      return import_placeholder(f, n, inputs);
    case OpKind::pass_through:
      return {first()};
    case OpKind::pass_through_each:
      return inputs;
    case OpKind::ensure_shape: {
      if (const Bytes* raw = def.attr("shape")) {
        const Attr shape = decode_attr(*raw, {{}, &f.attrs});
        if (const auto* s = std::get_if<Shape>(&shape)) refine_shape(first(), *s);
      }
      return {first()};
    }
    case OpKind::no_data:
      return {};
    case OpKind::variable_handle:
    case OpKind::variable_reference:
      return import_variable(f, n);
    case OpKind::read_variable:
      if (inputs.size() == 1 && is_variable_handle(inputs[0])) return {read(f, n, inputs[0])};
      return add_node(f, n, c_.decode_attrs(f, n), inputs);
    case OpKind::write_variable:
      return import_write(f, n, inputs);
    case OpKind::dequeue:
      return interface_.add_components(f, n);
    case OpKind::refused:
      if (tfgraph::is_internal(def.op))
        fail(Code::unsupported_op,
             "op " + std::string(def.op) + " is not an op of TensorFlow: this program reserves such names",
             "Give the operator another name.");
      fail(Code::unsupported_op, "op " + std::string(def.op) + " cannot be imported");
    default:
      return add_node(f, n, c_.decode_attrs(f, n), inputs);
  }
}

Values NodeImporter::import_constant(Frame& f, std::uint32_t n) {
  const Bytes* raw = f.body->node(n).attr("value");
  if (!raw) fail(Code::bad_model, "the constant has no value");
  Attr a = decode_attr(*raw, {c_.bodies.graph().owner, &f.attrs});
  auto* tensor = std::get_if<TensorPtr>(&a);
  if (!tensor) fail(Code::bad_model, "the constant's value is not a tensor");
  return {f.graph->add_constant(f.labels.of(*f.body, n), std::move(*tensor))};
}

Values NodeImporter::import_placeholder(Frame& f, std::uint32_t n, const Values& inputs) {
  const NodeDef& def = f.body->node(n);
  const bool has_default = f.body->ops[n]->kind == OpKind::placeholder_with_default;
  // An input that may be left out, and was. Nobody can feed a function's inside.
  if (has_default && !inputs.empty() &&
      (f.kind != Frame::Kind::main || !contains(c_.request.ignore_default, def.name)))
    return {inputs[0]};
  if (f.kind != Frame::Kind::main) return add_node(f, n, c_.decode_attrs(f, n), inputs);
  return {interface_.add_placeholder(f, n, has_default)};
}

// All functions and branches see a handle of the main graph.
Values NodeImporter::import_variable(Frame& f, std::uint32_t n) {
  const Attrs attrs = c_.decode_attrs(f, n);
  VariableRef ref = variable_ref(f.body->node(n), AttrContext{c_.bodies.graph().owner, &f.attrs});
  const auto [it, fresh] = variable_ids_.emplace(identity_of(ref), variables_.size());
  if (!fresh) return {variables_[it->second].handle};
  ir::NodeSpec spec{.op = ref.op, .attrs = attrs, .outputs = {{{}, DType::resource, Shape::scalar()}}};
  spec.origin = std::make_shared<const Origin>(c_.origin(f, n));
  spec.name_later = true;
  Variable& v = variables_.emplace_back();
  v.ref = std::move(ref);
  v.handle = c_.graph->add(std::move(spec)).output();
  return {v.handle};
}

// A write of TensorFlow 1 returns the variable itself.
Values NodeImporter::import_write(Frame& f, std::uint32_t n, const Values& inputs) {
  Values results = add_node(f, n, c_.decode_attrs(f, n), inputs);
  const bool returns_it =
      !results.empty() && f.body->ops[n]->def->outputs[0].is_ref && is_reference(inputs[0]);
  return returns_it ? Values{inputs[0]} : results;
}

Value* NodeImporter::plain(Frame& f, std::uint32_t reader, Value* v) {
  return is_reference(v) ? read(f, reader, v) : v;
}

// The node is gone when the variables are lifted: it gets no name.
Value* NodeImporter::read(Frame& f, std::uint32_t reader, Value* handle) {
  const auto* type = handle->producer()->attr_if<DType>("dtype");
  ir::NodeSpec spec{.op = "ReadVariableOp",
                    .inputs = {handle},
                    .outputs = {{{}, type ? *type : DType::undefined, {}}},
                    .origin = std::make_shared<const Origin>(c_.origin(f, reader)),
                    .name_later = true};
  return f.graph->add(std::move(spec)).output();
}

// Checks the number and the types of the inputs against the operator's definition.
void NodeImporter::check_inputs(const DTypes& types, const Values& inputs) {
  if (types.size() != inputs.size())
    fail(Code::bad_model,
         "there are " + std::to_string(inputs.size()) + " inputs instead of " + std::to_string(types.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value* v = inputs[i];
    const bool is_open =
        !v || v->dtype() == DType::undefined || types[i] == DType::undefined || is_reference(v);
    if (is_open || v->dtype() == types[i]) continue;
    fail(Code::bad_model, "input " + std::to_string(i) + " ('" + v->name() + "') is of type " +
                              std::string(name(v->dtype())) + " instead of " + std::string(name(types[i])));
  }
}

Values NodeImporter::add_node(Frame& f, std::uint32_t n, Attrs attrs, const Values& inputs) {
  const NodeDef& def = f.body->node(n);
  const OpDef* op = f.body->ops[n]->def;
  if (f.kind == Frame::Kind::call)  // a loop of each call
    for (ir::NamedAttr& a : attrs)
      if (auto* frame = std::get_if<std::string>(&a.value); frame && a.name == "frame_name")
        *frame = f.prefix + *frame;
  if (op) check_inputs(tensor_types(op->inputs, attrs), inputs);
  const std::uint32_t seen = std::max(1U, f.body->outputs_seen[n]);
  if (!op && seen > kMostOutputs)
    fail(Code::bad_model,
         "output " + std::to_string(seen - 1) + " is read, and no operator has so many outputs");
  const DTypes types = op ? tensor_types(op->outputs, attrs) : DTypes(seen);
  Shapes shapes = output_shapes(f, n, attrs, types.size());
  std::erase_if(attrs, [](const ir::NamedAttr& a) { return is_dropped(a.name); });
  ir::NodeSpec spec{.op = std::string(def.op), .inputs = inputs, .attrs = std::move(attrs)};
  spec.origin = std::make_shared<const Origin>(c_.origin(f, n));
  spec.name = spec.origin->label();
  for (std::size_t i = 0; i < types.size(); ++i) spec.outputs.push_back({{}, types[i], std::move(shapes[i])});
  ir::Node& node = f.graph->add(std::move(spec));
  const auto sources = f.body->inputs_of(n);
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (is_back_edge(*f.body, n, sources[i])) f.late.push_back({&node, i, sources[i]});
  return node.outputs();
}

Shapes NodeImporter::output_shapes(const Frame& f, std::uint32_t n, const Attrs& attrs,
                                   std::size_t count) const {
  const bool holds_subgraphs = is_functional(f.body->ops[n]->kind);
  for (const std::string_view key : {"_output_shapes", "output_shapes"}) {
    if (!c_.trust_shapes || (key == "output_shapes" && !holds_subgraphs)) continue;
    Shapes shapes = attr_or(attrs, key, Shapes{});
    if (shapes.size() == count) return shapes;
  }
  return Shapes(count);
}

Values NodeImporter::inputs_of(Frame& f, std::uint32_t n) {
  Values values;
  const auto refs = f.body->inputs_of(n);
  values.reserve(refs.size());
  std::size_t missing = 0, first_missing = 0;
  for (std::size_t i = 0; i < refs.size(); ++i) {
    if (is_back_edge(*f.body, n, refs[i])) {
      values.push_back(nullptr);
      continue;
    }
    Value* found = find(f, refs[i]);
    if (!found && missing++ == 0) first_missing = i;
    values.push_back(found ? found : c_.poison());
  }
  if (missing != 0) report_missing(f, n, first_missing, missing);
  return values;
}

void NodeImporter::report_missing(const Frame& f, std::uint32_t n, std::size_t first, std::size_t count) {
  std::string_view name;
  std::size_t i = 0;
  for (const std::string_view s : f.body->node(n).inputs)
    if (!s.starts_with('^') && i++ == first) name = s;
  const std::string others = count == 1 ? ", which does not exist"
                                        : " and " + std::to_string(count - 1) + " more, which do not exist";
  c_.report(f, n, {.code = Code::bad_model, .message = "reads '" + std::string(name) + "'" + others});
}

Value* NodeImporter::find(Frame& f, const InputRef& in) {
  if (in.argument >= 0) return in.output == 0 ? nth(f.args, in.argument) : nullptr;
  if (in.node < 0) return nullptr;
  if (f.kind == Frame::Kind::main && interface_.is_fed(in)) return interface_.fed(in);
  const auto node = static_cast<std::uint32_t>(in.node);
  const Frame::Outputs& out = f.outputs_of(node);
  if (f.mark(node) != Frame::Mark::done || out.failed) return c_.poison();
  auto k = static_cast<std::size_t>(in.output);
  if (in.output_arg > 0) k += first_output(f, node, static_cast<std::size_t>(in.output_arg));
  return k < out.count ? f.values[out.first + k] : nullptr;
}

std::size_t NodeImporter::first_output(Frame& f, std::uint32_t node, std::size_t argument) {
  const auto [at, fresh] = f.first_outputs.try_emplace(node);
  std::vector<std::size_t>& first = at->second;
  if (fresh) {
    const Attrs attrs = c_.decode_attrs(f, node);
    first.push_back(0);
    for (const ArgDef& arg : f.body->ops[node]->def->outputs)
      first.push_back(first.back() + tensor_count(arg, attrs));
  }
  return first[argument];
}

Value* NodeImporter::find_or_poison(Frame& f, const InputRef& in) {
  Value* v = find(f, in);
  return v ? v : c_.poison();
}

// Marks results with the branch they belong to, if their inputs do not show it.
void NodeImporter::guard(Frame& f, std::uint32_t n, Values& results) {
  Value* side = find(f, f.body->inputs_of(n).back());
  if (!side || c_.is_poison(side)) return;
  for (Value*& v : results) {
    if (!v || c_.is_poison(v)) continue;
    ir::NodeSpec spec{.op = std::string(kGuarded), .inputs = {v, side}};
    spec.outputs = {{{}, v->dtype(), v->shape()}};
    spec.origin = std::make_shared<const Origin>(c_.origin(f, n));
    spec.name_later = true;
    v = f.graph->add(std::move(spec)).output();
  }
}

// The shape of a handle is not the variable's.
void NodeImporter::refine_shape(Value* v, const Shape& shape) {
  if (v->constant() || v->dtype() == DType::resource) return;
  if (std::optional<Shape> both = merge(v->shape(), shape))
    c_.graph->set_type(v, v->dtype(), std::move(*both));
}

}  // namespace t2o::tf
