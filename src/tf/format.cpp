#include "tf/format.h"

#include <algorithm>

#include "tf/cut_shapes.h"
#include "tf/frozen_graph.h"
#include "tf/source.h"

namespace t2o::tf {
namespace {

using tf2onnx::Options;

ModelSignature::Tensor neutral(const SignatureTensor& t) {
  return {t.key, t.tensor, t.dtype, t.shape, t.dim_names};
}

class FrozenGraphDef : public FrozenModel {
 public:
  explicit FrozenGraphDef(FrozenGraph graph) : graph_(std::move(graph)) {}
  std::size_t size() const override { return graph_.graph_def.size(); }
  void stream(const std::function<void(Bytes)>& write) const override { graph_.graph_def.stream(write); }

 private:
  FrozenGraph graph_;
};

class TensorFlowModel : public t2o::Source {
 public:
  explicit TensorFlowModel(tf::Source source) : source_(std::move(source)) {}

  std::string description(const Options& o) const override {
    std::string text = source_.kind;
    if (chosen(o).signature) text += ", signature " + source_.signature->name;
    if (!source_.tensorflow_version.empty()) text += ", TensorFlow " + source_.tensorflow_version;
    return text;
  }

  std::vector<ModelSignature> signatures() const override {
    std::vector<ModelSignature> all;
    for (const tf::Signature& s : source_.signatures) {
      ModelSignature& to = all.emplace_back(ModelSignature{s.name, {}, {}});
      std::ranges::transform(s.inputs, std::back_inserter(to.inputs), neutral);
      std::ranges::transform(s.outputs, std::back_inserter(to.outputs), neutral);
    }
    return all;
  }

  std::map<std::string, std::size_t> op_counts() const override {
    std::map<std::string, std::size_t> counts;
    const auto add = [&](const NodeList& list) {
      for (const NodeDef& n : list.nodes) ++counts[std::string(n.op)];
    };
    add(source_.graph.body);
    for (const RawFunction& f : source_.graph.functions)
      add(parse_function(f.bytes, source_.graph.owner).body);
    return counts;
  }

  bool cuts_inside(const Options& o) const override {
    Diagnostics ignored;
    return make_request(chosen(o), o, ignored).cuts_inside();
  }

  Prepared prepare(const Options& o, const InferShapes& infer_shapes,
                   Diagnostics& diagnostics) const override {
    const ImportRequest request = make_request(chosen(o), o, diagnostics);
    if (o.dequantize)
      collect(diagnostics, [] {
        fail(Code::bad_option, "--dequantize is for TensorFlow Lite models: TensorFlow's compute in floats",
             "--quantize-mode float leaves out the fake quantization of a TensorFlow graph");
      });
    if (has_errors(diagnostics)) return {};
    Prepared p;
    Interface interface;
    p.graph = import_graph(source_.graph, request, diagnostics, &interface);
    if (!p.graph) return {};
    learn_cut_shapes(*p.graph, interface, source_.graph, request, infer_shapes);
    for (const State& s : interface.states) p.input_defaults.emplace_back(s.input, s.initial);
    p.inputs = std::move(interface.inputs);
    p.outputs = std::move(interface.outputs);
    return p;
  }

  // A tensor inside of a function has no name in the source graph: with such a cut the whole graph is frozen.
  std::shared_ptr<const FrozenModel> freeze(const Options& o, const Prepared& p,
                                            Diagnostics& diagnostics) const override {
    std::vector<FrozenInput> inputs;
    const Values& values = p.graph->inputs();
    const bool is_whole = cuts_inside(o);
    for (std::size_t i = 0; i < values.size() && !is_whole; ++i)
      if (!p.inputs[i].empty()) inputs.push_back({p.inputs[i], values[i]->dtype(), values[i]->shape()});
    Strings outputs = p.outputs;
    std::erase(outputs, "");
    std::shared_ptr<const FrozenModel> frozen;
    collect(diagnostics, [&] {
      FrozenGraph graph = tf::freeze(source_.graph, inputs, outputs, source_.variable, diagnostics);
      check_size(graph);
      frozen = std::make_shared<FrozenGraphDef>(std::move(graph));
    });
    return frozen;
  }

 private:
  const tf::Source& chosen(const Options& o) const {
    choose(source_, o);
    return source_;
  }

  mutable tf::Source source_;  // with the signature that was asked for last
};

}  // namespace

bool reads(const Options&) { return true; }  // or says which format it is that nobody reads

SourcePtr open(const Options& o) { return std::make_unique<TensorFlowModel>(look_into(o)); }

SourcePtr open_bytes(const Options& o, Bytes graph_def, Owner owner) {
  return std::make_unique<TensorFlowModel>(look_into(o, graph_def, std::move(owner)));
}

}  // namespace t2o::tf
