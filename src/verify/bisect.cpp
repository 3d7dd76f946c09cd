#include "verify/bisect.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "diagnostics.h"
#include "formats/formats.h"
#include "onnx/fold.h"
#include "onnx/model_edit.h"
#include "pipeline.h"
#include "support/mapped_file.h"
#include "tfgraph/internal_ops.h"
#include "verify/candidate.h"
#include "verify/codes.h"
#include "verify/reference.h"

namespace t2o::verify {
namespace {

constexpr Tolerance kExact = {1e-6, 1e-12};  // of weights: nothing was computed with them but by a factor
// Of codes inside of a quantized model: TensorFlow computes them with floats, so that each layer rounds
// otherwise.
constexpr CodeTolerance kInnerCodes = {4, std::numeric_limits<double>::infinity(), 0.98};
constexpr double kStep16 = 16;       // of these codes are as near as one of 8 bits
constexpr std::size_t kAtOnce = 64;  // tensors fetched in one run: they all stay in memory

struct Shared {                 // by both models
  std::string value;            // the ONNX model's name
  ir::Alteration of;            // the source's tensor, and what was done to it
  const onnx::ModelNode* node;  // that makes it
};

struct Candidates {
  std::vector<onnx::ModelNode> nodes;
  std::vector<Shared> values;  // of both graphs, in the order of execution
  std::map<std::string, ir::Alteration> altered;
};

Candidates find_candidates(Bytes model, const std::string& path, const Intermediates& reference) {
  Candidates c;
  c.nodes = onnx::model_nodes(model, path);
  c.altered = onnx::altered_values(model, path);
  for (const onnx::ModelNode& node : c.nodes)
    for (const std::string& value : node.outputs) {
      const auto found = c.altered.find(value);
      ir::Alteration of = found == c.altered.end() ? ir::Alteration(value) : found->second;
      if (!value.empty() && reference.has(of.source())) c.values.push_back({value, std::move(of), &node});
    }
  return c;
}

GraphPtr read_graph(const tf2onnx::Options& options) {
  Diagnostics diagnostics;
  const Prepared p = prepare_source(*format_of(options).open(options), options, diagnostics);
  throw_first_error(diagnostics);
  return p.graph;
}

bool quantizes(const ir::Graph& g) {
  return std::any_of(g.nodes().begin(), g.nodes().end(),
                     [](const ir::Node& n) { return n.op() == tfgraph::kQuantize; });
}

TensorPtr scaled(const Tensor& t, double factor) {
  std::vector<double> numbers = t.to_floats();
  for (double& x : numbers) x *= factor;
  return tensor_of(t.dtype(), t.dims(), numbers);
}

// Null: the tensor has not the axes or elements that the steps are for.
TensorPtr altered(TensorPtr t, const ir::Alteration& alteration) {
  if (is_complex(t->dtype()) && !alteration.steps().empty()) t = complex_as_pairs(t);
  for (const ir::Alteration::Step& step : alteration.steps()) {
    if (step.kind == ir::Alteration::Kind::scale) {
      t = scaled(*t, step.factor);
      continue;
    }
    Ints dims = step.ints;
    if (step.kind == ir::Alteration::Kind::transpose) {
      Ints sorted = dims;
      std::ranges::sort(sorted);
      for (std::size_t i = 0; i < sorted.size(); ++i)
        if (sorted[i] != static_cast<std::int64_t>(i) || sorted.size() != t->dims().size()) return nullptr;
      t = transposed(t, dims);
      continue;
    }
    const auto open = std::ranges::find(dims, -1);
    if (open != dims.end()) {
      *open = 1;
      const std::int64_t others = element_count(dims);
      *open = others == 0 ? 0 : t->elements() / others;
    }
    if (element_count(dims) != t->elements()) return nullptr;
    t = t->with_dims(dims);
  }
  return t;
}

// int8 codes that are uint8 in the ONNX model: each is 128 more there.
TensorPtr as_signed(const Tensor& codes) {
  std::vector<double> numbers = codes.to_floats();
  for (double& x : numbers) x -= 128;
  return tensor_of(DType::i8, codes.dims(), numbers);
}

// Nothing: the ONNX model has it in another form, and does not say in which.
std::optional<Comparison> compare_altered(const TensorPtr& source, const ir::Alteration& alteration,
                                          TensorPtr got, Tolerance tolerance, bool are_codes = false) {
  const TensorPtr expected = altered(source, alteration);
  if (!expected) return std::nullopt;
  if (expected->dtype() == DType::i8 && got->dtype() == DType::u8) got = as_signed(*got);
  if (is_int(expected->dtype()) && is_int(got->dtype()))  // counted in 64 bits instead of 32, say
    got = onnx::converted(got, expected->dtype());
  const Comparison c =
      are_codes && is_int(expected->dtype()) && bit_width(expected->dtype()) <= 16
          ? compare_codes(*expected, *got, bit_width(expected->dtype()) == 16 ? kStep16 : 1, kInnerCodes)
          : compare(*expected, *got, tolerance);
  return c.same_dtype && c.same_shape ? std::optional(c) : std::nullopt;
}

class Search {
 public:
  Search(const VerifyOptions& options, const engines::Feeds& onnx_feeds, const std::vector<TensorPtr>& inputs)
      : options_(options),
        onnx_feeds_(onnx_feeds),
        graph_(read_graph(options.source)),
        has_codes_(quantizes(*graph_)),
        reference_(format_of(options.source)
                       .intermediates(*graph_, inputs, {.tensorflow_library = options.tensorflow_library})),
        model_(MappedFile::open(options.onnx)),
        candidates_(find_candidates(model_->bytes(), options.onnx, *reference_)) {
    for (const ir::Node& n : graph_->nodes())
      for (const Value* v : n.outputs()) producers_.emplace(v->name(), &n);
  }

