#include <CLI/CLI.hpp>

#include "cli/convert.h"

namespace t2o::cli {
namespace {

constexpr const char* kGroup = "For command lines of tf2onnx";

void refuse(ConvertArguments& a, const std::string& message, const std::string& remedy) {
  a.refused.push_back({Severity::error, Code::not_yet, message, remedy, {}});
}

struct RefusedOption {
  const char* name;
  const char* value;
  const char* help;
  const char* message;
  const char* remedy;
};

constexpr RefusedOption kRefused[] = {
    {"--keras", "FILE", "Not supported yet: MODEL is a Keras file.", "Keras files cannot be read yet",
     "save the model with model.export(DIR) and convert that SavedModel"},
    {"--tfjs", "FILE", "Not supported yet: MODEL is a TensorFlow.js model.",
     "TensorFlow.js models cannot be read yet", "convert the TensorFlow model that it was made from"},
};

}  // namespace

void add_tf2onnx_options(CLI::App& command, ConvertArguments& a) {
  const auto hint = [&a](const char* text) { return [&a, text] { a.hints.emplace_back(text); }; };
  command
      .add_flag_callback(
          "--large-model",
          [&a] {
            a.options.external_data = tf2onnx::ExternalData::always;
            a.hints.emplace_back(
                "--large-model: the weights go into a .data file beside the model; no zip is made");
          },
          "Same as --external-data: writes a .data file beside the model instead of tf2onnx's zip.")
      ->group(kGroup);
  command
      .add_flag_callback(
          "--continue-on-error",
          hint("--continue-on-error: all errors are reported at once anyway; a broken file is not written"),
          "Changes nothing: all errors are always reported, and no broken file is written.")
      ->group(kGroup);
  command
      .add_flag_callback(
          "--fold-const", [] {}, "Changes nothing: constants are always folded.")
      ->group(kGroup);
  command
      .add_option_function<std::string>(
          "--load-op-libraries",
          [&a](const std::string&) {
            a.hints.emplace_back(
                "--load-op-libraries: graphs are read without TensorFlow; the libraries are not loaded");
          },
          "Changes nothing: graphs are read without TensorFlow.")
      ->type_name("FILES")
      ->group(kGroup);
  for (const RefusedOption& r : kRefused) {
    const auto callback = [&a, &r] { refuse(a, r.message, r.remedy); };
    command
        .add_option_function<std::string>(
            r.name, [callback](const std::string&) { callback(); }, r.help)
        ->type_name(r.value)
        ->group(kGroup);
  }
}

}  // namespace t2o::cli
