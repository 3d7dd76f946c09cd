#include "verify/verify.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "diagnostics.h"
#include "engines/refusal.h"
#include "formats/formats.h"
#include "pipeline.h"
#include "rewriters/runtime/cpu.h"
#include "verify/bisect.h"
#include "verify/candidate.h"
#include "verify/codes.h"
#include "verify/reference.h"

namespace t2o::verify {
namespace {

// LiteRT makes 8-bit codes of the inputs of a layer with quantized weights, which the exported model does
// not: measured, that is up to 2 % of an output's largest number.
constexpr double kOfQuantized = 0.02;
constexpr int kRunsOfAState = 3;  // the first shows nothing of what it leaves to the next

// A sample and how else it may be drawn: a runtime refuses many random values and sizes.
struct Planned {
  std::uint64_t seed = 0;
  std::vector<Draw> draws;  // in the order in which they are tried; empty: the data is given
  Sample given = {};
  bool may_be_left_out = false;
};

bool takes_integers(const std::vector<Port>& inputs) {
  return std::ranges::any_of(inputs, [](const Port& p) { return is_int(p.dtype); });
}

// Another size of each open dim, and integers that small ones say nothing of. None: the model has neither.
std::vector<Draw> other_draws(const std::vector<Port>& inputs) {
  const std::vector<OpenSizes> sizes =
      has_open_sizes(inputs) ? std::vector{kOtherSizes, kLargerSizes} : std::vector{kUsualSizes};
  const bool edges = has_free_integers(inputs), integers = takes_integers(inputs);
  std::vector<Draw> draws;
  for (const OpenSizes& s : sizes) {
    if (edges) draws.push_back({s, {}, true});
    if (s == kUsualSizes) continue;
    draws.push_back({s, {}, false});
    if (integers) draws.push_back({s, 1, false});
  }
  return draws;
}

bool has_sizes_in_file(const std::vector<Port>& inputs) {
  return std::ranges::any_of(inputs, [](const Port& p) { return !p.in_file.empty(); });
}

// The usual draws, and those for a runtime that refuses them: a graph may run with the file's own sizes
// alone, or have windows that are longer than the usual sizes.
std::vector<Draw> usual_draws(const std::vector<Port>& inputs) {
  constexpr std::int64_t kMostElements = 1 << 20;  // of an input with the long sizes
  std::vector<Draw> sizes = {{}};
  if (has_open_sizes(inputs)) {
    if (has_sizes_in_file(inputs)) sizes.push_back({.in_file = true});
    if (std::ranges::all_of(inputs, [](const Port& p) {
          return Shape(chosen_dims(p, kLongSizes)).elements().value_or(kMostElements + 1) <= kMostElements;
        }))
      sizes.push_back({.sizes = kLongSizes});
  }
  std::vector<Draw> draws;
  for (Draw d : sizes) {
    draws.push_back(d);
    if (!takes_integers(inputs)) continue;
    for (const int highest : {1, 0}) d.highest_integer = highest, draws.push_back(d);
  }
  return draws;
}

std::vector<Planned> plan_samples(const VerifyOptions& o, bool has_state, const std::vector<Port>& inputs,
                                  std::size_t outputs) {
  std::vector<Planned> plan;
  if (!o.input_data.empty()) {
    for (Sample& s : read_samples(o.input_data, inputs, outputs)) plan.push_back({0, {}, std::move(s)});
    return plan;
  }
  const std::vector<Draw> usual = usual_draws(inputs);
  std::uint64_t seed = o.seed;
  for (int i = 0; i < std::max(o.samples, has_state ? kRunsOfAState : 1); ++i)
    plan.push_back({seed++, usual});
  if (std::vector<Draw> other = other_draws(inputs); !has_state && !other.empty())
    plan.push_back({seed, std::move(other), {}, true});
  return plan;
}

std::string type_text(const Tensor& t) { return std::string(name(t.dtype())) + shape_text(t.dims()); }

ComparedSample of_inputs(const Sample& sample, const std::vector<Port>& inputs) {
  ComparedSample result{sample.label, {}, {}, {}};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    result.inputs.emplace_back(inputs[i].name, type_text(*sample.inputs[i]));
  return result;
}

// A tolerance that the user gives holds for codes as for other integers.
bool in_codes(const VerifyOptions& o, const Port& port) { return port.codes.step != 0 && !o.tolerance_given; }

// A number beyond the range of the source's codes is the last code there.
TensorPtr within_codes(const Port& port, const Tensor& got) {
  const double highest = port.codes.lowest + port.codes.step * (std::exp2(port.codes.bits) - 1);
  std::vector<double> numbers = got.to_floats();
  for (double& x : numbers) x = std::isnan(x) ? x : std::clamp(x, port.codes.lowest, highest);
  return tensor_of(got.dtype(), got.dims(), numbers);
}

Comparison compare_output(const VerifyOptions& o, const Port& port, const Tensor& expected, const Tensor& got,
                          const CodeCount* own = nullptr) {
  if (o.source.dequantize && in_codes(o, port) && is_float(got.dtype()))
    return compare_codes(expected, *within_codes(port, got), port.codes.step,
                         tolerance_of_dequantized(port.codes.bits), own);
  return in_codes(o, port)
             ? compare_codes(expected, got, port.codes.step, code_tolerance(port.codes.bits), own)
             : compare(expected, got, o.tolerance);
}

ComparedSample compare_sample(const VerifyOptions& o, const Sample& sample, const std::vector<Port>& inputs,
                              const std::vector<Port>& outputs, const std::vector<TensorPtr>& expected,
                              const std::vector<TensorPtr>& got) {
  ComparedSample result = of_inputs(sample, inputs);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    ComparedTensor& tensor = result.outputs.emplace_back();
    tensor.name = outputs[i].name;
    tensor.dtype = expected[i]->dtype();
    tensor.dims = expected[i]->dims();
    tensor.comparison = compare_output(o, outputs[i], *expected[i], *got[i]);
    tensor.evidence = evidence_of(*expected[i]);
    if (expected[i]->elements() == 1) tensor.only = element_text(*expected[i], 0);
    tensor.has_data = i < sample.expected.size();
    if (tensor.has_data) tensor.with_data = compare_output(o, outputs[i], *sample.expected[i], *got[i]);
  }
  return result;
}

bool is_ok(const ComparedSample& s) {
  return s.problem.empty() && std::ranges::all_of(s.outputs, [](const ComparedTensor& t) {
           return t.comparison.ok() && t.with_data.ok();
         });
}

struct Run {
  Sample sample;
  std::vector<TensorPtr> results;
  Draw draw = {};                         // of the sample
  std::optional<ComparedSample> refused;  // the first sample that the runtime refused
};

struct Models {
  Reference& reference;
  Candidate& candidate;
  const std::vector<Port>&inputs, &outputs;
  std::function<void(const std::string&)> go_on;  // with what, for a meter
  Runtime runtime;
};

[[noreturn]] void tell_refusal(const engines::Refusal& e, const std::string& label) {
  Diagnostic d = e.diagnostic();
  d.code = Code::bad_option;  // nothing is wrong with the model
  d.remedy = "The source model itself does not take these inputs (" + label +
             "): give its shapes with --input-shape, or real data with --input-data.";
  throw ConversionError(d);
}

// The first draw that the runtime takes. Of those that it refuses, the first refusal is the one to tell.
std::optional<Run> run_reference(const Models& models, const Planned& plan) {
  std::optional<engines::Refusal> refusal;
  std::optional<ComparedSample> refused;
  for (std::size_t i = 0; i < std::max<std::size_t>(plan.draws.size(), 1); ++i) {
    Sample sample = plan.draws.empty() ? plan.given : random_sample(models.inputs, plan.seed, plan.draws[i]);
    models.go_on(models.runtime.name + " runs " + sample.label);
    try {
      std::vector<TensorPtr> results = models.reference.run(sample.inputs);
      return Run{std::move(sample), std::move(results), plan.draws.empty() ? Draw() : plan.draws[i],
                 std::move(refused)};
    } catch (const engines::Refusal& e) {
      if (!e.blames_values() && !plan.may_be_left_out && !refusal) throw;
      if (!refusal) refusal = e, refused = of_inputs(sample, models.inputs);
    }
  }
  if (plan.may_be_left_out) return std::nullopt;
  tell_refusal(*refusal, refused->label);
}

// What the source model itself gives otherwise each time cannot be compared by value; a state that goes on
// from run to run can, in the first one.
void find_random(const VerifyOptions& o, Reference& reference, const Sample& sample,
                 const std::vector<TensorPtr>& expected, ComparedSample& compared) {
  const auto differs = [](const ComparedTensor& t) {
    return !t.comparison.ok() && t.comparison.same_dtype && t.comparison.same_shape;
  };
  if (std::ranges::none_of(compared.outputs, differs)) return;
  const std::vector<TensorPtr> again = reference.run(sample.inputs);
  const auto other = [&](std::size_t i, const std::vector<TensorPtr>& results) {
    return differs(compared.outputs[i]) && !compare(*expected[i], *results[i], o.tolerance).ok();
  };
  bool any = false;
  for (std::size_t i = 0; i < expected.size(); ++i) any = any || other(i, again);
  if (!any || !reference.draws_random_numbers()) return;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ComparedTensor& t = compared.outputs[i];
    t.is_random = other(i, again);
    if (t.is_random) t.comparison.problem.clear();
  }
}

