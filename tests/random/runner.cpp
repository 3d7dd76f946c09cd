#include "runner.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "pipeline.h"
#include "verify/compare.h"

namespace t2o::random_graphs {
namespace {

constexpr double kSlack = 8;  // the errors are measured with a few samples

// Of an output: what is wrong, in words.
std::string compare(const Tensor& expected, const Tensor& got, const std::vector<double>& errors, bool narrow) {
  if (!is_float(expected.dtype())) return verify::compare(expected, got, {0, 0}).problem;
  const verify::Comparison c = verify::compare(expected, got, {0, 0});
  if (!c.same_dtype || !c.same_shape || c.mismatches == 0) return c.problem;
  const std::vector<double> a = expected.to_floats(), b = got.to_floats();
  double largest = 0;
  for (const double v : a)
    if (std::isfinite(v)) largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    double error = errors.empty() ? 0 : kSlack * errors[i];
    if (narrow) error += 0x1p-17 * (std::abs(a[i]) + std::min(1.0, largest));
    if (std::abs(a[i] - b[i]) <= error) continue;
    const auto at = static_cast<std::int64_t>(i);
    char text[40];
    std::snprintf(text, sizeof text, "%.3g", error);
    return "at " + verify::index_text(expected.dims(), at) + ": " + verify::element_text(got, at) + ", expected " +
           verify::element_text(expected, at) + " within " + text;
  }
  return "";
}

std::string error_text(const Diagnostics& diagnostics) {
  std::string text;
  for (const Diagnostic& d : diagnostics)
    if (d.severity == Severity::error) text += (text.empty() ? "" : "; ") + to_string(d);
  return text;
}

bool blames_the_model(const Diagnostics& diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(), [](const Diagnostic& d) {
    return d.severity == Severity::error && (d.code == Code::internal || d.code == Code::bad_model || d.code == Code::bad_file);
  });
}

Outcome compare_all(const Recipe& r, const Variant& v, const Conversion& conversion, const std::vector<TensorPtr>& got) {
  for (std::size_t i = 0; i < got.size(); ++i) {
    const Ref ref = r.outputs[i];
    const TensorPtr expected = test::as_onnx(r.tensor(ref));
    // ONNX Runtime's optimizer multiplies products of matrices of f64 by factors in f32. Constants are folded as they would be
    // computed: a Clip of f64 below opset 12 in f32.
    const bool narrow = expected->dtype() == DType::f64 && (v.optimize || v.opset < 12 || test::has_f32(*conversion.graph()));
    std::string problem = compare(*expected, *got[i], r.steps[ref.step].errors[static_cast<std::size_t>(ref.output)], narrow);
    if (problem.empty()) problem = test::declared_problem(*conversion.graph()->outputs()[i], *got[i]);
    if (!problem.empty()) return {Result::wrong, tensor_name(r, ref) + ": " + problem};
  }
  return {};
}

}  // namespace

std::string to_text(const Variant& v) {
  return std::string(test::name(v.mode)) + ", opset " + std::to_string(v.opset) + ", " + (v.optimize ? "optimized" : "as it is") + (v.nhwc ? ", nhwc" : "");
}

std::vector<Variant> draw_variants(std::uint64_t seed, const std::vector<int>& opsets, std::size_t count) {
  verify::Random random(verify::mix(seed, "variants"));
  std::vector<Variant> all;
  for (std::size_t i = 0; i < count; ++i) {
    Variant v;
    v.mode = static_cast<test::Mode>(random.integer(0, 3));
    v.opset = opsets.empty() ? static_cast<int>(random.integer(11, 26)) : opsets[static_cast<std::size_t>(random.integer(0, static_cast<std::int64_t>(opsets.size()) - 1))];
    v.optimize = random.uniform() < 0.5;
    v.nhwc = random.uniform() < 0.06;
    if (i == 0 && opsets.empty() && random.uniform() < 0.5) v.opset = 21;
    if (std::find(all.begin(), all.end(), v) == all.end()) all.push_back(v);
  }
  return all;
}

std::string_view name(Result r) {
  switch (r) {
    case Result::right: return "right";
    case Result::refused: return "refused";
    case Result::skipped: return "skipped";
    case Result::wrong: return "wrong";
    case Result::misjudged: return "misjudged";
    case Result::not_loaded: return "not loaded";
    case Result::not_run: return "not run";
    case Result::crash: return "crash";
    case Result::hang: return "hang";
    case Result::undrawn: return "undrawn";
    case Result::count: break;
  }
  return "?";
}