  Divergence run() {
    if (candidates_.values.empty())
      fail(Code::bad_option,
           "the two graphs have no tensor names in common, so nothing can be compared inside",
           "Check that this program made the ONNX model from this model.");
    const engines::OrtSession session = open_with_outputs();
    Divergence result;
    for (std::size_t from = 0; from < candidates_.values.size() && !result.found; from += kAtOnce)
      compare_part(session, from, std::min(from + kAtOnce, candidates_.values.size()), result);
    return result;
  }

 private:
  engines::OrtSession open_with_outputs() const {
    Strings names;
    for (const Shared& c : candidates_.values) names.push_back(c.value);
    const std::string model = onnx::with_outputs(model_->bytes(), names, options_.onnx);
    engines::OrtOptions ort;
    ort.library = options_.onnxruntime_library;
    ort.threads = options_.threads;
    if (!options_.optimize) ort.optimization = engines::OrtOptimization::none;
    ort.external_data_folder = std::filesystem::absolute(options_.onnx).parent_path().string();
    return engines::OrtSession::from_bytes(std::as_bytes(std::span(model)), ort);
  }

  void compare_part(const engines::OrtSession& session, std::size_t from, std::size_t to,
                    Divergence& result) {
    Strings names, tensors;
    for (std::size_t i = from; i < to; ++i) {
      names.push_back(candidates_.values[i].value);
      tensors.push_back(candidates_.values[i].of.source());
    }
    const std::vector<TensorPtr> expected = reference_->compute(tensors);
    const std::vector<TensorPtr> got = session.run(onnx_feeds_, names);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Shared& c = candidates_.values[from + i];
      ++result.compared;
      auto comparison = compare_altered(expected[i], c.of, got[i], options_.tolerance,
                                        has_codes_ && !options_.tolerance_given);
      if (comparison && !comparison->ok() && !comparison->codes)
        comparison = compare_altered(expected[i], c.of, got[i], with_rounding(c, expected[i]->dtype()));
      if (comparison && !comparison->ok() && is_random(tensors[i], *expected[i])) comparison.reset();
      if (!comparison) {
        ++result.incomparable;
      } else if (!comparison->ok()) {
        describe(c, *comparison, result);
        return;
      } else {
        agreed_.insert(c.of.source());
      }
    }
  }

  // TensorFlow itself gives other numbers each time.
  bool is_random(const std::string& tensor, const Tensor& first) {
    return !compare(first, *reference_->compute({tensor})[0], options_.tolerance).ok();
  }

  const ir::Node* producer_of(const Shared& c) const {
    const auto found = producers_.find(c.of.source());
    return found == producers_.end() ? nullptr : found->second;
  }

