#pragma once
#include "cli/cli.h"
#include "cli/console.h"
#include "cli/json.h"
#include "verify/verify.h"

namespace t2o::cli {

inline constexpr const char* kVerification = "Verification";  // the group of its options

// Of `verify` and of `convert --verify`.
void add_verification_options(CLI::App& command, verify::VerifyOptions&, tf2onnx::Options& source);

// Runs both models and tells how they compare, on the console and in `json`; the exit code.
int run_verification(const verify::VerifyOptions&, const Console&, Json& json);

}  // namespace t2o::cli
