#include <algorithm>

#include "tf/importer.h"
#include "tf/region.h"
#include "tf/state_effects.h"

namespace t2o::tf {
namespace {

constexpr std::uint32_t kMostOutputs = 1 << 16;  // of an op that nobody knows

const Attr* find(const Attrs& attrs, std::string_view key) {
  for (const ir::NamedAttr& a : attrs)
    if (a.name == key) return &a.value;
  return nullptr;
}

template <class T>
T attr_or(const Attrs& attrs, std::string_view key, T fallback) {
  const Attr* a = find(attrs, key);
  const T* v = a ? std::get_if<T>(a) : nullptr;
  return v ? *v : fallback;
}

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_dropped(std::string_view attr) { return attr == "_output_shapes" || attr == "_class"; }

}  // namespace

void Importer::process(Frame& f, std::uint32_t n) {
  try {
    std::vector<Item> inputs = inputs_of(f, n);
    if (f.body->is_guarded(n)) inputs.pop_back();
    const auto failed = [&](const Item& i) { return i.value && i.value == poison_; };
    if (std::any_of(inputs.begin(), inputs.end(), failed)) return deliver_failure();
    switch (f.body->ops[n]->kind) {
      case OpKind::call:
      case OpKind::function:
        return begin_call(f, n, inputs);
      case OpKind::if_:
      case OpKind::case_:
      case OpKind::while_:
      case OpKind::computation:
        return begin_control_flow(f, n, inputs);
      default:
        return deliver(import_leaf(f, n, inputs));
    }
  } catch (const ConversionError& e) {
    report(f, n, e.diagnostic());
    gave_up_ = gave_up_ || e.diagnostic().code == Code::bad_file;  // the next variable would say the same
    f.pending.reset();
    deliver_failure();
  }
}

// Would --stateful-io take the change that the node makes?
bool Importer::hands_on_change(const Frame& f, std::uint32_t n) const {
  return can_be_handed_on(f.body->node(n).op) && f.body->guarded.empty() && !request_->cuts_inside() &&
         std::none_of(frames_.begin(), frames_.end(),
                      [](const Frame& g) { return g.kind == Frame::Kind::branch; });
}

std::vector<Item> Importer::import_leaf(Frame& f, std::uint32_t n, const std::vector<Item>& inputs) {
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
        if (const auto* s = std::get_if<Shape>(&shape)) refine_shape(value(first()), *s);
      }
      return {first()};
    }
    case OpKind::no_data:
      return {};
    case OpKind::variable_handle:
    case OpKind::variable_reference:
      return import_variable(f, n);
    case OpKind::read_variable:
      if (first().variable >= 0 && f.body->read_after.contains(n)) return {Item{changed(f, n)}};
      if (first().variable >= 0) return {Item{value(first())}};
      return import_node(f, n, inputs);
    case OpKind::write_variable:
      if (request_->keep_state || f.body->followed.contains(n)) return import_change(f, n, inputs);
      fail(Code::unsupported_op,
           "the result of " + std::string(def.op) + ", which changes a variable, is read",
           "Export the model for inference, " +
               std::string(hands_on_change(f, n) ? "name outputs that do not need it, or use --stateful-io."
                                                 : "or name outputs that do not need it."));
    case OpKind::dequeue:
      return import_components(f, n);
    case OpKind::refused:
      if (tfgraph::is_internal(def.op))
        fail(Code::unsupported_op,
             "op " + std::string(def.op) + " is not an op of TensorFlow: this program reserves such names",
             "Give the operator another name.");
      fail(Code::unsupported_op, "op " + std::string(def.op) + " cannot be imported");
    default:
      return import_node(f, n, inputs);
  }
}

std::vector<Item> Importer::import_constant(Frame& f, std::uint32_t n) {
  const NodeDef& def = f.body->node(n);
  const Bytes* raw = def.attr("value");
  if (!raw) fail(Code::bad_model, "the constant has no value");
  Attr a = decode_attr(*raw, {bodies_.graph().owner, &f.attrs});
  auto* tensor = std::get_if<TensorPtr>(&a);
  if (!tensor) fail(Code::bad_model, "the constant's value is not a tensor");
  return {Item{f.graph->add_constant(node_name(f, def.name), std::move(*tensor))}};
}