// The inputs, each number of a float's last digits changed.
std::vector<TensorPtr> nudged(const std::vector<TensorPtr>& inputs) {
  Random random(1);
  std::vector<TensorPtr> changed = inputs;
  for (TensorPtr& t : changed) {
    if (t->dtype() != DType::f32 && t->dtype() != DType::f64) continue;
    const double step = t->dtype() == DType::f32 ? 0x1p-22 : 0x1p-51;
    std::vector<double> numbers = t->to_floats();
    for (double& x : numbers) x *= random.bits() % 2 == 0 ? 1 + step : 1 - step;
    t = tensor_of(t->dtype(), t->dims(), numbers);
  }
  return changed;
}

// An output of small numbers may be what is left of larger ones that cancel, and is then as wrong as those
// were rounded. How much that is, the source model shows itself: by how much its numbers change with the last
// digits of the inputs.
void allow_rounding(Reference& reference, const Run& run, const std::vector<TensorPtr>& got,
                    Tolerance tolerance, ComparedSample& compared) {
  constexpr double kMost = 1e-6, kTimes = 8;
  const auto is_small = [&](const ComparedTensor& t) {
    return tolerance.by_scale && !t.comparison.ok() && !t.comparison.codes && t.comparison.same_dtype &&
           t.comparison.same_shape && (t.dtype == DType::f32 || t.dtype == DType::f64) &&
           t.comparison.max_error <= kMost;
  };
  if (std::ranges::none_of(compared.outputs, is_small)) return;
  const std::vector<TensorPtr> other = reference.run(nudged(run.sample.inputs));
  for (std::size_t i = 0; i < compared.outputs.size(); ++i) {
    ComparedTensor& t = compared.outputs[i];
    if (!is_small(t)) continue;
    tolerance.rounding = std::min(kMost, kTimes * compare(*run.results[i], *other[i]).max_error);
    t.comparison = compare(*run.results[i], *got[i], tolerance);
    t.within_rounding = t.comparison.ok();
  }
}