Outcome try_variant(const Recipe& r, const Variant& v, const std::function<void(Phase)>& at) {
  std::string graph_def;
  Options options;
  if (r.special) options.fidelity = tf2onnx::Fidelity::strict;  // the default promises ordinary values alone
  engines::Feeds feeds;
  at(Phase::draw);
  try {
    const Built built = build(r, v.mode);
    graph_def = built.graph.graph_def();
    options.outputs = built.outputs;
    feeds = built.feeds;
  } catch (const ConversionError& e) {
    return {Result::skipped, e.what()};
  }
  for (const auto& [tensor, value] : feeds) options.inputs.push_back(tensor + ":0");
  options.opset = v.opset;
  options.complex_as_pairs = true;
  if (v.nhwc) options.layout = tf2onnx::Layout::nhwc;
  at(Phase::convert);
  options.check_phases = true;
  const Conversion conversion = convert(options, test::as_bytes(graph_def));
  std::string model;
  Diagnostics diagnostics = conversion.diagnostics;
  if (conversion.ok()) diagnostics = write_model_bytes(conversion, options, model);
  if (!conversion.ok() || has_errors(diagnostics))
    return {blames_the_model(diagnostics) ? Result::misjudged : Result::refused, error_text(diagnostics)};
  at(Phase::load);
  bool loaded = false;
  try {
    const auto session = engines::OrtSession::from_bytes(
        test::as_bytes(model), {.threads = 1,
                                .optimization = v.optimize ? engines::OrtOptimization::all : engines::OrtOptimization::none,
                                .arena = false});
    loaded = true;
    at(Phase::run);
    if (session.inputs().size() != feeds.size() || session.outputs().size() != r.outputs.size())
      return {Result::wrong, "the number of inputs or outputs is not that of the source"};
    engines::Feeds named;
    for (std::size_t i = 0; i < feeds.size(); ++i) named.emplace_back(session.inputs()[i].name, test::as_onnx(feeds[i].second));
    return compare_all(r, v, conversion, session.run(named));
  } catch (const ConversionError& e) {
    return {loaded ? Result::not_run : Result::not_loaded, e.what()};
  }
}

bool has_special_values(const Recipe& r) {
  return std::any_of(r.steps.begin(), r.steps.end(), [&](const Step& s) {
    const auto of_float = [&] { return is_float(r.tensor(s.inputs[0].refs[0])->dtype()); };
    if (s.op.ends_with("Shift")) return true;
    if (s.op == "Cast" && of_float() && is_int(s.results[0]->dtype())) return true;
    if (s.op == "EuclideanNorm" && !of_float()) return true;  // the root of a sum of squares that wraps around
    return std::any_of(s.results.begin(), s.results.end(), [](const TensorPtr& t) { return !is_ordinary(*t); }) ||
           std::any_of(s.bodies.begin(), s.bodies.end(), [](const auto& b) { return has_special_values(*b.second); });
  });
}

bool refresh(Recipe& r) {
  try {
    const Built built = build(r, test::Mode::fixed);
    const std::vector<TensorPtr> results = engines::TfSession(built.graph, {.single_threaded = true}).run(built.feeds, built.outputs);
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Ref ref = r.outputs[i];
      TensorPtr& known = r.steps[ref.step].results[static_cast<std::size_t>(ref.output)];
      if (known->dims() != results[i]->dims()) r.steps[ref.step].errors[static_cast<std::size_t>(ref.output)].clear();
      if (!r.special && !is_ordinary(*results[i])) return false;
      known = results[i];
    }
    return true;
  } catch (const ConversionError&) {
    return false;
  }
}

void save(const std::string& folder, const Recipe& r, const Variant& v, const Outcome& o, std::uint64_t seed) {
  std::filesystem::create_directories(folder);
  const Built built = build(r, v.mode);
  std::ofstream(folder + "/model.pb", std::ios::binary) << built.graph.graph_def();
  std::string inputs, outputs, data;
  for (const auto& [tensor, value] : built.feeds) {
    inputs += (inputs.empty() ? "" : ",") + tensor + ":0";
    data += " --input-data " + tensor + "=" + tensor + ".pb";
    std::ofstream(folder + "/" + tensor + ".pb", std::ios::binary) << tensor_proto(*value, tensor);
  }
  for (const std::string& tensor : built.outputs) outputs += (outputs.empty() ? "" : ",") + tensor;
  std::ofstream(folder + "/graph.txt")
      << "seed " << seed << ", " << to_text(v) << (r.special ? ", special values" : "") << "\n" << name(o.result) << ": " << o.text << "\n"
      << to_text(r) << "tf2onnx-cpp model.pb -o model.onnx" << (inputs.empty() ? "" : " --inputs " + inputs) << " --outputs " << outputs << " --opset "
      << v.opset << " --verify --rtol 1e-6 --atol 0" << data << "\n";
}

}  // namespace t2o::random_graphs
