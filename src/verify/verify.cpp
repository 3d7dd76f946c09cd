#include "verify/verify.h"

#include <algorithm>
#include <limits>

#include "diagnostics.h"
#include "pipeline.h"
#include "tf/source.h"
#include "verify/bisect.h"
#include "verify/candidate.h"
#include "verify/reference.h"

namespace t2o::verify {
namespace {

constexpr int kRunsOfAState = 3;  // the first shows nothing of what it leaves to the next

std::vector<Sample> make_samples(const VerifyOptions& o, int least, const std::vector<Port>& inputs,
                                 std::size_t outputs) {
  if (!o.input_data.empty()) return read_samples(o.input_data, inputs, outputs);
  std::vector<Sample> samples;
  for (int i = 0; i < std::max(o.samples, least); ++i)
    samples.push_back(random_sample(inputs, o.seed + static_cast<std::uint64_t>(i)));
  return samples;
}

std::string type_text(const Tensor& t) { return std::string(name(t.dtype())) + shape_text(t.dims()); }

ComparedSample compare_sample(const Sample& sample, const std::vector<Port>& inputs,
                              const std::vector<Port>& outputs, const std::vector<TensorPtr>& expected,
                              const std::vector<TensorPtr>& got, Tolerance tolerance) {
  ComparedSample result{sample.label, {}, {}};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    result.inputs.emplace_back(inputs[i].name, type_text(*sample.inputs[i]));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    ComparedTensor& tensor = result.outputs.emplace_back();
    tensor.name = outputs[i].name;
    tensor.dtype = expected[i]->dtype();
    tensor.dims = expected[i]->dims();
    tensor.comparison = compare(*expected[i], *got[i], tolerance);
    tensor.has_data = i < sample.expected.size();
    if (tensor.has_data) tensor.with_data = compare(*sample.expected[i], *got[i], tolerance);
  }
  return result;
}

bool is_ok(const ComparedSample& s) {
  return std::all_of(s.outputs.begin(), s.outputs.end(),
                     [](const ComparedTensor& t) { return t.comparison.ok() && t.with_data.ok(); });
}

// TensorFlow rejects many random values, e.g. an index that is out of bounds: smaller ones may do.
std::vector<TensorPtr> run_reference(const VerifyOptions& o, Reference& reference,
                                     const std::vector<Port>& inputs, std::size_t index, Sample& sample) {
  try {
    return reference.run(sample.inputs);
  } catch (const engines::TfError& e) {
    if (!e.blames_values()) throw;
    for (const int highest : {1, 0}) {
      if (!o.input_data.empty() ||
          std::none_of(inputs.begin(), inputs.end(), [](const Port& p) { return is_int(p.dtype); }))
        break;
      Sample smaller = random_sample(inputs, o.seed + index, highest);
      try {
        std::vector<TensorPtr> results = reference.run(smaller.inputs);
        sample = std::move(smaller);
        return results;
      } catch (const ConversionError&) {
        // the first refusal is the one to tell
      }
    }
    Diagnostic d = e.diagnostic();
    d.code = Code::bad_option;  // nothing is wrong with the model
    d.remedy = "The source model itself does not take these inputs (" + sample.label +
               "): give its shapes with --input-shape, or real data with --input-data.";
    throw ConversionError(d);
  }
}

bool draws_random_numbers(const tf2onnx::Options& options) {
  const tf::Source source = tf::open_source(options);
  const auto has_any = [](const tf::NodeList& list) {
    return std::any_of(list.nodes.begin(), list.nodes.end(), [](const tf::NodeDef& n) {
      const auto has = [&](std::string_view part) { return n.op.find(part) != std::string_view::npos; };
      return (has("Random") && !has("Stateless")) || has("Multinomial") || has("TruncatedNormal") ||
             has("SampleDistorted") || has("Candidate");
    });
  };
  return has_any(source.graph.body) ||
         std::any_of(source.graph.functions.begin(), source.graph.functions.end(),
                     [&](const tf::RawFunction& f) {
                       return has_any(tf::parse_function(f.bytes, source.graph.owner).body);
                     });
}

// What TensorFlow itself gives otherwise each time cannot be compared by value; a state that goes on from run
// to run can, in the first one.
void find_random(const VerifyOptions& o, Reference& reference, const Sample& sample,
                 const std::vector<TensorPtr>& expected, ComparedSample& compared) {
  const auto differs = [](const ComparedTensor& t) {
    return !t.comparison.ok() && t.comparison.same_dtype && t.comparison.same_shape;
  };
  if (std::none_of(compared.outputs.begin(), compared.outputs.end(), differs)) return;
  const std::vector<TensorPtr> again = reference.run(sample.inputs);
  const auto other = [&](std::size_t i, const std::vector<TensorPtr>& results) {
    return differs(compared.outputs[i]) && !compare(*expected[i], *results[i], o.tolerance).ok();
  };
  bool any = false;
  for (std::size_t i = 0; i < expected.size(); ++i) any = any || other(i, again);
  if (!any || !draws_random_numbers(o.source)) return;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ComparedTensor& t = compared.outputs[i];
    t.is_random = other(i, again);
    if (t.is_random) t.comparison.problem.clear();
  }
}

