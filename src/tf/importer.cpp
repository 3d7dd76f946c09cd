#include "tf/importer.h"

#include <algorithm>

#include "tf/dequeue.h"
#include "tf/find_fetches.h"
#include "tf/functionalize.h"
#include "tf/inner_cut.h"
#include "tf/state_effects.h"

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

Importer::Importer(const GraphDef& graph, const ImportRequest& request, Diagnostics& diagnostics)
    : request_(&request),
      diagnostics_(&diagnostics),
      bodies_(graph, diagnostics),
      graph_(std::make_shared<ir::Graph>()) {
  graph_->set_dialect("tf");
}

GraphPtr Importer::run() {
  GraphPtr graph = import();
  const bool told = is_for_training(bodies_.main());
  if (!graph && request_->fetches.empty() && !fetches_.empty() && !told) note_found_outputs(Severity::note);
  return graph;
}

void Importer::note_found_outputs(Severity severity) {
  constexpr std::size_t kListed = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(kListed, fetches_.size()); ++i)
    names += (i ? ", '" : "'") + fetches_[i].tensor + "'";
  if (fetches_.size() > kListed) names += " and " + std::to_string(fetches_.size() - kListed) + " more";
  diagnostics_->push_back(
      {.severity = severity,
       .code = Code::bad_option,
       .message = (severity == Severity::note
                       ? "no outputs were named, so all tensors that nothing reads become outputs: "
                       : "no outputs were named, and the graph is for training; these become outputs: ") +
                  names,
       .remedy = "name the outputs of the model with --outputs"});
}

GraphPtr Importer::import() {
  const std::size_t before = diagnostics_->size();
  const auto failed = [&] {
    return std::any_of(diagnostics_->begin() + static_cast<std::ptrdiff_t>(before), diagnostics_->end(),
                       [](const Diagnostic& d) { return d.severity == Severity::error; });
  };
  bodies_.prepare(bodies_.main());
  fetches_ = request_->fetches;
  if (fetches_.empty() && request_->find_interface) {
    fetches_ = find_fetches(bodies_.main());
    if (is_for_training(bodies_.main()) && !fetches_.empty()) note_found_outputs(Severity::warning);
    name_found(fetches_, request_->output_names, "--rename-outputs");
  }
  if (fetches_.empty())
    diagnostics_->push_back(
        {.code = Code::bad_option,
         .message =
             "the model has no outputs to convert: each result is read by another operation, or is there "
             "for saving, initializing, summaries or checks",
         .remedy = "name outputs with --outputs"});
  fetched_ = locate_all(fetches_);
  for (const Feed& feed : feeds_or_placeholders())
    if (Tensor t; locate(feed.tensor, "input", t)) add_feed(feed, t);
  // What the shapes behind an input that is cut inside were, is not known yet.
  trust_shapes_ = trust_shapes_ && std::none_of(request_->cut_inputs.begin(), request_->cut_inputs.end(),
                                                [](const Feed& f) { return f.shape_given; });
  if (failed()) return nullptr;
  for (const Fetch& f : fetches_) graph_->reserve_name(output_name(f));
  mark_needed();
  lost_changes_ =
      check_state_effects(bodies_,
                          {needed_roots(), &main_needed_, [this](const InputRef& in) { return is_fed(in); },
                           request_->keep_state},
                          *diagnostics_);
  push_frame({.body = &bodies_.main(), .graph = graph_.get(), .needed = &main_needed_});
  while (!frames_.empty() && !gave_up_) step();
  if (!failed()) {
    functionalize(*graph_);
    graph_->erase_dead();
  }
  return failed() ? nullptr : graph_;
}

// The placeholders that the fetches need, where the request leaves the inputs open.
std::vector<Feed> Importer::feeds_or_placeholders() {
  if (!request_->feeds.empty() || !request_->find_interface) return request_->feeds;
  mark_needed();
  std::vector<Feed> feeds;
  const Body& body = bodies_.main();
  for (std::size_t i = 0; i < body.size(); ++i) {
    const OpKind kind = body.ops[i]->kind;
    const std::string name(body.node(i).name);
    const auto& forced = request_->ignore_default;
    const bool is_input =
        kind == OpKind::placeholder || (kind == OpKind::placeholder_with_default &&
                                        std::find(forced.begin(), forced.end(), name) != forced.end());
    if (is_input && main_needed_[i]) feeds.push_back({.tensor = name + ":0"});
    if (kind != OpKind::dequeue || !main_needed_[i]) continue;
    for (const std::int32_t k : components_read(static_cast<std::uint32_t>(i)))
      feeds.push_back({.tensor = tensor_name(name, k)});
    note_components(static_cast<std::uint32_t>(i));
  }
  name_found(feeds, request_->input_names, "--rename-inputs");
  return feeds;
}

