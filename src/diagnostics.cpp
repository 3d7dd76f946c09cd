#include "diagnostics.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

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

std::string cause_of(std::string_view op, std::string_view message) {
  std::string cause(op);
  cause += '\0';
  bool quoted = false;
  for (std::size_t i = 0; i < message.size(); ++i) {
    const char c = message[i];
    const bool in_word = i > 0 && std::isalnum(static_cast<unsigned char>(message[i - 1])) != 0;
    if (c == '\'' && (quoted || !in_word)) quoted = !quoted;  // "graph's" has no quotation mark
    if (!quoted && (c < '0' || c > '9')) cause += c;
  }
  return cause;
}

std::string more_like_it(Severity s, std::string_view op, std::size_t more) {
  static constexpr std::string_view kNoun[] = {"note", "warning", "error"};
  std::string text = "  and " + std::to_string(more) + " more " + std::string(kNoun[static_cast<int>(s)]);
  if (more != 1) text += 's';
  text += " like this";
  if (!op.empty()) text.append(" of ").append(op);
  return text;
}

std::vector<Told> shorten(const std::vector<std::string>& causes) {
  constexpr std::size_t kTold = 10;
  std::unordered_map<std::string_view, std::pair<std::size_t, std::size_t>>
      groups;  // how many there are, and were told
  for (const std::string& c : causes) ++groups[c].first;
  std::vector<Told> told;
  for (std::size_t i = 0; i < causes.size(); ++i) {
    auto& [all, so_far] = groups[causes[i]];
    if (so_far == kTold) continue;
    ++so_far;
    told.push_back({i, so_far == kTold ? all - kTold : 0});
  }
  return told;
}

bool has_errors(const Diagnostics& ds) {
  return std::ranges::any_of(ds, [](const Diagnostic& d) { return d.severity == Severity::error; });
}

void fail(Code code, std::string message, std::string remedy, SourceLoc at) {
  throw ConversionError({Severity::error, code, std::move(message), std::move(remedy), {}, at});
}

void throw_first_error(const Diagnostics& diagnostics) {
  for (const Diagnostic& d : diagnostics)
    if (d.severity == Severity::error) throw ConversionError(d);
}

Diagnostic diagnostic_of(const std::exception& e, const Origin& origin) {
  if (const auto* known = dynamic_cast<const ConversionError*>(&e)) return known->diagnostic();
  if (dynamic_cast<const std::length_error*>(&e))
    return {Severity::error, Code::bad_model, std::string("a tensor of an impossible size: ") + e.what(), "",
            origin};
  return {Severity::error, Code::internal, e.what(), "this is a bug: please report it with the model",
          origin};
}

}  // namespace t2o