// The larger one of the largest number and the distance between the largest and the smallest.
double range_of(const Tensor& t) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (std::int64_t i = 0; i < t.elements(); ++i)
    if (const double x = t.float_at(i); std::isfinite(x)) low = std::min(low, x), high = std::max(high, x);
  return low > high ? 0 : std::max({high - low, std::abs(low), std::abs(high)});
}

// What both kinds of a runtime's kernels give is right. Where they differ by more than the tolerance, the
// ONNX model may differ from either as they do.
void compare_kernels(const VerifyOptions& o, const Models& models, const Run& run,
                     const std::vector<TensorPtr>& got, ComparedSample& compared) {
  constexpr double kTimes = 2, kMostOfRange = 0.01;
  if (models.runtime.other_kernels.empty()) return;
  models.go_on(models.runtime.name + " runs " + run.sample.label + " with other kernels");
  std::vector<TensorPtr> other;
  try {
    other = models.reference.run_otherwise(run.sample.inputs);
  } catch (const engines::Refusal&) {  // some operators have one kind of kernels
    return;
  }
  for (std::size_t i = 0; i < compared.outputs.size(); ++i) {
    ComparedTensor& t = compared.outputs[i];
    const Tensor& expected = *run.results[i];
    const Comparison& own =
        t.other_kernels.emplace(compare_output(o, models.outputs[i], expected, *other[i]));
    const bool comparable =
        t.comparison.same_dtype && t.comparison.same_shape && own.same_dtype && own.same_shape;
    if (t.comparison.ok() || !comparable || o.tolerance_given) continue;
    if (own.codes) {
      t.comparison = compare_output(o, models.outputs[i], expected, *got[i], &*own.codes);
      t.within_spread = t.comparison.ok();
    } else if (is_float(t.dtype) && own.max_error <= std::numeric_limits<double>::max()) {
      Tolerance tolerance = o.tolerance;
      tolerance.spread = kTimes * std::min(own.max_error, kMostOfRange * range_of(expected));
      t.comparison = compare(expected, *got[i], tolerance);
      t.within_spread = t.comparison.ok();
    }
  }
}

