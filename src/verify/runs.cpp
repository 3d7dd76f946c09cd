#include "verify/runs.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engines/refusal.h"
#include "verify/codes.h"

namespace t2o::verify {
namespace {

// LiteRT makes 8-bit codes of the inputs of a layer with quantized weights, which the exported model does
// not: measured, that is up to 2 % of an output's largest number.
constexpr double kOfQuantized = 0.02;

// A number beyond the range of the source's codes is the last code there.
TensorPtr within_codes(const Port& port, const Tensor& got) {
  const double highest = port.codes.lowest + port.codes.step * (std::exp2(port.codes.bits) - 1);
  std::vector<double> numbers = got.to_floats();
  for (double& x : numbers) x = std::isnan(x) ? x : std::clamp(x, port.codes.lowest, highest);
  return tensor_of(got.dtype(), got.dims(), numbers);
}

std::string type_text(const Tensor& t) { return std::string(name(t.dtype())) + shape_text(t.dims()); }

[[noreturn]] void tell_refusal(const engines::Refusal& e, const std::string& label) {
  Diagnostic d = e.diagnostic();
  d.code = Code::bad_option;  // nothing is wrong with the model
  d.remedy = "The source model itself does not take these inputs (" + label +
             "): give its shapes with --input-shape, or real data with --input-data.";
  throw ConversionError(d);
}

}  // namespace

bool takes_integers(const std::vector<Port>& inputs) {
  return std::ranges::any_of(inputs, [](const Port& p) { return is_int(p.dtype); });
}

bool has_sizes_in_file(const std::vector<Port>& inputs) {
  return std::ranges::any_of(inputs, [](const Port& p) { return !p.in_file.empty(); });
}

bool is_affordable(const std::vector<Port>& inputs, const OpenSizes& sizes) {
  constexpr std::int64_t kMostElements = 1 << 20;
  return std::ranges::all_of(inputs, [&](const Port& p) {
    return Shape(chosen_dims(p, sizes)).elements().value_or(kMostElements + 1) <= kMostElements;
  });
}

std::vector<Draw> with_smaller_integers(Draw draw, const std::vector<Port>& inputs) {
  std::vector<Draw> draws = {draw};
  if (takes_integers(inputs))
    for (const int highest : {1, 0}) draw.highest_integer = highest, draws.push_back(draw);
  return draws;
}

std::vector<Draw> usual_draws(const std::vector<Port>& inputs) {
  std::vector<Draw> draws = with_smaller_integers({}, inputs);
  if (!has_open_sizes(inputs)) return draws;
  if (has_sizes_in_file(inputs)) append(draws, with_smaller_integers({.in_file = true}, inputs));
  if (is_affordable(inputs, kLongSizes)) append(draws, with_smaller_integers({.sizes = kLongSizes}, inputs));
  return draws;
}

ComparedSample of_inputs(const Sample& sample, const std::vector<Port>& inputs) {
  ComparedSample result{sample.label, {}, {}, {}};
  for (std::size_t i = 0; i < inputs.size(); ++i)
    result.inputs.emplace_back(inputs[i].name, type_text(*sample.inputs[i]));
  return result;
}

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

bool in_codes(const VerifyOptions& o, const Port& port) { return port.codes.step != 0 && !o.tolerance_given; }

Comparison compare_output(const VerifyOptions& o, const Port& port, const Tensor& expected, const Tensor& got,
                          const CodeCount* own) {
  if (o.source.dequantize && in_codes(o, port) && is_float(got.dtype()))
    return compare_codes(expected, *within_codes(port, got), port.codes.step,
                         tolerance_of_dequantized(port.codes.bits), own);
  return in_codes(o, port)
             ? compare_codes(expected, got, port.codes.step, code_tolerance(port.codes.bits), own)
             : compare(expected, got, o.tolerance);
}

std::vector<TensorPtr> nudged(const std::vector<TensorPtr>& inputs, std::uint64_t seed) {
  Random random(seed);
  std::vector<TensorPtr> changed = inputs;
  for (TensorPtr& t : changed) {
    if (t->dtype() != DType::f32 && t->dtype() != DType::f64) continue;
    const double step = t->dtype() == DType::f32 ? 0x1p-22 : 0x1p-51;
    std::vector<double> numbers = t->to_floats();
    const double large =
        t->dtype() == DType::f32 ? 0x1p+127 : 0x1p+1023;  // these only shrink, to stay finite
    for (double& x : numbers) {
      const bool grows = random.bits() % 2 == 0;
      x *= !grows ? 1 - step : std::abs(x) < large ? 1 + step : 1 - 2 * step;
    }
    t = tensor_of(t->dtype(), t->dims(), numbers);
  }
  return changed;
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
  if (o.source.quantize_mode != tf2onnx::QuantizeMode::exact && reference.fakes_quantization()) {
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

}  // namespace t2o::verify
