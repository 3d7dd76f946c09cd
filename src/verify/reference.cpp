#include "verify/reference.h"

#include <algorithm>
#include <filesystem>

#include "diagnostics.h"
#include "support/mapped_file.h"
#include "tf/source.h"
#include "tf/source_format.h"
#include "tf/text_proto.h"

namespace t2o::verify {
namespace {

using engines::TfGraph;
using engines::TfSession;
using engines::TfSessionOptions;

[[noreturn]] void throw_first(const Diagnostics& diagnostics) {
  for (const Diagnostic& d : diagnostics)
    if (d.severity == Severity::error) throw ConversionError(d);
  fail(Code::internal, "the source could not be read, for no reason given");
}

struct Interface {
  std::vector<Port> inputs, outputs;
};

// Where the model does not tell its interface, the importer finds it, as it does when it converts.
// There new names are not given yet, so what has no tensor of its own is called as its tensor.
Interface found_interface(const tf::Source& source, const tf::ImportRequest& request,
                          const tf2onnx::Options& options) {
  Diagnostics diagnostics;
  const GraphPtr graph = tf::import_graph(source.graph, request, diagnostics);
  if (!graph) throw_first(diagnostics);
  const auto ports = [](const Values& values, const auto& asked, const Strings& names) {
    std::vector<Port> list;
    for (const Value* v : values) {
      const std::size_t i = list.size();
      const std::string name = i < names.size() ? names[i] : v->name();
      list.push_back({name, i < asked.size() ? asked[i].tensor : v->name(), v->dtype(), v->shape()});
    }
    return list;
  };
  return {ports(graph->inputs(), request.feeds, options.rename_inputs),
          ports(graph->outputs(), request.fetches, options.rename_outputs)};
}

// Where some inputs are asked for, the outputs may need others.
void add_other_inputs(Interface& interface, const tf::Source& source, const tf::ImportRequest& request) {
  Diagnostics diagnostics;
  const GraphPtr graph = tf::import_graph(source.graph, request, diagnostics);
  if (!graph) throw_first(diagnostics);
  for (const Value* v : graph->inputs()) {
    const auto is_it = [&](const auto& port) { return port.name == v->name(); };
    if (std::any_of(interface.inputs.begin(), interface.inputs.end(), is_it)) continue;
    const auto spare = std::find_if(request.spare_feeds.begin(), request.spare_feeds.end(), is_it);
    interface.inputs.push_back({v->name(), spare == request.spare_feeds.end() ? v->name() : spare->tensor, v->dtype(), v->shape()});
  }
}

Interface interface_of(const tf::Source& source, const tf2onnx::Options& options) {
  Diagnostics diagnostics;
  const tf::ImportRequest request = tf::make_request(source, options, diagnostics);
  if (has_errors(diagnostics)) throw_first(diagnostics);
  if (request.cuts_inside())
    fail(Code::not_yet, "TensorFlow cannot be asked for what is inside of a function", "verify the whole model, or cut at names of the main graph");
  if (request.find_interface) return found_interface(source, request, options);
  Interface interface;
  for (const tf::Feed& f : request.feeds)
    interface.inputs.push_back({f.name.empty() ? f.tensor : f.name, f.tensor, f.dtype, f.shape});
  for (const tf::Fetch& f : request.fetches)
    interface.outputs.push_back({f.name.empty() ? f.tensor : f.name, f.tensor});
  if (!options.inputs.empty()) add_other_inputs(interface, source, request);
  return interface;
}

struct Message {  // serialized; text is made binary first
  MappedFilePtr file;
  std::string from_text;
  Bytes bytes() const { return from_text.empty() ? file->bytes() : std::as_bytes(std::span(from_text)); }
};

Message read_message(const tf::Found& found, std::string (*from_text)(std::string_view, const std::string&)) {
  Message message{MappedFile::open(found.path), ""};
  const Bytes bytes = message.file->bytes();
  if (found.is_text)
    message.from_text = from_text({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, found.path);
  return message;
}

TfSession open_graph_def(const tf::Found& found, const TfSessionOptions& engine) {
  TfGraph graph(engine.library);
  graph.import(read_message(found, tf::graph_def_from_text).bytes());
  return TfSession(std::move(graph), engine);
}

// "save/restore_all" restores from the path that "save/Const" holds. Without it the variables are assigned.
void restore_variables(TfSession& session, const std::string& restore_op, const std::string& prefix) {
  const std::string filename = restore_op.substr(0, restore_op.rfind('/') + 1) + "Const";
  if (!session.graph().has(filename)) return;
  session.run({{filename, std::make_shared<Tensor>(Ints{}, Strings{prefix})}}, {}, {restore_op});
}

TfSession open_meta_graph(const tf::Found& found, const TfSessionOptions& engine) {
  const auto message = std::make_shared<const Message>(read_message(found, tf::meta_graph_from_text));
  const tf::MetaGraph meta = tf::parse_meta_graph(message->bytes(), message);
  TfGraph graph(engine.library);
  graph.import(meta.graph_def);
  TfSession session(std::move(graph), engine);
  const std::string prefix = std::filesystem::path(found.path).replace_extension().string();
  if (!meta.restore_op.empty()) restore_variables(session, meta.restore_op, prefix);
  return session;
}

TfSession open_session(const tf::Source& source, const tf2onnx::Options& options,
                       const TfSessionOptions& engine) {
  const tf::Found found = tf::find_source(options.model, options.format);
  switch (found.format) {
    case tf2onnx::Format::saved_model:
      return TfSession::load_saved_model(found.path, source.tags, engine);
    case tf2onnx::Format::meta_graph:
      return open_meta_graph(found, engine);
    default:
      return open_graph_def(found, engine);
  }
}

// What TensorFlow knows of a tensor goes before what a file says.
void complete(Port& port, const TfGraph& graph) {
  if (!graph.has(port.tensor))
    fail(Code::bad_option, "TensorFlow's graph has no tensor '" + port.tensor + "'",
         "Tensors inside functions cannot be fed or fetched there: choose inputs and outputs of the graph "
         "itself.");
  port.dtype = graph.dtype(port.tensor);
  if (const auto merged = merge(port.shape, graph.shape(port.tensor))) port.shape = *merged;
}

Strings tensors_of(const std::vector<Port>& ports) {
  Strings tensors;
  for (const Port& p : ports) tensors.push_back(p.tensor);
  return tensors;
}

}  // namespace

Reference::Reference(const tf2onnx::Options& options, const TfSessionOptions& engine) {
  engines::tensorflow_version(engine.library);  // a missing engine is told before anything is read
  Diagnostics diagnostics;
  const tf::Source source = tf::open_source(options, diagnostics);
  if (has_errors(diagnostics)) throw_first(diagnostics);
  Interface interface = interface_of(source, options);
  inputs_ = std::move(interface.inputs);
  outputs_ = std::move(interface.outputs);
  session_ = std::make_unique<TfSession>(open_session(source, options, engine));
  for (Port& port : inputs_) complete(port, session_->graph());
  for (Port& port : outputs_) complete(port, session_->graph());
  assignments_ = plan_assignments(*session_, source, tensors_of(outputs_), tensors_of(inputs_));
  if (assignments_.each_time || assignments_.targets.empty()) return;
  session_->run(assignments_.values, {}, assignments_.targets);
  assignments_ = {};
}

std::vector<TensorPtr> Reference::run(const std::vector<TensorPtr>& inputs) {
  if (!assignments_.targets.empty()) session_->run(assignments_.values, {}, assignments_.targets);
  if (keeps_state_) assignments_ = {};
  engines::Feeds feeds;
  for (std::size_t i = 0; i < inputs.size(); ++i) feeds.emplace_back(inputs_[i].tensor, inputs[i]);
  return session_->run(feeds, tensors_of(outputs_));
}

}  // namespace t2o::verify
