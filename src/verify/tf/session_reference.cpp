#include "verify/tf/session_reference.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>

#include "diagnostics.h"
#include "support/mapped_file.h"
#include "tf/source.h"
#include "tf/source_format.h"
#include "tf/text_proto.h"
#include "verify/tf/rebuild.h"
#include "verify/tf/unoptimized.h"
#include "verify/tf/variables.h"

namespace t2o::verify {
namespace {

using engines::TfGraph;
using engines::TfSession;
using engines::TfSessionOptions;

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

bool draws_random_numbers(const tf::NodeList& list) {
  return std::ranges::any_of(list.nodes, [](const tf::NodeDef& n) {
    const auto has = [&](std::string_view part) { return n.op.find(part) != std::string_view::npos; };
    const bool is_stateful_draw = n.op.starts_with("Stateful") && (has("Uniform") || has("Normal"));
    return (has("Random") && !has("Stateless")) || has("RngReadAndSkip") || is_stateful_draw ||
           has("Multinomial") || has("TruncatedNormal") || has("SampleDistorted") || has("Candidate");
  });
}

class SessionReference : public Reference {
 public:
  SessionReference(const tf2onnx::Options& options, Ports ports, const TfSessionOptions& engine)
      : Reference(std::move(ports)), library_(engine.library), source_(tf::open_source(options)) {
    session_ = std::make_unique<TfSession>(open_session(source_, options, engine, saved_model_));
    for (Port& port : ports_.inputs) complete(port, session_->graph());
    for (Port& port : ports_.outputs) complete(port, session_->graph());
    assignments_ =
        plan_assignments(*session_, source_, tensors_of(ports_.outputs), tensors_of(ports_.inputs));
    if (assignments_.each_time || assignments_.targets.empty()) return;
    session_->run(assignments_.values, {}, assignments_.targets);
    assignments_ = {};
  }

  Runtime runtime() const override { return {"TensorFlow", engines::tensorflow_version(library_), "", ""}; }

  std::vector<TensorPtr> run(const std::vector<TensorPtr>& inputs) override {
    if (!assignments_.targets.empty()) session_->run(assignments_.values, {}, assignments_.targets);
    if (keeps_state_) assignments_ = {};
    engines::Feeds feeds;
    std::map<std::string, TensorPtr> given;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      feeds.emplace_back(ports_.inputs[i].tensor, inputs[i]);
      given.emplace(whole_name(ports_.inputs[i].tensor), inputs[i]);
    }
    Strings wanted;
    for (const Port& p : ports_.outputs)
      if (!given.contains(whole_name(p.tensor))) wanted.push_back(p.tensor);
    const std::vector<TensorPtr> computed =
        wanted.empty() ? std::vector<TensorPtr>() : session_->run(feeds, wanted);
    std::vector<TensorPtr> results;
    auto next = computed.begin();
    for (const Port& p : ports_.outputs) {  // TensorFlow does not return what it is fed
      const auto input = given.find(whole_name(p.tensor));
      results.push_back(input != given.end() ? input->second : *next++);
    }
    return results;
  }

  void keep_state() override { keeps_state_ = true; }

  bool draws_random_numbers() const override {
    const auto& functions = source_.graph.functions;
    return verify::draws_random_numbers(source_.graph.body) ||
           std::ranges::any_of(functions, [&](const tf::RawFunction& f) {
             return verify::draws_random_numbers(tf::parse_function(f.bytes, source_.graph.owner).body);
           });
  }

 private:
  std::string library_;
  tf::Source source_;
  std::unique_ptr<UnoptimizedSavedModel> saved_model_;  // while the session may read it
  std::unique_ptr<TfSession> session_;
  Assignments assignments_;  // before each run, or the first that keeps the state
  bool keeps_state_ = false;
};

// The prepared graph itself, handed to TensorFlow.
class RebuiltGraph : public Intermediates {
 public:
  RebuiltGraph(const ir::Graph& prepared, const std::vector<TensorPtr>& inputs, const EngineOptions& engine)
      : rebuilt_(rebuild(prepared, engine.tensorflow_library)),
        session_(rebuilt_.graph,
                 {.single_threaded = false, .optimize = false, .library = engine.tensorflow_library}) {
    for (std::size_t i = 0; i < prepared.inputs().size() && i < inputs.size(); ++i)
      feeds_.emplace_back(rebuilt_.tensors.at(prepared.inputs()[i]->name()), inputs[i]);
  }

  bool has(const std::string& value) const override {
    const auto found = rebuilt_.tensors.find(value);
    if (found == rebuilt_.tensors.end()) return false;
    const DType t = rebuilt_.graph.dtype(found->second);
    return !contains({DType::undefined, DType::variant, DType::resource}, t);
  }

  std::vector<TensorPtr> compute(const Strings& values) override {
    Strings fetches;
    for (const std::string& v : values)
      if (!fed(v)) fetches.push_back(rebuilt_.tensors.at(v));
    const std::vector<TensorPtr> computed =
        fetches.empty() ? std::vector<TensorPtr>() : session_.run(feeds_, fetches);
    std::vector<TensorPtr> results;
    auto next = computed.begin();
    for (const std::string& v : values) {
      const TensorPtr given = fed(v);
      results.push_back(given ? given : *next++);
    }
    return results;
  }

 private:
  TensorPtr fed(const std::string& value) const {
    const std::string& tensor = rebuilt_.tensors.at(value);
    const auto found = std::ranges::find_if(feeds_, [&](const auto& feed) { return feed.first == tensor; });
    return found == feeds_.end() ? nullptr : found->second;
  }

  Rebuilt rebuilt_;
  TfSession session_;
  engines::Feeds feeds_;
};

}  // namespace

std::unique_ptr<Reference> tf_reference(const tf2onnx::Options& options, Ports ports,
                                        const EngineOptions& engine) {
  return std::make_unique<SessionReference>(
      options, std::move(ports),
      TfSessionOptions{
          .single_threaded = engine.threads == 1, .optimize = false, .library = engine.tensorflow_library});
}

std::unique_ptr<Intermediates> tf_intermediates(const ir::Graph& prepared,
                                                const std::vector<TensorPtr>& inputs,
                                                const EngineOptions& engine) {
  return std::make_unique<RebuiltGraph>(prepared, inputs, engine);
}

}  // namespace t2o::verify
