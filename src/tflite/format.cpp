#include "tflite/format.h"

#include <cstring>
#include <fstream>

#include "diagnostics.h"
#include "support/path.h"
#include "support/wire.h"
#include "tflite/request.h"

namespace t2o::tflite {
namespace {

using tf2onnx::Options;

class LiteModel : public Source {
 public:
  explicit LiteModel(ModelPtr model) : model_(std::move(model)) {}

  std::string description(const Options& o) const override {
    std::string text = "tflite";
    if (const auto chosen = signature(o)) text += ", signature " + model_->signatures()[*chosen].name;
    return text;
  }

  std::vector<ModelSignature> signatures() const override { return model_->signatures(); }

  std::map<std::string, std::size_t> op_counts() const override {
    std::map<std::string, std::size_t> counts;
    for (std::size_t g = 0; g < model_->subgraph_count(); ++g)
      for (unsigned i = 0; i < count(model_->subgraph(g).operators()); ++i)
        ++counts[model_->op_name(*model_->subgraph(g).operators()->Get(i))];
    return counts;
  }

  bool cuts_inside(const Options&) const override { return false; }

  Prepared prepare(const Options& o, const InferShapes&, Diagnostics& diagnostics) const override {
    const Request request = make_request(*model_, signature(o), o, diagnostics);
    if (has_errors(diagnostics)) return {};
    Prepared p;
    Lowered lowered = lower(*model_, request, diagnostics);
    if (!lowered.graph) return {};
    p.graph = std::move(lowered.graph);
    p.input_defaults = std::move(lowered.initial);
    p.files = model_->weight_files();
    for (const Port& port : request.inputs)
      p.inputs.push_back(model_->tensor_name(request.subgraph, port.tensor));
    for (const Port& port : request.outputs)
      p.outputs.push_back(model_->tensor_name(request.subgraph, port.tensor));
    p.inputs.resize(p.graph->inputs().size());  // behind them, the states
    p.outputs.resize(p.graph->outputs().size());
    return p;
  }

  std::shared_ptr<const FrozenModel> freeze(const Options&, const Prepared&,
                                            Diagnostics& diagnostics) const override {
    collect(diagnostics, [] {
      fail(Code::bad_option, "--output-frozen-graph: a TensorFlow Lite model has no GraphDef",
           "leave it out");
    });
    return nullptr;
  }

 private:
  std::optional<std::size_t> signature(const Options& o) const {
    if (!o.concrete_function.empty())
      fail(Code::bad_option, "--concrete-function: a TensorFlow Lite model has no functions",
           "choose a signature with --signature");
    return choose_signature(*model_, o);
  }

  ModelPtr model_;
};

// The mark stands behind the offset of the root table.
bool has_mark(const std::string& path) {
  char head[8] = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(head, sizeof head) && std::memcmp(head + 4, "TFL3", 4) == 0;
}

}  // namespace

bool reads(const Options& o) {
  if (o.format != tf2onnx::Format::detect) return o.format == tf2onnx::Format::tflite;
  if (!is_file(o.model)) return false;
  return o.model.ends_with(".tflite") || has_mark(o.model);
}

std::string file_of(const Options& o) { return o.model; }

SourcePtr open(const Options& o) {
  const Reading scope(o.model);
  return std::make_unique<LiteModel>(Model::open(o.model));
}

SourcePtr open_bytes(const Options&, Bytes bytes, Owner owner) {
  return std::make_unique<LiteModel>(Model::of_bytes(bytes, std::move(owner)));
}

}  // namespace t2o::tflite