// An output of one element is a constant where all samples give the same.
void find_constants(std::vector<ComparedSample>& samples, std::size_t output) {
  std::vector<ComparedTensor*> of_one;
  for (ComparedSample& s : samples)
    if (output < s.outputs.size() && !s.outputs[output].only.empty()) of_one.push_back(&s.outputs[output]);
  const bool same = of_one.size() > 1 && std::ranges::all_of(of_one, [&](const ComparedTensor* t) {
                      return t->only == of_one[0]->only && t->evidence == Evidence::some;
                    });
  for (ComparedTensor* t : of_one)
    if (same) t->evidence = Evidence::constant;
}

void warn_of_no_states(VerifyReport& report) {
  report.warnings.push_back(
      {"--stateful-io: the ONNX model has no states to carry from run to run; each run is compared from the "
       "initial values",
       "if the source model changes states, convert it with --stateful-io too"});
}

void warn_of_little_evidence(VerifyReport& report, const std::vector<Port>& outputs) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    find_constants(report.samples, i);
    const ComparedTensor* weak = nullptr;
    bool proven = false;
    for (const ComparedSample& s : report.samples) {
      if (i >= s.outputs.size()) continue;
      const ComparedTensor& t = s.outputs[i];
      if (t.evidence == Evidence::some || t.is_random || !t.comparison.ok())
        proven = true;
      else if (!weak)
        weak = &t;
    }
    if (!weak || proven) continue;
    const std::string what =
        "output '" + outputs[i].name + "' is " + text(weak->evidence) + " in each sample: ";
    report.warnings.push_back({what + (weak->evidence == Evidence::empty
                                           ? "nothing was compared; give larger inputs with --input-shape"
                                           : "agreement proves little")});
  }
}