template <class T>
void Importer::name_found(std::vector<T>& found, const std::vector<std::string>& names, const char* option) {
  if (names.empty()) return;
  if (names.size() != found.size())
    diagnostics_->push_back({.code = Code::bad_option,
                             .message = std::string(option) + " has " + std::to_string(names.size()) +
                                        " names for " + std::to_string(found.size())});
  for (std::size_t i = 0; i < std::min(names.size(), found.size()); ++i) found[i].name = names[i];
}

std::vector<Importer::Tensor> Importer::locate_all(const std::vector<Fetch>& fetches) {
  std::vector<Tensor> tensors(fetches.size());
  for (std::size_t i = 0; i < fetches.size(); ++i) locate(fetches[i].tensor, "output", tensors[i]);
  return tensors;
}

bool Importer::locate(const std::string& tensor, std::string_view what, Tensor& t) {
  const Body& body = bodies_.main();
  const auto [name, output] = split_tensor_name(tensor);
  const auto it = body.index.find(name);
  if (it && output >= 0) {
    t = {static_cast<std::int32_t>(*it), static_cast<std::int32_t>(output)};
    return true;
  }
  const std::string near = nearest_name(body, name);
  diagnostics_->push_back({.code = Code::bad_option,
                           .message = "the " + std::string(what) + " '" + tensor + "' is not in the graph",
                           .remedy = near.empty() ? "" : "Did you mean '" + near + "'?"});
  return false;
}

void Importer::add_feed(const Feed& feed, Tensor t) {
  ir::OutputSpec type = known_type(t);
  const auto complain = [&](std::string message) {
    diagnostics_->push_back({.code = Code::bad_option, .message = std::move(message)});
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
      diagnostics_->push_back({.severity = Severity::warning,
                               .code = Code::bad_option,
                               .message = "the input '" + feed.tensor + "' has another shape in the model, " +
                                          listed(type.shape) + ", than is given for it"});
    trust_shapes_ = trust_shapes_ && feed.shape == type.shape;
    type.shape = feed.shape;
  }
  Value* input = graph_->add_input(feed.name.empty() ? feed.tensor : feed.name, type.dtype, type.shape);
  fed_[key(t)] = input;
  input_tensors_[input] = feed.tensor;
}

// What the main graph says of a tensor, before anything is imported.
ir::OutputSpec Importer::known_type(Tensor t) {
  const Body& body = bodies_.main();
  const auto n = static_cast<std::uint32_t>(t.node);
  const Frame f{.body = &bodies_.main()};
  ir::OutputSpec spec;
  try {
    const OpInfo& op = *body.ops[n];
    const OpDef* def = op.function ? bodies_.function(body.node(n).op)->signature : op.def;
    const Attrs attrs = decode_attrs(f, n);
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
    report(f, n, e.diagnostic());
  }
  return spec;
}

std::vector<std::uint32_t> Importer::needed_roots() const {
  std::vector<std::uint32_t> roots;
  for (const Tensor t : fetched_)
    if (!is_fed({.node = t.node, .output = t.output})) roots.push_back(static_cast<std::uint32_t>(t.node));
  return roots;
}

void Importer::mark_needed() {
  main_needed_ = reachable(bodies_.main(), needed_roots(), [this](const InputRef& in) { return is_fed(in); });
}

void Importer::set_outputs(Frame& f) {
  Values outputs;
  std::unordered_set<const Value*> taken;
  for (std::size_t i = 0; i < fetched_.size(); ++i) {
    const Tensor t = fetched_[i];
    const std::optional<Item> found = find_item(f, {.node = t.node, .output = t.output});
    if (!found) {
      diagnostics_->push_back(
          {.code = Code::bad_option,
           .message = "the output '" + fetches_[i].tensor + "' does not exist: its node has " +
                      std::to_string(f.outputs[static_cast<std::uint32_t>(t.node)].count) + " outputs"});
      continue;
    }
    Value* v = value(*found);
    const bool plain = v->producer() && taken.insert(v).second;
    outputs.push_back(
        plain ? v : identity(*graph_, v, std::string(f.body->node(static_cast<std::size_t>(t.node)).name)));
  }
  if (outputs.size() != fetched_.size()) return;
  for (std::size_t i = 0; i < fetched_.size(); ++i) {
    const std::string wanted = output_name(fetches_[i]);
    graph_->rename(outputs[i], wanted);
    if (outputs[i]->name() != wanted)
      diagnostics_->push_back(
          {.severity = Severity::warning,
           .code = Code::bad_option,
           .message = "the output '" + wanted + "' is renamed to '" + outputs[i]->name() +
                      "': an input has that name, and each ONNX tensor needs a name of its own",
           .remedy = "choose another name with --rename-outputs"});
  }
  add_states(outputs, taken);
  graph_->set_outputs(std::move(outputs));
}

