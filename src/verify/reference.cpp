#include "verify/reference.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

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
  fail(Code::internal, "the source could not be read");
}

struct Ports {
  std::vector<Port> inputs, outputs;
  DType coarsest = DType::undefined;
};

DType coarsest_type(const ir::Graph& main) {
  DType coarsest = DType::undefined;
  std::vector<const ir::Graph*> todo = {&main};
  while (!todo.empty()) {
    const ir::Graph& g = *todo.back();
    todo.pop_back();
    for (const ir::Node& n : g.nodes()) {
      ir::for_each_subgraph(n, [&](const ir::Graph& inner) { todo.push_back(&inner); });
      if (n.op() == "Cast" || n.op() == "Identity") continue;  // weights may merely be kept in 16 bits
      for (const Value* v : n.outputs()) {
        if (v->dtype() == DType::bf16) return DType::bf16;
        if (v->dtype() == DType::f16) coarsest = DType::f16;
      }
    }
  }
  return coarsest;
}

// As the conversion has them: its importer is asked.
Ports ports_of(const tf::Source& source, const tf2onnx::Options& options) {
  Diagnostics diagnostics;
  const tf::ImportRequest request = tf::make_request(source, options, diagnostics);
  if (has_errors(diagnostics)) throw_first(diagnostics);
  if (request.cuts_inside())
    fail(Code::not_yet, "TensorFlow cannot return tensors from inside of a function",
         "verify the whole model, or cut at names of the main graph");
  tf::Interface interface;
  const GraphPtr graph = tf::import_graph(source.graph, request, diagnostics, &interface);
  if (!graph) throw_first(diagnostics);
  const auto ports = [](const Values& values, const Strings& tensors) {
    std::vector<Port> list;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!tensors[i].empty())
        list.push_back(
            {values[i]->name(), tensors[i], values[i]->dtype(), values[i]->shape(),
             values[i]->is_graph_input() && is_int(values[i]->dtype()) ? use_of(*values[i]) : IntegerUse()});
    return list;
  };
  return {ports(graph->inputs(), interface.inputs), ports(graph->outputs(), interface.outputs),
          coarsest_type(*graph)};
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

void import(TfGraph& graph, Bytes graph_def) {
  const std::optional<std::string> unoptimized = unoptimized_graph_def(graph_def);
  graph.import(unoptimized ? std::as_bytes(std::span(*unoptimized)) : graph_def);
}

TfSession open_graph_def(const tf::Found& found, const TfSessionOptions& engine) {
  TfGraph graph(engine.library);
  import(graph, read_message(found, tf::graph_def_from_text).bytes());
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
  import(graph, meta.graph_def);
  TfSession session(std::move(graph), engine);
  const std::string prefix = std::filesystem::path(found.path).replace_extension().string();
  if (!meta.restore_op.empty()) restore_variables(session, meta.restore_op, prefix);
  return session;
}

// The call of a concrete function reads nodes of the graph that is there.
void add_call(const TfSession& session, const tf::ConcreteCall& call) {
  if (call.nodes.empty()) return;
  TfGraph::InputMap captured;
  for (const std::string& tensor : call.captured) captured.emplace_back(tensor, tensor);
  TfGraph graph = session.graph();
  const Bytes nodes = std::as_bytes(std::span(call.nodes));
  const std::optional<std::string> unoptimized = unoptimized_graph_def(nodes);
  graph.import(unoptimized ? std::as_bytes(std::span(*unoptimized)) : nodes, "", captured);
}

TfSession open_session(const tf::Source& source, const tf2onnx::Options& options,
                       const TfSessionOptions& engine, std::unique_ptr<UnoptimizedSavedModel>& saved_model) {
  const tf::Found found = tf::find_source(options.model, options.format);
  switch (found.format) {
    case tf2onnx::Format::saved_model: {
      saved_model = std::make_unique<UnoptimizedSavedModel>(found.path);
      TfSession session = TfSession::load_saved_model(saved_model->directory(), source.tags, engine);
      add_call(session, source.call);
      if (source.assets.empty()) saved_model.reset();  // else a run may read them
      return session;
    }
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
         "Choose inputs and outputs of the main graph: TensorFlow cannot feed or fetch tensors inside of "
         "functions.");
  port.dtype = graph.dtype(port.tensor);
  if (const auto merged = merge(port.shape, graph.shape(port.tensor))) port.shape = *merged;
}

Strings tensors_of(const std::vector<Port>& ports) {
  Strings tensors;
  for (const Port& p : ports) tensors.push_back(p.tensor);
  return tensors;
}

std::string whole_name(const std::string& tensor) {
  return tensor.find(':') == std::string::npos ? tensor + ":0" : tensor;
}

}  // namespace

Reference::Reference(const tf2onnx::Options& options, const TfSessionOptions& engine) {
  engines::tensorflow_version(engine.library);  // a missing engine is told before anything is read
  const tf::Source source = tf::open_source(options);
  Ports ports = ports_of(source, options);
  inputs_ = std::move(ports.inputs);
  outputs_ = std::move(ports.outputs);
  coarsest_ = ports.coarsest;
  session_ = std::make_unique<TfSession>(open_session(source, options, engine, saved_model_));
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
  std::map<std::string, TensorPtr> given;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    feeds.emplace_back(inputs_[i].tensor, inputs[i]);
    given.emplace(whole_name(inputs_[i].tensor), inputs[i]);
  }
  Strings wanted;
  for (const Port& p : outputs_)
    if (!given.contains(whole_name(p.tensor))) wanted.push_back(p.tensor);
  const std::vector<TensorPtr> computed =
      wanted.empty() ? std::vector<TensorPtr>() : session_->run(feeds, wanted);
  std::vector<TensorPtr> results;
  auto next = computed.begin();
  for (const Port& p : outputs_) {  // TensorFlow does not give back what it is given
    const auto input = given.find(whole_name(p.tensor));
    results.push_back(input != given.end() ? input->second : *next++);
  }
  return results;
}

}  // namespace t2o::verify