// Each operation rounds, the source's runtime and ONNX Runtime after others of them: a sum of products is
// wrong by some steps of the largest. Empty: the tolerance stays as it is.
std::string suit_tolerance(VerifyOptions& o, const Reference& reference) {
  const DType coarsest = reference.coarsest();
  if (o.tolerance_given) return "";
  if (reference.quantizes()) {
    o.tolerance = {0, kOfQuantized, true, std::numeric_limits<double>::infinity()};
    return "the model is quantized, so its float outputs may differ by 2 % of their largest number";
  }
  if (o.source.quantize_mode != tf2onnx::QuantizeMode::exact) {
    o.tolerance = {0, kOfQuantized, true, std::numeric_limits<double>::infinity()};
    return o.source.quantize_mode == tf2onnx::QuantizeMode::qdq
               ? "--quantize-mode qdq: codes may differ by one: 2 %"
               : "--quantize-mode float: numbers are not rounded to codes: 2 %";
  }
  if (coarsest == DType::undefined) return "";
  constexpr double kSteps = 8;
  const double step = coarsest == DType::bf16 ? 0x1p-8 : 0x1p-10;  // between 1 and the next number
  o.tolerance = {kSteps * step, kSteps * step, true, std::numeric_limits<double>::infinity()};
  return "the model computes in " + std::string(name(coarsest)) + ", whose numbers have steps of " +
         (coarsest == DType::bf16 ? "1/256" : "1/1024") + ": 8 of them";
}

// What the sample that may be left out is for.
std::string what_else(const std::vector<Port>& inputs) {
  return has_open_sizes(inputs) ? "other sizes of the open dimensions" : "integers of other sizes";
}

// The sizes that the runtime takes are those of all usual samples. The report says which ones it does not
// take.
void settle_sizes(const Run& run, std::vector<Planned>& plans, VerifyReport& report) {
  if (run.draw.same_sizes({})) return;
  for (Planned& p : plans)
    if (!p.may_be_left_out)
      std::erase_if(p.draws, [&](const Draw& d) { return !d.same_sizes(run.draw); });
    else if (p.draws[0].edges)
      p.draws.push_back({run.draw.sizes, {}, true, run.draw.in_file});
  std::string text = report.runtime.name + " does not run the model with";
  for (const auto& [name, type] : run.refused->inputs) text += " " + name + " " + type;
  report.notes.push_back(text + ": compared with " +
                         (run.draw.in_file ? "the sizes in the file" : "larger sizes"));
}

// Random numbers are beyond the ranges that a quantized model was made for.
void note_of_ranges(const VerifyOptions& o, bool quantizes, VerifyReport& report) {
  if (!o.input_data.empty() || std::ranges::all_of(report.samples, is_ok)) return;
  if (o.source.dequantize)
    report.notes.push_back(
        "a dequantized model does not cut numbers where the source's codes end, and random inputs reach "
        "beyond: compare typical data with --input-data");
  else if (quantizes && !report.in_codes)
    report.notes.push_back(
        "layers with 8-bit weights round their inputs in LiteRT and not in the export: typical data "
        "(--input-data) shows less of it than random inputs");
}

ComparedSample compare_run(const VerifyOptions& o, const Models& models, const Run& run, bool may_fail) {
  std::vector<TensorPtr> got;
  models.go_on("ONNX Runtime runs " + run.sample.label);
  try {
    got = models.candidate.run(run.sample.inputs);
  } catch (const engines::OrtError& e) {
    if (!may_fail) throw;
    ComparedSample failed = of_inputs(run.sample, models.inputs);
    failed.problem = e.diagnostic().message;
    return failed;
  }
  models.go_on("comparing " + run.sample.label);
  ComparedSample compared = compare_sample(o, run.sample, models.inputs, models.outputs, run.results, got);
  if (models.candidate.has_state()) return compared;
  compare_kernels(o, models, run, got, compared);
  allow_rounding(models.reference, run, got, o.tolerance, compared);
  find_random(o, models.reference, run.sample, run.results, compared);
  return compared;
}

void find_divergence(const VerifyOptions& o, const Candidate& candidate, const Sample& sample,
                     VerifyReport& report) {
  if (candidate.has_state()) {
    report.bisect_problem = "a model with states cannot be bisected: each run changes them";
    return;
  }
  try {
    report.divergence = bisect(o, candidate.feeds(sample.inputs), sample.inputs);
  } catch (const ConversionError& e) {
    report.bisect_problem = e.diagnostic().message;
  }
}

}  // namespace