  // What is left of numbers that cancel is as wrong as those were rounded.
  Tolerance with_rounding(const Shared& c, DType t) {
    Tolerance tolerance = options_.tolerance;
    const ir::Node* n = producer_of(c);
    if (!n || !options_.tolerance.by_scale || (t != DType::f32 && t != DType::f64)) return tolerance;
    Strings read;
    for (const ir::Node* made_by : between(*n).nodes)
      for (const Value* in : made_by->inputs())
        if (in && in->dtype() == t && reference_->has(in->name())) read.push_back(in->name());
    const std::vector<TensorPtr> tensors = reference_->compute(read);
    constexpr double kSteps = 8;
    double largest = 0;
    for (const TensorPtr& tensor : tensors)
      for (const double x : tensor->to_floats())
        if (std::isfinite(x)) largest = std::max(largest, std::abs(x));
    tolerance.rounding = largest * kSteps * (t == DType::f32 ? 0x1p-23 : 0x1p-52);
    return tolerance;
  }

  // The source's nodes from tensors that agree to one that they make: of one that differs, one of them is to
  // blame.
  struct Between {
    std::vector<const ir::Node*> nodes;  // the last of them first
    Strings inputs;                      // the tensors that agree
  };

  void describe(const Shared& c, const Comparison& comparison, Divergence& result) const {
    result.found = true;
    result.tensor = c.value;
    result.onnx_op = c.node->op;
    result.source_node = c.node->source_node;
    result.source_op = c.node->source_op;
    result.comparison = comparison;
    const ir::Node* source = producer_of(c);
    if (!source) return;
    result.source_node = source->origin().node;
    result.source_op = source->op();
    const Between b = between(*source);
    for (const ir::Node* n : b.nodes) result.between.push_back({n->op(), n->origin().node});
    result.inputs = b.inputs;
    compare_weights(b, result);
  }

  // The constants that the nodes read, as far as the ONNX model still has them.
  void compare_weights(const Between& b, Divergence& result) const {
    std::map<std::string, const Value*> constants;  // by their names in the ONNX model
    for (const ir::Node* n : b.nodes)
      for (const Value* in : n->inputs())
        if (in && in->constant()) constants.emplace(in->name(), in);
    std::map<std::string, const ir::Alteration*> altered;
    for (const auto& [name, alteration] : candidates_.altered)
      if (constants.contains(alteration.source())) altered.emplace(name, &alteration);
    Strings names;
    for (const auto& [name, v] : constants) names.push_back(name);
    for (const auto& [name, alteration] : altered) names.push_back(name);
    for (const auto& [name, tensor] : onnx::initializers(model_->bytes(), names, options_.onnx)) {
      const auto found = altered.find(name);
      const ir::Alteration of = found == altered.end() ? ir::Alteration(name) : *found->second;
      const auto comparison = compare_altered(constants.at(of.source())->constant(), of, tensor, kExact);
      if (comparison && !comparison->ok()) result.weights.push_back(name);
    }
  }

  Between between(const ir::Node& last) const {
    Between b;
    std::unordered_set<const void*> seen = {&last};
    b.nodes.push_back(&last);
    for (std::size_t i = 0; i < b.nodes.size(); ++i)
      for (const Value* in : b.nodes[i]->inputs()) {
        if (!in || !in->producer() || !seen.insert(in).second) continue;
        if (agreed_.contains(in->name()))
          b.inputs.push_back(in->name());
        else if (seen.insert(in->producer()).second)
          b.nodes.push_back(in->producer());
      }
    return b;
  }

  const VerifyOptions& options_;
  const engines::Feeds& onnx_feeds_;
  GraphPtr graph_;
  bool has_codes_;
  std::unique_ptr<Intermediates> reference_;
  MappedFilePtr model_;
  Candidates candidates_;
  std::unordered_map<std::string, const ir::Node*> producers_;  // of the source's tensors, by name
  std::unordered_set<std::string> agreed_;                      // the source's tensors that do not differ
};

}  // namespace

Divergence bisect(const VerifyOptions& options, const engines::Feeds& onnx_feeds,
                  const std::vector<TensorPtr>& inputs) {
  return Search(options, onnx_feeds, inputs).run();
}

}  // namespace t2o::verify
