#pragma once
#include <string>
#include <vector>

#include "cli/cli.h"
#include "cli/verification.h"
#include "diagnostics.h"

namespace t2o::cli {

struct ConvertArguments {
  tf2onnx::Options options;
  Common common;
  std::string output;
  bool report = false;  // tell how the graph came out
  bool verify = false;
  verify::VerifyOptions verification;
  Diagnostics refused;             // what tf2onnx can do and this program not yet
  std::vector<std::string> hints;  // what differs from tf2onnx, and does no harm
};

// The options of `python -m tf2onnx.convert` that have no counterpart: accepted where they change nothing,
// else refused.
void add_tf2onnx_options(CLI::App& command, ConvertArguments&);

}  // namespace t2o::cli
