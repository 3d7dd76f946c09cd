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
#include "verify/runs.h"
#include "verify/sizes.h"

namespace t2o::verify {
namespace {

constexpr int kRunsOfAState = 3;  // the first shows nothing of what it leaves to the next

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
    return differs(compared.outputs[i]) &&
           (reference.is_drawn(i) || !compare(*expected[i], *results[i], o.tolerance).ok());
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

// An output without elements may have some with larger inputs.
void fill_empty_outputs(const VerifyOptions& o, const Models& models, VerifyReport& report) {
  if (models.candidate.has_state() || !o.input_data.empty()) return;
  const auto empty = [&] { return empty_outputs(report.samples, models.outputs.size()); };
  if (empty().empty()) return;
  for (const Planned& plan : larger_samples(models.inputs, o.seed)) {
    const auto run = run_reference(models, plan);
    if (run && std::ranges::any_of(empty(), [&](std::size_t i) { return run->results[i]->elements() != 0; }))
      report.samples.push_back(compare_run(o, models, *run, true));
  }
}

// Sizes that the user gives, here or for the conversion, are no surprise.
void note_fixed_sizes(const VerifyOptions& o, const Models& models, VerifyReport& report) {
  if (models.candidate.has_state() || !o.input_data.empty()) return;
  std::vector<Port> source = models.inputs;
  for (std::size_t i = 0; i < source.size(); ++i) source[i].shape = models.reference.inputs()[i].shape;
  apply_input_shapes(source, o.input_shapes);
  if (std::string note = note_of_fixed_sizes(models, source); !note.empty())
    report.notes.push_back(std::move(note));
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

bool VerifyReport::ok() const { return std::ranges::all_of(samples, is_ok) && (!special || special->ok()); }

VerifyReport verify(const VerifyOptions& asked, Meter* meter) {
  VerifyOptions o = asked;
  VerifyReport report;
  const auto begin = [&](const char* step) { meter ? meter->begin(step) : void(); };
  const auto go_on = [&](const std::string& part) { meter ? meter->go_on(part) : void(); };
  if (o.special_values) {
    begin("special values");
    report.special = compare_special_values(o, go_on);
  }
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
      report.notes.push_back(report.runtime.name + " refused " + tried(inputs, plans[i].draws) +
                             ": not compared");
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
  fill_empty_outputs(o, models, report);
  note_fixed_sizes(o, models, report);
  note_of_ranges(o, reference.quantizes(), report);
  warn_of_little_evidence(report, outputs);
  return report;
}

}  // namespace t2o::verify