std::vector<Item> Importer::import_placeholder(Frame& f, std::uint32_t n, const std::vector<Item>& inputs) {
  const NodeDef& def = f.body->node(n);
  const bool has_default = f.body->ops[n]->kind == OpKind::placeholder_with_default;
  // An input that may be left out, and was. Nobody can feed a function's inside.
  if (has_default && !inputs.empty() &&
      (f.kind != Frame::Kind::main || !contains(request_->ignore_default, def.name)))
    return {inputs[0]};
  if (f.kind != Frame::Kind::main) return import_node(f, n, inputs);
  ir::OutputSpec type = known_type({static_cast<std::int32_t>(n), 0});
  if (type.dtype == DType::undefined) fail(Code::bad_model, "the placeholder has no type that is known");
  std::string name = std::string(def.name) + ":0";
  for (const Feed& spare : request_->spare_feeds)
    if (spare.tensor == name || spare.tensor == def.name) {
      name = spare.name;
      if (spare.shape_given) type.shape = spare.shape;
    }
  if (!request_->feeds.empty())
    report(
        f, n,
        {.severity = Severity::warning,
         .code = Code::bad_option,
         .message = "the outputs need '" + std::string(def.name) +
                    "', which is not among the inputs: it becomes an input",
         .remedy = has_default ? "Add it to --inputs, or name it in --use-default." : "Add it to --inputs."});
  Value* input = graph_->add_input(name, type.dtype, type.shape);
  input_tensors_[input] = std::string(def.name) + ":0";
  return {Item{input}};
}

std::vector<Item> Importer::import_variable(Frame& f, std::uint32_t n) {
  const NodeDef& def = f.body->node(n);
  const Attrs attrs = decode_attrs(f, n);
  VariableRef ref{.node = std::string(def.name),
                  .shared_name = attr_or<std::string>(attrs, "shared_name", ""),
                  .container = attr_or<std::string>(attrs, "container", ""),
                  .op = std::string(def.op),
                  .dtype = attr_or(attrs, "dtype", DType::undefined),
                  .shape = attr_or(attrs, "shape", Shape())};
  const std::string id = ref.container + '\0' + (ref.shared_name.empty() ? ref.node : ref.shared_name);
  const auto [it, fresh] = variable_ids_.emplace(id, static_cast<std::int32_t>(variables_.size()));
  if (fresh) variables_.push_back({std::move(ref)});
  return {Item{nullptr, it->second}};
}

std::vector<Item> Importer::import_node(Frame& f, std::uint32_t n, const std::vector<Item>& inputs) {
  return add_node(f, n, decode_attrs(f, n), inputs);
}