void check_possible(const tf2onnx::Options& o) {
  if (o.opset > onnx::kHighestOrtOpset)
    fail(Code::bad_option, onnx::not_loadable(o.opset) + ", so there is nothing to verify it with",
         "--opset " + std::to_string(onnx::kHighestOrtOpset) + ", or without --verify");
  if (o.inputs.empty() && o.outputs.empty()) return;
  if (format_of(o).open(o)->cuts_inside(o))
    fail(Code::bad_option,
         "a model that is cut inside of a function cannot be verified: TensorFlow cannot return such tensors",
         "verify the whole model, or cut at names of the main graph");
}

bool VerifyReport::ok() const { return std::ranges::all_of(samples, is_ok); }

VerifyReport verify(const VerifyOptions& asked, Meter* meter) {
  VerifyOptions o = asked;
  VerifyReport report;
  const auto begin = [&](const char* step) { meter ? meter->begin(step) : void(); };
  const auto go_on = [&](const std::string& part) { meter ? meter->go_on(part) : void(); };
  begin("loading the engines");
  report.onnxruntime_version = engines::onnxruntime_version(o.onnxruntime_library);
  engines::OrtOptions ort;
  ort.library = o.onnxruntime_library;
  ort.threads = o.threads;
  if (!o.optimize) ort.optimization = engines::OrtOptimization::none;
  begin("the source model's own runtime loads it");
  const std::unique_ptr<Reference> opened =
      open_reference(o.source, {o.threads, o.tensorflow_library, o.litert_library});
  Reference& reference = *opened;
  report.runtime = reference.runtime();
  report.tolerance_reason = suit_tolerance(o, reference);
  report.tolerance = o.tolerance;
  std::vector<Port> inputs = reference.inputs(), outputs = reference.outputs();
  begin("ONNX Runtime loads the model");
  Candidate candidate(engines::OrtSession::from_file(o.onnx, ort), o.source, inputs, outputs);
  apply_input_shapes(inputs, o.input_shapes);
  if (candidate.has_state()) reference.keep_state();
  if (o.source.stateful_io && !candidate.has_state()) warn_of_no_states(report);
  report.is_dequantized = o.source.dequantize;
  report.in_codes = std::ranges::any_of(outputs, [&](const Port& p) { return in_codes(o, p); });
  if (report.in_codes || reference.quantizes()) {
    const runtime::Cpu cpu = runtime::this_cpu();
    report.cpu = runtime::cpu_text(cpu);
    if (cpu.may_saturate()) report.warnings.push_back({runtime::saturation_warning(cpu)});
  }
  const Models models{reference, candidate, inputs, outputs, go_on, report.runtime};
  std::vector<Planned> plans = plan_samples(o, candidate.has_state(), inputs, outputs.size());
  if (meter) meter->begin("", Meter::Unit::steps, plans.size());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (meter && i > 0) meter->add(1);
    const auto run = run_reference(models, plans[i]);
    if (!run) {
      report.notes.push_back(report.runtime.name + " takes no " + what_else(inputs) +
                             ": they were not compared");
      continue;
    }
    if (i == 0) settle_sizes(*run, plans, report);
    report.samples.push_back(
        compare_run(o, models, *run, plans[i].may_be_left_out || has_open_sizes(inputs)));
    if (i == 0 && !report.samples[0].problem.empty() && !run->draw.in_file && has_sizes_in_file(inputs))
      plans.insert(plans.begin() + 1,
                   {plans[0].seed, {{.in_file = true}}, {}, true});  // whether it runs with these
    if (is_ok(report.samples.back()) || !report.samples.back().problem.empty() || !o.bisect ||
        report.divergence || !report.bisect_problem.empty())
      continue;
    go_on("bisecting");
    find_divergence(o, candidate, run->sample, report);
  }
  note_of_ranges(o, reference.quantizes(), report);
  warn_of_little_evidence(report, outputs);
  return report;
}

}  // namespace t2o::verify
