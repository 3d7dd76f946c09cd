#include "diagnostics.h"

#include <algorithm>

namespace t2o {

std::string_view name(Code c) {
  switch (c) {
    case Code::unsupported_op:
      return "unsupported-op";
    case Code::unsupported_attr:
      return "unsupported-attr";
    case Code::unsupported_type:
      return "unsupported-type";
    case Code::opset_too_low:
      return "opset-too-low";
    case Code::not_constant:
      return "not-constant";
    case Code::bad_model:
      return "bad-model";
    case Code::bad_file:
      return "bad-file";
    case Code::bad_option:
      return "bad-option";
    case Code::not_yet:
      return "not-yet";
    case Code::engine_missing:
      return "engine-missing";
    case Code::output:
      return "output";
    case Code::attr_ignored:
      return "attr-ignored";
    case Code::internal:
      return "internal";
  }
  return "unknown";
}

std::string to_string(const Diagnostic& d, bool with_source_location) {
  static constexpr std::string_view kSeverity[] = {"note", "warning", "error"};
  std::string s(kSeverity[static_cast<int>(d.severity)]);
  s.append("[").append(name(d.code)).append("]: ");
  if (!d.origin.op.empty()) s += d.origin.op + " '" + d.origin.node + "'";
  if (!d.origin.function.empty()) s += " in function '" + d.origin.function + "'";
  if (!d.origin.op.empty()) s += ": ";
  s += d.message;
  if (!d.remedy.empty()) s += "\n  help: " + d.remedy;
  if (with_source_location)
    s += "\n  raised at " + std::string(d.raised_at.file) + ":" + std::to_string(d.raised_at.line);
  return s;
}

bool has_errors(const Diagnostics& ds) {
  return std::any_of(ds.begin(), ds.end(), [](const Diagnostic& d) { return d.severity == Severity::error; });
}

void fail(Code code, std::string message, std::string remedy, SourceLoc at) {
  throw ConversionError({Severity::error, code, std::move(message), std::move(remedy), {}, at});
}

}  // namespace t2o