// As many as the operator has, of the types that it and its attributes say.
void Importer::check_inputs(const DTypes& types, const std::vector<Item>& inputs) {
  if (types.size() != inputs.size())
    fail(Code::bad_model,
         "there are " + std::to_string(inputs.size()) + " inputs instead of " + std::to_string(types.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Value* v =
        inputs[i].variable < 0 ? inputs[i].value : nullptr;  // a variable's value is its handle's type
    if (!v || v->dtype() == DType::undefined || types[i] == DType::undefined || v->dtype() == types[i])
      continue;
    fail(Code::bad_model, "input " + std::to_string(i) + " ('" + v->name() + "') is of type " +
                              std::string(name(v->dtype())) + " instead of " + std::string(name(types[i])));
  }
}

std::vector<Item> Importer::add_node(Frame& f, std::uint32_t n, Attrs attrs,
                                     const std::vector<Item>& inputs) {
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
  ir::NodeSpec spec{.op = std::string(def.op), .attrs = std::move(attrs), .name = node_name(f, def.name)};
  spec.origin = std::make_shared<const Origin>(origin(f, n));
  for (const Item& i : inputs) spec.inputs.push_back(i == Item{} ? nullptr : value(i));
  for (std::size_t i = 0; i < types.size(); ++i) spec.outputs.push_back({{}, types[i], std::move(shapes[i])});
  ir::Node& node = f.graph->add(std::move(spec));
  const auto sources = f.body->inputs_of(n);
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (is_back_edge(*f.body, n, sources[i])) f.late.push_back({&node, i, sources[i]});
  std::vector<Item> items;
  for (Value* v : node.outputs()) items.push_back({v});
  return items;
}

Attrs Importer::decode_attrs(const Frame& f, std::uint32_t n) const {
  const NodeDef& def = f.body->node(n);
  const OpDef* op = f.body->ops[n]->def;
  const AttrContext context{bodies_.graph().owner, &f.attrs};
  Attrs attrs;
  attrs.reserve(op ? std::max(def.attrs.size(), op->attrs.size()) : def.attrs.size());
  for (const RawAttr& a : def.attrs) {
    if (a.name == "_class") continue;
    const AttrDef* expected = op ? op->attr(a.name) : nullptr;
    attrs.push_back({std::string(a.name),
                     decode_attr(a.value, context, expected ? std::string_view(expected->type) : "")});
    if (expected && !is_of_type(attrs.back().value, expected->type))
      fail(Code::bad_model, "attribute '" + expected->name + "' is of another type than " + expected->type);
  }
  if (op) add_defaults(*op, attrs);
  return attrs;
}

Shapes Importer::output_shapes(const Frame& f, std::uint32_t n, const Attrs& attrs, std::size_t count) const {
  const bool holds_subgraphs = is_functional(f.body->ops[n]->kind);
  for (const std::string_view key : {"_output_shapes", "output_shapes"}) {
    if (!trust_shapes_ || (key == "output_shapes" && !holds_subgraphs)) continue;
    Shapes shapes = attr_or(attrs, key, Shapes{});
    if (shapes.size() == count) return shapes;
  }
  return Shapes(count);
}

std::vector<Item> Importer::inputs_of(Frame& f, std::uint32_t n) {
  std::vector<Item> items;
  const auto refs = f.body->inputs_of(n);
  items.reserve(refs.size());
  for (std::size_t i = 0; i < refs.size(); ++i) {
    if (is_back_edge(*f.body, n, refs[i])) {
      items.push_back({});
      continue;
    }
    const std::optional<Item> found = find_item(f, refs[i]);
    if (!found) {
      std::vector<std::string_view> data;
      for (const std::string_view s : f.body->node(n).inputs)
        if (!s.starts_with('^')) data.push_back(s);
      report(
          f, n,
          {.code = Code::bad_model, .message = "reads '" + std::string(data[i]) + "', which does not exist"});
    }
    items.push_back(item_or_poison(found));
  }
  return items;
}

std::optional<Item> Importer::find_item(const Frame& f, const InputRef& in) {
  if (in.argument >= 0)
    return in.output == 0 ? std::optional(f.args[static_cast<std::size_t>(in.argument)]) : std::nullopt;
  if (in.node < 0) return std::nullopt;
  if (f.kind == Frame::Kind::main && is_fed(in)) return Item{fed_.at(key({in.node, in.output}))};
  const auto node = static_cast<std::uint32_t>(in.node);
  const Frame::Outputs& out = f.outputs[node];
  if (f.state[node] != Frame::done || out.failed) return Item{poison()};
  auto k = static_cast<std::size_t>(in.output);
  if (in.output_arg > 0) {
    const Attrs attrs = decode_attrs(f, node);
    const auto& args = f.body->ops[node]->def->outputs;
    for (std::size_t a = 0; a < static_cast<std::size_t>(in.output_arg); ++a)
      k += tensor_count(args[a], attrs);
  }
  if (k >= out.count) return std::nullopt;
  return f.items[out.first + k];
}

Value* Importer::value(const Item& i) {
  if (i.variable < 0) return i.value;
  Variable& v = variables_[static_cast<std::size_t>(i.variable)];
  if (v.value) return v.value;
  const TensorPtr tensor = request_->variable ? request_->variable(v.ref) : nullptr;
  if (tensor) return v.value = graph_->add_constant(v.ref.node, tensor);
  diagnostics_->push_back(
      {.code = Code::bad_model,
       .message =
           "variable '" + (v.ref.shared_name.empty() ? v.ref.node : v.ref.shared_name) + "' has no value",
       .remedy = "Give the checkpoint or SavedModel that belongs to the graph.",
       .origin = {v.ref.node, v.ref.op, ""}});
  return v.value = poison();
}

Value* Importer::poison() {  // stands where an error was reported; the graph is discarded then
  if (!poison_) poison_ = graph_->add_input("poison", DType::undefined, {});
  return poison_;
}

Value* Importer::identity(ir::Graph& g, Value* v, std::string name) {
  auto from =
      std::make_shared<const Origin>(v->producer() ? v->producer()->origin() : Origin{v->name(), "", ""});
  return g
      .add({.op = "Identity",
            .inputs = {v},
            .attrs = {{"T", v->dtype()}},
            .outputs = {{{}, v->dtype(), v->shape()}},
            .origin = std::move(from),
            .name = std::move(name)})
      .output();
}

// Says where the results belong that do not say it themselves; functionalize() reads it.
void Importer::guard(Frame& f, std::uint32_t n, std::vector<Item>& results) {
  const std::optional<Item> side = find_item(f, f.body->inputs_of(n).back());
  if (!side || !side->value || side->value == poison_) return;
  for (Item& i : results) {
    if (!i.value || i.value == poison_) continue;
    ir::NodeSpec spec{.op = std::string(kGuarded), .inputs = {i.value, side->value}};
    spec.outputs = {{{}, i.value->dtype(), i.value->shape()}};
    spec.origin = std::make_shared<const Origin>(origin(f, n));
    spec.name_later = true;
    i.value = f.graph->add(std::move(spec)).output();
  }
}

void Importer::refine_shape(Value* v, const Shape& shape) {
  if (v->constant()) return;
  if (std::optional<Shape> both = merge(v->shape(), shape)) graph_->set_type(v, v->dtype(), std::move(*both));
}

std::string Importer::node_name(const Frame& f, std::string_view name) {
  std::string full = f.prefix + std::string(name);
  if (f.prefix == f.short_prefix) return full;
  std::string brief = f.short_prefix + std::string(name);
  const bool is_free = !bodies_.main().index.find(brief) && short_names_.insert(brief).second;
  return is_free ? brief : full;
}

Origin Importer::origin(const Frame& f, std::uint32_t n) const {
  const NodeDef& def = f.body->node(n);
  return {f.prefix + std::string(def.name), std::string(def.op), f.body->name};
}

void Importer::report(const Frame& f, std::uint32_t n, Diagnostic d) {
  d.origin = origin(f, n);
  diagnostics_->push_back(std::move(d));
}

}  // namespace t2o::tf
