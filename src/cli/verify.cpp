#include <CLI/CLI.hpp>
#include <iostream>

#include "cli/cli.h"
#include "cli/verification.h"
#include "diagnostics.h"

namespace t2o::cli {
namespace {

struct Arguments {
  verify::VerifyOptions options;
  Common common;
};

int run_verify(const Arguments& a) {
  const Console console(a.common);
  if (a.options.source.model.empty() || a.options.onnx.empty())
    fail(Code::bad_option, "two models are needed", "tf2onnx-cpp verify MODEL FILE.onnx");
  Json json;
  const int code = run_verification(a.options, console, json);
  if (console.json()) {
    json["exit_code"] = code;
    std::cout << printed(json) << std::endl;
  }
  return code;
}

}  // namespace

void add_verify(CLI::App& root, Session& session) {
  auto a = std::make_shared<Arguments>();
  CLI::App* command = add_command(
      root, "verify", "Run a TensorFlow model and its ONNX export on the same data, and compare.",
      "  tf2onnx-cpp verify saved_model_dir model.onnx\n"
      "  tf2onnx-cpp verify saved_model_dir model.onnx --rtol 1e-4 --samples 10 --bisect\n"
      "  tf2onnx-cpp verify frozen.pb model.onnx --inputs X:0 --outputs Y:0 --input-data X=photo.npy");
  add_model_options(*command, a->options.source);
  command->add_option("FILE.onnx", a->options.onnx, "The ONNX model.");
  add_verification_options(*command, a->options, a->options.source);
  add_common_options(*command, a->common);
  command->callback([&session, a] { session.action = [a] { return run_verify(*a); }; });
}

}  // namespace t2o::cli