// An inner tensor that has the name gets another one.
bool Importer::take_name(Value* v, const std::string& wanted) {
  graph_->rename(v, wanted);
  if (v->name() == wanted) return true;
  Value* holder = nullptr;
  std::vector<ir::Graph*> work{graph_.get()};
  const auto look = [&](const Values& values) {
    for (Value* other : values)
      if (other && other->name() == wanted) holder = other;
  };
  while (!work.empty() && !holder) {
    ir::Graph& g = *work.back();
    work.pop_back();
    look(g.constants());
    if (&g != graph_.get()) look(g.inputs());
    for (ir::Node& n : g.nodes()) {
      look(n.outputs());
      ir::for_each_subgraph(n, [&](ir::Graph& inner) { work.push_back(&inner); });
    }
  }
  const auto is_fetched = [&](const Fetch& f) { return output_name(f) == wanted; };
  if (!holder || std::any_of(fetches_.begin(), fetches_.end(), is_fetched)) return false;
  holder->graph()->rename(holder, wanted + "/inner");
  graph_->rename(v, wanted);
  return v->name() == wanted;
}

// A variable that the model changes is an input from now on, and what it becomes an output, which may be
// another one's input.
void Importer::add_states(Values& outputs, std::unordered_set<const Value*>& taken) {
  std::unordered_map<const Value*, Value*> input_of;  // what a variable was before
  std::vector<std::string> clashes;
  std::vector<std::pair<const Variable*, Value*>> inputs;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    if (!variables_[i].changed) continue;
    Value* before = value({nullptr, static_cast<std::int32_t>(i)});
    if (!before->constant()) continue;  // it has no value, which is reported
    const VariableRef& ref = variables_[i].ref;
    const std::string& name = ref.shared_name.empty() ? ref.node : ref.shared_name;
    const TensorPtr initial = before->constant();
    graph_->rename(before, name + "/initial");
    Value* input = graph_->add_input(name, initial->dtype(), initial->shape());
    graph_->replace_all_uses(before, input);
    input_of[before] = input;
    inputs.emplace_back(&variables_[i], input);
    states_.push_back({input->name(), input->name() + "_out", initial});
  }
  for (const auto& [variable, input] : inputs) {
    const auto other = input_of.find(variable->changed);
    Value* after = other == input_of.end() ? variable->changed : other->second;
    if (!after->producer() || !taken.insert(after).second) after = identity(*graph_, after, input->name());
    if (!take_name(after, input->name() + "_out")) clashes.push_back(input->name());
    outputs.push_back(after);
  }
  if (!clashes.empty())
    diagnostics_->push_back(
        {.code = Code::bad_option,
         .message =
             "the new value of variable '" + clashes.front() + "' cannot be called '" + clashes.front() +
             "_out': an input or output has that name" +
             (clashes.size() == 1 ? "" : ". So it is with " + std::to_string(clashes.size() - 1) + " more"),
         .remedy = "give the inputs or outputs other names with --rename-inputs or --rename-outputs"});
}

Interface Importer::interface() {
  Interface found;
  for (const Value* v : graph_->inputs()) found.inputs.push_back(input_tensors_[v]);
  for (const Fetch& f : fetches_) found.outputs.push_back(f.tensor);
  found.outputs.resize(graph_->outputs().size());
  found.states = std::move(states_);
  return found;
}

GraphPtr import_graph(const GraphDef& graph, const ImportRequest& request, Diagnostics& diagnostics,
                      Interface* interface) {
  GraphPtr imported;
  collect(diagnostics, [&] {
    Importer importer(graph, request, diagnostics);
    imported = importer.run();
    if (imported && interface) *interface = importer.interface();
    if (imported && request.cuts_inside()) cut_inside(*imported, request, diagnostics);
    importer.tell_lost_changes();
  });
  return has_errors(diagnostics) ? nullptr : imported;
}

}  // namespace t2o::tf
