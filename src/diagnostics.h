#pragma once
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace t2o {

struct SourceLoc {  // std::source_location is missing with clang 14 + libstdc++ 12
  const char* file = "";
  int line = 0;
  static constexpr SourceLoc here(const char* f = __builtin_FILE(), int l = __builtin_LINE()) { return {f, l}; }
};

struct Origin {  // where in the source model something comes from; stamped on every ONNX node
  std::string node, op, function;  // as the source has them: messages, reports and metadata say these
  std::string brief = {};          // the node's path as its author wrote it; empty if that is `node`
  const std::string& label() const { return brief.empty() ? node : brief; }  // names in the ONNX file begin with it
};

enum class Severity : std::uint8_t { note, warning, error };
enum class Code : std::uint8_t {
  unsupported_op,    // no row for this op
  unsupported_attr,  // an attribute value or a combination that cannot be expressed
  unsupported_type,  // a dtype that cannot be expressed
  opset_too_low,     // would work at a higher target opset
  not_constant,      // something must be known at conversion time and is not
  bad_model,         // the model contradicts itself or TensorFlow's rules
  bad_file,          // unreadable, truncated, corrupt
  bad_option,        // the user's request cannot be met: no such output ...
  not_yet,           // a part of this program that does not exist yet
  engine_missing,    // libtensorflow_cc or libonnxruntime is not there
  output,            // the result cannot be written
  attr_ignored,      // a source attribute that nothing read
  internal,          // a bug of ours
};
std::string_view name(Code);

struct Diagnostic {
  Severity severity = Severity::error;
  Code code = Code::internal;
  std::string message = {};  // the cause
  std::string remedy = {};   // what the user can do; may be empty
  Origin origin = {};        // empty where no node is to blame
  SourceLoc raised_at = SourceLoc::here();
};
using Diagnostics = std::vector<Diagnostic>;

std::string to_string(const Diagnostic&, bool with_source_location = false);

// Diagnostics that are alike have one op and one cause: their messages differ in names and numbers alone.
std::string cause_of(std::string_view op, std::string_view message);
struct Told {
  std::size_t index;
  std::size_t more;  // so many others are like this one, and are not told
};
std::string more_like_it(Severity, std::string_view op, std::size_t more);  // "  and 3 more errors like this of Foo"
std::vector<Told> shorten(const std::vector<std::string>& causes);  // the first ten of each cause, in their order
bool has_errors(const Diagnostics&);

// Thrown inside readers, mappers and rewriters; caught per node by the importer and by map_ops, and at the API's edge.
class ConversionError : public std::runtime_error {
 public:
  explicit ConversionError(Diagnostic d) : std::runtime_error(to_string(d)), diagnostic_(std::move(d)) {}
  const Diagnostic& diagnostic() const { return diagnostic_; }

 private:
  Diagnostic diagnostic_;
};

// Does the work; an error that it throws is collected, so that the next can be looked for. False: it threw one.
template <class Work> bool collect(Diagnostics& found, Work&& work) {
  try {
    work();
    return true;
  } catch (const ConversionError& e) {
    found.push_back(e.diagnostic());
    return false;
  }
}

// What an exception that is no ConversionError says: a tensor of an impossible size, or a bug of this program.
Diagnostic diagnostic_of(const std::exception&, const Origin& = {});

void throw_first_error(const Diagnostics&);  // as a ConversionError; does nothing without errors
[[noreturn]] void fail(Code, std::string message, std::string remedy = "", SourceLoc at = SourceLoc::here());

}  // namespace t2o
