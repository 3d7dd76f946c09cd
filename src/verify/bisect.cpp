#include "verify/bisect.h"

#include <algorithm>
#include <filesystem>

#include "diagnostics.h"
#include "onnx/image_layout.h"
#include "onnx/model_edit.h"
#include "pipeline.h"
#include "support/mapped_file.h"
#include "verify/candidate.h"
#include "verify/tf_rebuild.h"

namespace t2o::verify {
namespace {

constexpr std::size_t kAtOnce = 64;  // tensors fetched in one run: they all stay in memory

struct Candidates {
  std::vector<onnx::ModelNode> nodes;
  std::vector<std::pair<std::string, const onnx::ModelNode*>>
      values;  // of both graphs, in the order of execution
};

Candidates find_candidates(Bytes model, const std::string& path, const Rebuilt& reference) {
  Candidates c;
  c.nodes = onnx::model_nodes(model, path);
  for (const onnx::ModelNode& node : c.nodes)
    for (const std::string& value : node.outputs)
      if (!value.empty() && reference.tensors.contains(value)) c.values.emplace_back(value, &node);
  return c;
}

GraphPtr read_graph(const tf2onnx::Options& options) {
  Diagnostics diagnostics;
  GraphPtr graph = read_source(options, diagnostics);
  for (const Diagnostic& d : diagnostics)
    if (!graph && d.severity == Severity::error) throw ConversionError(d);
  if (!graph) fail(Code::internal, "the source could not be read");
  return graph;
}

// The same tensor may be channels first in the ONNX model.
std::optional<Comparison> compare_in_any_layout(const TensorPtr& expected, const TensorPtr& got,
                                                Tolerance tolerance) {
  Comparison c = compare(*expected, *got, tolerance);
  if (c.same_dtype && c.same_shape) return c;
  if (expected->dtype() == got->dtype() && expected->rank() == 4 && got->rank() == 4) {
    c = compare(*expected, *transposed(got, onnx::channels_last_perm(4)), tolerance);
    if (c.same_shape) return c;
  }
  return std::nullopt;
}

class Search {
 public:
  Search(const VerifyOptions& options, const engines::Feeds& onnx_feeds, const std::vector<TensorPtr>& inputs)
      : options_(options),
        onnx_feeds_(onnx_feeds),
        graph_(read_graph(options.source)),
        reference_(rebuild(*graph_, options.tensorflow_library)),
        tf_session_(reference_.graph,
                    {.single_threaded = false, .optimize = false, .library = options.tensorflow_library}),
        model_(MappedFile::open(options.onnx)),
        candidates_(find_candidates(model_->bytes(), options.onnx, reference_)) {
    for (std::size_t i = 0; i < graph_->inputs().size() && i < inputs.size(); ++i)
      tf_feeds_.emplace_back(reference_.tensors.at(graph_->inputs()[i]->name()), inputs[i]);
  }

  Divergence run() {
    if (candidates_.values.empty())
      fail(Code::bad_option,
           "the two graphs have no tensor names in common, so nothing can be compared inside",
           "Was the ONNX model made by this program, from this model?");
    const engines::OrtSession session = open_with_outputs();
    Divergence result;
    for (std::size_t from = 0; from < candidates_.values.size() && !result.found; from += kAtOnce)
      compare_part(session, from, std::min(from + kAtOnce, candidates_.values.size()), result);
    return result;
  }

 private:
  engines::OrtSession open_with_outputs() const {
    Strings names;
    for (const auto& [value, node] : candidates_.values) names.push_back(value);
    const std::string model = onnx::with_outputs(model_->bytes(), names, options_.onnx);
    engines::OrtOptions ort;
    ort.library = options_.onnxruntime_library;
    ort.threads = options_.threads;
    ort.external_data_folder = std::filesystem::absolute(options_.onnx).parent_path().string();
    return engines::OrtSession::from_bytes(std::as_bytes(std::span(model)), ort);
  }

  void compare_part(const engines::OrtSession& session, std::size_t from, std::size_t to,
                    Divergence& result) {
    Strings names, tensors;
    for (std::size_t i = from; i < to; ++i) {
      names.push_back(candidates_.values[i].first);
      tensors.push_back(reference_.tensors.at(names.back()));
    }
    const std::vector<TensorPtr> expected = tf_session_.run(tf_feeds_, tensors);
    const std::vector<TensorPtr> got = session.run(onnx_feeds_, names);
    for (std::size_t i = 0; i < names.size(); ++i) {
      ++result.compared;
      const auto comparison = compare_in_any_layout(expected[i], got[i], options_.tolerance);
      if (!comparison) {
        ++result.incomparable;
      } else if (!comparison->ok()) {
        describe(from + i, *comparison, result);
        return;
      }
    }
  }

  void describe(std::size_t at, const Comparison& comparison, Divergence& result) const {
    const std::string& value = candidates_.values[at].first;
    const onnx::ModelNode* node = candidates_.values[at].second;
    result.found = true;
    result.tensor = value;
    result.onnx_op = node->op;
    result.source_node = node->source_node;
    result.source_op = node->source_op;
    result.comparison = comparison;
    const auto source = std::find_if(graph_->nodes().begin(), graph_->nodes().end(), [&](const ir::Node& n) {
      return std::any_of(n.outputs().begin(), n.outputs().end(),
                         [&](const Value* v) { return v->name() == value; });
    });
    if (source == graph_->nodes().end()) return;
    result.source_node = source->origin().node;
    result.source_op = source->op();
    for (const Value* in : source->inputs())
      if (in && in->producer()) result.inputs.push_back(in->name());
  }

  const VerifyOptions& options_;
  const engines::Feeds& onnx_feeds_;
  GraphPtr graph_;
  Rebuilt reference_;
  engines::TfSession tf_session_;
  MappedFilePtr model_;
  Candidates candidates_;
  engines::Feeds tf_feeds_;
};

}  // namespace

Divergence bisect(const VerifyOptions& options, const engines::Feeds& onnx_feeds,
                  const std::vector<TensorPtr>& inputs) {
  return Search(options, onnx_feeds, inputs).run();
}

}  // namespace t2o::verify
