#include "cli/verification.h"

#include <CLI/CLI.hpp>
#include <cmath>
#include <new>

#include "engines/onnxruntime.h"
#include "exit_code.h"
#include "verify/report.h"

namespace t2o::cli {

namespace {

constexpr int kMostSamples = 1'000'000, kMostThreads = 1024;

// CLI11's own checks let a NaN pass, which every number would be within.
const CLI::Validator kTolerance(
    [](std::string& text) -> std::string {
      double x = 0;
      return CLI::detail::lexical_cast(text, x) && std::isfinite(x) && x >= 0
                 ? ""
                 : "'" + text + "' is not a number of 0 or more";
    },
    "NUMBER");

Diagnostics warnings_of(const verify::VerifyReport& report) {
  Diagnostics warnings;
  for (const verify::Warning& w : report.warnings)
    warnings.push_back({Severity::warning, Code::bad_option, w.text, w.remedy, {}});
  return warnings;
}

}  // namespace

void add_verification_options(CLI::App& command, verify::VerifyOptions& o, tf2onnx::Options& source) {
  const std::string group = kVerification;
  command
      .add_option_function<double>(
          "--rtol", [&o](double x) { o.tolerance.relative = x, o.tolerance_given = true; },
          "Tolerance relative to the source model's value. The default is 0.001; it is larger for a model "
          "that "
          "computes in 16 bits.")
      ->type_name("X")
      ->check(kTolerance)
      ->group(group);
  command
      .add_option_function<double>(
          "--atol",
          [&o](double x) {
            o.tolerance.absolute = x, o.tolerance.by_scale = false, o.tolerance_given = true;
          },
          "Absolute tolerance, which is added to the relative one. The default is 0.001, times the largest "
          "value of an output where that value is below 1.")
      ->type_name("X")
      ->check(kTolerance)
      ->group(group);
  command.add_option("--seed", o.seed, "Seed of the random inputs. The default is 0.")
      ->type_name("N")
      ->group(group);
  command
      .add_option("--samples", o.samples,
                  "Number of runs, each with a seed of its own. The default is 1. If the model leaves sizes "
                  "open, one more run has other sizes.")
      ->type_name("N")
      ->group(group)
      ->check(CLI::Range(1, kMostSamples));
  command
      .add_option("--input-shape", o.input_shapes,
                  "The shape of an input whose sizes are not known, as NAME:1,28,28,3.")
      ->type_name("SHAPE")
      ->group(group)
      ->expected(1)
      ->take_all();
  command
      .add_option("--input-data", o.input_data,
                  "Your own data: a .npz, NAME=FILE with a .npy or a TensorProto (.pb), a test_data_set "
                  "folder or a folder of them. The outputs in such folders are compared too.")
      ->type_name("PATH")
      ->group(group)
      ->expected(1)
      ->take_all();
  command
      .add_flag(
          "--bisect", o.bisect,
          "On a mismatch, find the first inner tensor that differs, and the source's nodes that compute it.")
      ->group(group);
  command
      .add_flag(
          "--special-values", o.special_values,
          "Also compare NaN, infinities, the largest and smallest numbers, denormals, zeros, the extremes of "
          "integers, and empty tensors. What the file's --fidelity promises must agree; other differences "
          "are only reported. docs/fidelity.md says what is promised.")
      ->group(group);
  command
      .add_option("--threads", o.threads, "Threads of each engine. The default is the engine's own choice.")
      ->check(CLI::Range(0, kMostThreads))
      ->type_name("N")
      ->group(group);
  add_reference_options(command, source, group);
  command.add_option("--tensorflow", o.tensorflow_library, "Path of libtensorflow_cc.so.2.")
      ->type_name("FILE")
      ->group(group);
  command
      .add_option("--litert", o.litert_library,
                  "Path of libtensorflowlite_c.so or libLiteRt.so, which run .tflite models.")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--onnxruntime", o.onnxruntime_library, "Path of libonnxruntime.so.")
      ->type_name("FILE")
      ->group(group);
}

int run_verification(const verify::VerifyOptions& options, const Console& console, Json& json) {
  if (!options.input_data.empty() && options.samples != 1)
    console.hint("--samples applies to random inputs; --input-data compares all data that it is given");
  try {
    const Stopwatch time;
    verify::VerifyReport report;
    {
      Progress progress(console, "verifying " + options.onnx);
      report = verify::verify(options, &progress.meter());
    }
    json = verify::to_json(report);
    json["seconds"] = time.seconds();
    std::string text = verify::to_text(report);
    while (text.ends_with('\n')) text.pop_back();
    console.say(text);
    console.report(warnings_of(report));
    const bool is_whole = !report.special || report.special->problem.empty();
    if (!report.ok())
      console.complain(options.onnx +
                       (is_whole ? " does not agree with " : " was not compared in full with ") +
                       report.runtime.name);
    return report.ok() ? kDone : kVerificationFailed;
  } catch (const std::bad_alloc&) {
    const Diagnostic d{Severity::error,
                       Code::bad_option,
                       "the inputs need more memory than there is",
                       "give smaller sizes with --input-shape",
                       {}};
    json = {{"ok", false}, {"diagnostics", to_json(Diagnostics{d})}};
    console.report({d}, "the models were not compared");
    return exit_code({d});
  } catch (const engines::OrtError& e) {  // it computes nothing
    json = {{"ok", false}, {"diagnostics", to_json(Diagnostics{e.diagnostic()})}};
    console.report({e.diagnostic()}, options.onnx + " does not run");
    return kVerificationFailed;
  } catch (const ConversionError& e) {
    const Diagnostics diagnostics = {e.diagnostic()};
    json = {{"ok", false}, {"diagnostics", to_json(diagnostics)}};
    console.report(diagnostics, "the models were not compared");
    return exit_code(diagnostics);
  }
}

}  // namespace t2o::cli
