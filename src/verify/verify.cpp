#include "verify/verify.h"

#include <algorithm>

#include "diagnostics.h"
#include "verify/bisect.h"
#include "verify/candidate.h"
#include "verify/reference.h"

namespace t2o::verify {
namespace {

std::vector<Sample> make_samples(const VerifyOptions& o, const std::vector<Port>& inputs,
                                 std::size_t outputs) {
  if (!o.input_data.empty()) return read_samples(o.input_data, inputs, outputs);
  std::vector<Sample> samples;
  for (int i = 0; i < std::max(o.samples, 1); ++i)
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

// TensorFlow rejects many random values, e.g. an index that is out of bounds.
std::vector<TensorPtr> run_reference(Reference& reference, const Sample& sample) {
  try {
    return reference.run(sample.inputs);
  } catch (const ConversionError& e) {
    Diagnostic d = e.diagnostic();
    d.remedy = "The source model itself does not take these inputs (" + sample.label +
               "): give its shapes with --input-shape, or real data with --input-data.";
    throw ConversionError(d);
  }
}

}  // namespace

bool VerifyReport::ok() const { return std::all_of(samples.begin(), samples.end(), is_ok); }

VerifyReport verify(const VerifyOptions& o) {
  VerifyReport report;
  report.tolerance = o.tolerance;
  report.onnxruntime_version = engines::onnxruntime_version(o.onnxruntime_library);
  report.tensorflow_version = engines::tensorflow_version(o.tensorflow_library);
  engines::OrtOptions ort;
  ort.library = o.onnxruntime_library;
  ort.threads = o.threads;
  Reference reference(
      o.source, {.single_threaded = o.threads == 1, .optimize = false, .library = o.tensorflow_library});
  std::vector<Port> inputs = reference.inputs(), outputs = reference.outputs();
  const Candidate candidate(engines::OrtSession::from_file(o.onnx, ort), o.source, inputs, outputs);
  apply_input_shapes(inputs, o.input_shapes);
  for (const Sample& sample : make_samples(o, inputs, outputs.size())) {
    const std::vector<TensorPtr> expected = run_reference(reference, sample);
    const std::vector<TensorPtr> got = candidate.run(sample.inputs);
    report.samples.push_back(compare_sample(sample, inputs, outputs, expected, got, o.tolerance));
    if (is_ok(report.samples.back()) || !o.bisect || report.divergence || !report.bisect_problem.empty())
      continue;
    try {
      report.divergence = bisect(o, candidate.feeds(sample.inputs), sample.inputs);
    } catch (const ConversionError& e) {
      report.bisect_problem = e.diagnostic().message;
    }
  }
  return report;
}

}  // namespace t2o::verify