// Each operation rounds, TensorFlow and ONNX Runtime after others of them: a sum of products is wrong by some
// steps of the largest. Empty: the tolerance stays as it is.
std::string suit_tolerance(VerifyOptions& o, DType coarsest) {
  if (o.tolerance_given || coarsest == DType::undefined) return "";
  constexpr double kSteps = 8;
  const double step = coarsest == DType::bf16 ? 0x1p-8 : 0x1p-10;  // between 1 and the next number
  o.tolerance = {kSteps * step, kSteps * step, true, std::numeric_limits<double>::infinity()};
  return "the model computes in " + std::string(name(coarsest)) + ", whose numbers have steps of " +
         (coarsest == DType::bf16 ? "1/256" : "1/1024") + ": 8 of them";
}

}  // namespace

void check_possible(const tf2onnx::Options& o) {
  if (o.opset > onnx::kHighestOrtOpset)
    fail(Code::bad_option, onnx::not_loadable(o.opset) + ", so there is nothing to verify it with",
         "--opset " + std::to_string(onnx::kHighestOrtOpset) + ", or without --verify");
  if (o.inputs.empty() && o.outputs.empty()) return;
  Diagnostics ignored;
  const tf::Source source = tf::open_source(o);
  if (tf::make_request(source, o, ignored).cuts_inside())
    fail(Code::bad_option,
         "what is cut inside of a function cannot be verified: TensorFlow cannot be asked for it",
         "verify the whole model, or cut at names of the main graph");
}

bool VerifyReport::ok() const { return std::all_of(samples.begin(), samples.end(), is_ok); }

VerifyReport verify(const VerifyOptions& asked, Meter* meter) {
  VerifyOptions o = asked;
  VerifyReport report;
  const auto begin = [&](const char* step) { meter ? meter->begin(step) : void(); };
  const auto go_on = [&](const std::string& part) { meter ? meter->go_on(part) : void(); };
  begin("loading the engines");
  report.onnxruntime_version = engines::onnxruntime_version(o.onnxruntime_library);
  report.tensorflow_version = engines::tensorflow_version(o.tensorflow_library);
  engines::OrtOptions ort;
  ort.library = o.onnxruntime_library;
  ort.threads = o.threads;
  begin("TensorFlow loads the model");
  Reference reference(
      o.source, {.single_threaded = o.threads == 1, .optimize = false, .library = o.tensorflow_library});
  report.tolerance_reason = suit_tolerance(o, reference.coarsest());
  report.tolerance = o.tolerance;
  std::vector<Port> inputs = reference.inputs(), outputs = reference.outputs();
  begin("ONNX Runtime loads the model");
  Candidate candidate(engines::OrtSession::from_file(o.onnx, ort), o.source, inputs, outputs);
  apply_input_shapes(inputs, o.input_shapes);
  if (candidate.has_state()) reference.keep_state();
  std::vector<Sample> samples =
      make_samples(o, candidate.has_state() ? kRunsOfAState : 1, inputs, outputs.size());
  if (meter) meter->begin("", Meter::Unit::steps, samples.size());
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Sample& sample = samples[i];
    if (meter && i > 0) meter->add(1);
    go_on("TensorFlow runs " + sample.label);
    const std::vector<TensorPtr> expected = run_reference(o, reference, inputs, i, sample);
    go_on("ONNX Runtime runs " + sample.label);
    const std::vector<TensorPtr> got = candidate.run(sample.inputs);
    go_on("comparing " + sample.label);
    report.samples.push_back(compare_sample(sample, inputs, outputs, expected, got, o.tolerance));
    if (!candidate.has_state()) find_random(o, reference, sample, expected, report.samples.back());
    if (is_ok(report.samples.back()) || !o.bisect || report.divergence || !report.bisect_problem.empty())
      continue;
    if (candidate.has_state()) {
      report.bisect_problem = "a model with states cannot be bisected: each run changes them";
      continue;
    }
    go_on("bisecting");
    try {
      report.divergence = bisect(o, candidate.feeds(sample.inputs), sample.inputs);
    } catch (const ConversionError& e) {
      report.bisect_problem = e.diagnostic().message;
    }
  }
  return report;
}

}  // namespace t2o::verify
