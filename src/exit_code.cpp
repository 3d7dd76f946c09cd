#include "exit_code.h"

#include <algorithm>

namespace t2o {
namespace {

ExitCode exit_code(Code code) {
  switch (code) {
    case Code::bad_file:
    case Code::bad_model:
      return kBadInput;
    case Code::bad_option:
      return kUsage;
    case Code::engine_missing:
      return kEngineMissing;
    default:
      return kNotConvertible;
  }
}

}  // namespace

ExitCode exit_code(const Diagnostics& diagnostics) {
  static constexpr ExitCode kFirst[] = {kBadInput, kUsage, kEngineMissing, kNotConvertible};
  for (const ExitCode candidate : kFirst)
    if (std::ranges::any_of(diagnostics, [candidate](const Diagnostic& d) {
          return d.severity == Severity::error && exit_code(d.code) == candidate;
        }))
      return candidate;
  return kDone;
}

}  // namespace t2o
