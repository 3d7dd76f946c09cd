#include "tf/main_interface.h"

#include <algorithm>
#include <unordered_set>

#include "support/text.h"
#include "tf/dequeue.h"
#include "tf/find_fetches.h"
#include "tf/region.h"

namespace t2o::tf {
namespace {

std::string tensor_name(std::string_view node, std::int32_t output) {
  return std::string(node) + ":" + std::to_string(output);
}

const std::string& output_name(const Fetch& f) { return f.name.empty() ? f.tensor : f.name; }

std::string listed(const Shape& s) {
  std::string text;
  for (const Dim d : s.dims()) text += (text.empty() ? "[" : ",") + (is_known(d) ? std::to_string(d) : "?");
  return text + "]";
}

}  // namespace

void MainInterface::find() {
  Diagnostics& diagnostics = c_.diagnostics;
  const Body& main = c_.bodies.main();
  fetches_ = c_.request.fetches;
  if (fetches_.empty() && c_.request.find_interface) {
    fetches_ = find_fetches(main);
    if (is_for_training(main) && !fetches_.empty()) note_found_outputs(Severity::warning);
    name_found(fetches_, c_.request.output_names, "--rename-outputs");
  }
  if (fetches_.empty())
    diagnostics.push_back(
        {.code = Code::bad_option,
         .message =
             "the model has no outputs to convert: each result is read by another operation, or is there "
             "for saving, initializing, summaries or checks",
         .remedy = "name outputs with --outputs"});
  fetched_.resize(fetches_.size());
  for (std::size_t i = 0; i < fetches_.size(); ++i) locate(fetches_[i].tensor, "output", fetched_[i]);
  for (const Feed& feed : feeds_or_placeholders())
    if (Tensor t; locate(feed.tensor, "input", t)) add_feed(feed, t);
  // If the user gives the shape of an inner input, the stored shapes behind it may be wrong.
  c_.trust_shapes = c_.trust_shapes &&
                    std::ranges::none_of(c_.request.cut_inputs, [](const Feed& f) { return f.shape_given; });
  for (const Fetch& f : fetches_) c_.graph->reserve_name(output_name(f));
  mark_needed();
}

void MainInterface::note_found_outputs(Severity severity) const {
  constexpr std::size_t kListed = 8;
  Strings names;
  for (const Fetch& f : fetches_) names.push_back(f.tensor);
  c_.diagnostics.push_back(
      {.severity = severity,
       .code = Code::bad_option,
       .message = (severity == Severity::note
                       ? "no outputs were named, so all tensors that nothing reads become outputs: "
                       : "no outputs were named, and the graph is for training; these become outputs: ") +
                  quoted_list(names, kListed),
       .remedy = "name the outputs of the model with --outputs"});
}

// The placeholders that the fetches need, where the request leaves the inputs open.
std::vector<Feed> MainInterface::feeds_or_placeholders() {
  if (!c_.request.feeds.empty() || !c_.request.find_interface) return c_.request.feeds;
  mark_needed();
  std::vector<Feed> feeds;
  const Body& body = c_.bodies.main();
  Components components = components_read();
  for (std::size_t i = 0; i < body.size(); ++i) {
    const OpKind kind = body.ops[i]->kind;
    const std::string name(body.node(i).name);
    const auto& forced = c_.request.ignore_default;
    const bool is_input =
        kind == OpKind::placeholder || (kind == OpKind::placeholder_with_default && contains(forced, name));
    if (is_input && needed_[i]) feeds.push_back({.tensor = name + ":0"});
    if (kind != OpKind::dequeue || !needed_[i]) continue;
    for (const std::int32_t k : components[static_cast<std::uint32_t>(i)])
      feeds.push_back({.tensor = tensor_name(name, k)});
    c_.report(Frame{.body = &c_.bodies.main()}, static_cast<std::uint32_t>(i),
              {.severity = Severity::note,
               .code = Code::bad_option,
               .message = "the elements that it takes from a dataset or queue are inputs of the model",
               .remedy = "Cut the graph at other tensors with --inputs."});
  }
  name_found(feeds, c_.request.input_names, "--rename-inputs");
  return feeds;
}

template <class T>
void MainInterface::name_found(std::vector<T>& found, const std::vector<std::string>& names,
                               const char* option) {
  if (names.empty()) return;
  if (names.size() != found.size())
    c_.diagnostics.push_back({.code = Code::bad_option,
                              .message = std::string(option) + " has " + std::to_string(names.size()) +
                                         " names for " + std::to_string(found.size())});
  for (std::size_t i = 0; i < std::min(names.size(), found.size()); ++i) found[i].name = names[i];
}

bool MainInterface::locate(const std::string& tensor, std::string_view what, Tensor& t) {
  const Body& body = c_.bodies.main();
  const auto [name, output] = split_tensor_name(tensor);
  const auto it = body.index.find(name);
  if (it && output >= 0) {
    t = {static_cast<std::int32_t>(*it), static_cast<std::int32_t>(output)};
    return true;
  }
  const std::string near = nearest_name(body, name);
  c_.diagnostics.push_back({.code = Code::bad_option,
                            .message = "the " + std::string(what) + " '" + tensor + "' is not in the graph",
                            .remedy = near.empty() ? "" : "Did you mean '" + near + "'?"});
  return false;
}

void MainInterface::add_feed(const Feed& feed, Tensor t) {
  ir::OutputSpec type = known_type(t);
  const auto complain = [&](std::string message) {
    c_.diagnostics.push_back({.code = Code::bad_option, .message = std::move(message)});
  };
  if (fed_.contains(key(t))) return complain("the input '" + feed.tensor + "' is listed twice");
  if (feed.dtype != DType::undefined && type.dtype != DType::undefined && feed.dtype != type.dtype)
    return complain("the input '" + feed.tensor + "' is of type " + std::string(name(type.dtype)) + ", not " +
                    std::string(name(feed.dtype)));
  if (feed.dtype != DType::undefined) type.dtype = feed.dtype;
  if (type.dtype == DType::undefined)
    return complain("the type of the input '" + feed.tensor + "' is not known");
  if (feed.shape_given) {
    // rank 0: an old file's word for not known
    if (feed.shape.ranked() && type.shape.ranked() && type.shape.rank() > 0 &&
        feed.shape.rank() != type.shape.rank())
      return complain("the input '" + feed.tensor + "' has rank " + std::to_string(type.shape.rank()) +
                      ", but the given shape has rank " + std::to_string(feed.shape.rank()));
    if (feed.shape.ranked() && type.shape.rank() > 0 && !merge(feed.shape, type.shape))
      c_.diagnostics.push_back({.severity = Severity::warning,
                                .code = Code::bad_option,
                                .message = "the input '" + feed.tensor +
                                           "' has another shape in the model, " + listed(type.shape) +
                                           ", than is given for it"});
    c_.trust_shapes = c_.trust_shapes && feed.shape == type.shape;
    type.shape = feed.shape;
  }
  Value* input = c_.graph->add_input(feed.name.empty() ? feed.tensor : feed.name, type.dtype, type.shape);
  fed_[key(t)] = input;
  input_tensors_[input] = feed.tensor;
}

// What the main graph says of a tensor, before anything is imported.
ir::OutputSpec MainInterface::known_type(Tensor t) {
  const Body& body = c_.bodies.main();
  const auto n = static_cast<std::uint32_t>(t.node);
  const Frame f{.body = &c_.bodies.main()};
  ir::OutputSpec spec;
  try {
    const OpInfo& op = *body.ops[n];
    const OpDef* def = op.function ? c_.bodies.function(body.node(n).op)->signature : op.def;
    const Attrs attrs = c_.decode_attrs(f, n);
    const DTypes types = def ? tensor_types(def->outputs, attrs) : DTypes();
    const auto k = static_cast<std::size_t>(t.output);
    if (def && k >= types.size())
      fail(Code::bad_option, "'" + tensor_name(body.node(n).name, t.output) +
                                 "' does not exist: the node has " + std::to_string(types.size()) +
                                 " outputs");
    if (def) spec.dtype = types[k];
    const bool has_shape =
        op.kind == OpKind::placeholder || op.kind == OpKind::placeholder_with_default || is_variable(op.kind);
    for (const ir::NamedAttr& a : attrs) {
      if (const auto* list = std::get_if<Shapes>(&a.value);
          list && a.name == "_output_shapes" && k < list->size())
        spec.shape = (*list)[k];
      if (const auto* s = std::get_if<Shape>(&a.value);
          s && a.name == "shape" && has_shape && !spec.shape.ranked())
        spec.shape = *s;
    }
    if (op.kind == OpKind::dequeue)
      if (auto both = merge(spec.shape, component_shape(body, n, attrs, k))) spec.shape = *both;
  } catch (const ConversionError& e) {
    c_.report(f, n, e.diagnostic());
  }
  return spec;
}

std::vector<std::uint32_t> MainInterface::roots() const {
  std::vector<std::uint32_t> roots;
  for (const Tensor t : fetched_)
    if (!is_fed({.node = t.node, .output = t.output})) roots.push_back(static_cast<std::uint32_t>(t.node));
  return roots;
}

void MainInterface::mark_needed() {
  needed_ = reachable(c_.bodies.main(), roots(), [this](const InputRef& in) { return is_fed(in); });
}

// Those that a needed node or an output reads.
MainInterface::Components MainInterface::components_read() const {
  Components components;
  const Body& body = c_.bodies.main();
  const auto add = [&](std::int32_t node, std::int32_t output) {
    if (node >= 0 && nth(body.ops, node)->kind == OpKind::dequeue)
      components[static_cast<std::uint32_t>(node)].insert(output);
  };
  for (std::size_t i = 0; i < body.size(); ++i)
    for (const InputRef& in : needed_[i] ? body.inputs_of(i) : std::span<const InputRef>())
      add(in.node, in.output);
  for (const Tensor t : fetched_) add(t.node, t.output);
  return components;
}

Value* MainInterface::add_placeholder(const Frame& f, std::uint32_t n, bool has_default) {
  const NodeDef& def = f.body->node(n);
  ir::OutputSpec type = known_type({static_cast<std::int32_t>(n), 0});
  if (type.dtype == DType::undefined) fail(Code::bad_model, "the placeholder has no type that is known");
  std::string name = std::string(def.name) + ":0";
  for (const Feed& spare : c_.request.spare_feeds)
    if (spare.tensor == name || spare.tensor == def.name) {
      name = spare.name;
      if (spare.shape_given) type.shape = spare.shape;
    }
  if (!c_.request.feeds.empty())
    c_.report(
        f, n,
        {.severity = Severity::warning,
         .code = Code::bad_option,
         .message = "the outputs need '" + std::string(def.name) +
                    "', which is not among the inputs: it becomes an input",
         .remedy = has_default ? "Add it to --inputs, or name it in --use-default." : "Add it to --inputs."});
  Value* input = c_.graph->add_input(name, type.dtype, type.shape);
  input_tensors_[input] = std::string(def.name) + ":0";
  return input;
}

Values MainInterface::add_components(const Frame& f, std::uint32_t n) {
  if (f.kind != Frame::Kind::main)
    fail(Code::unsupported_op, "takes elements from a dataset or queue inside of a function",
         "Export a function that takes them as arguments.");
  const OpDef* op = f.body->ops[n]->def;
  Values values(tensor_types(op->outputs, c_.decode_attrs(f, n)).size());
  if (!components_) components_ = components_read();
  for (const std::int32_t k : (*components_)[n]) {
    const Tensor t{static_cast<std::int32_t>(n), k};
    if (is_fed({.node = t.node, .output = t.output}) || static_cast<std::size_t>(k) >= values.size())
      continue;
    const ir::OutputSpec type = known_type(t);
    const std::string tensor = std::string(f.body->node(n).name) + ":" + std::to_string(k);
    Value* input = c_.graph->add_input(tensor, type.dtype, type.shape);
    input_tensors_[input] = tensor;
    nth(values, k) = input;
  }
  c_.report(f, n,
            {.severity = Severity::warning,
             .code = Code::bad_option,
             .message = "the outputs need the elements that it takes from a dataset or queue; they are not "
                        "among the inputs and become inputs",
             .remedy = "Add it to --inputs."});
  return values;
}

void MainInterface::set_outputs(Frame& main, const std::function<Value*(const InputRef&)>& find) {
  Values outputs;
  std::unordered_set<const Value*> taken;
  for (std::size_t i = 0; i < fetched_.size(); ++i) {
    const Tensor t = fetched_[i];
    Value* v = find(InputRef{.node = t.node, .output = t.output});
    if (!v) {
      c_.diagnostics.push_back(
          {.code = Code::bad_option,
           .message = "the output '" + fetches_[i].tensor + "' does not exist: its node has " +
                      std::to_string(main.outputs_of(static_cast<std::uint32_t>(t.node)).count) +
                      " outputs"});
      continue;
    }
    const bool is_own = v->producer() && v->producer()->op() != "ReadVariableOp" && taken.insert(v).second;
    outputs.push_back(
        is_own ? v
               : add_identity(*c_.graph, v,
                              std::string(main.body->node(static_cast<std::size_t>(t.node)).name)));
  }
  if (outputs.size() == fetched_.size()) name_outputs(std::move(outputs));
}

void MainInterface::name_outputs(Values outputs) {
  for (std::size_t i = 0; i < fetched_.size(); ++i) {
    const std::string wanted = output_name(fetches_[i]);
    c_.graph->rename(outputs[i], wanted);
    if (outputs[i]->name() != wanted)
      c_.diagnostics.push_back(
          {.severity = Severity::warning,
           .code = Code::bad_option,
           .message = "the output '" + wanted + "' is renamed to '" + outputs[i]->name() +
                      "': an input has that name, and each ONNX tensor needs a name of its own",
           .remedy = "choose another name with --rename-outputs"});
  }
  c_.graph->set_outputs(std::move(outputs));
}

Interface MainInterface::describe(std::vector<State> states) const {
  Interface found;
  for (const Value* v : c_.graph->inputs()) {
    const auto tensor = input_tensors_.find(v);
    found.inputs.push_back(tensor == input_tensors_.end() ? "" : tensor->second);
  }
  for (const Fetch& f : fetches_) found.outputs.push_back(f.tensor);
  found.outputs.resize(c_.graph->outputs().size());
  found.states = std::move(states);
  return found;
}

}  // namespace t2o::tf
