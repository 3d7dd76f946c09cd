#pragma once
#include <chrono>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "verify/special_plan.h"

namespace t2o::verify {

struct VerifyOptions;

struct SpecialResult {  // of one sample
  Special kind = Special::nan;
  std::string label = {};
  std::string skipped = {};  // why nothing was compared; empty otherwise
  std::string problem = {};  // ONNX Runtime does not run it; then all elements differ
  std::int64_t elements = 0, differing = 0;
  bool promised = false;    // the level promises that nothing differs
  std::string unpromised = {};   // why it does not for this sample, although it may for the kind
  std::string known = {};        // the entry of docs/differences.md that explains the difference
  std::string element = {};      // "y[0, 3]: x[0, 3] = nan gives nan in TensorFlow, 1 in the export"
  std::string node = {};         // the source's node that the first inner difference is at: "Max 'model/pool'"
  bool fails() const { return differing > 0 && promised && known.empty(); }
};

struct SpecialKind {  // what the samples of one kind give together
  Special kind = Special::nan;
  Promise promise = Promise::no;
  std::int64_t samples = 0, skipped = 0, elements = 0, differing = 0;
  std::int64_t failing = 0;             // elements that differ and are promised
  const SpecialResult* worst = nullptr; // a sample that differs: one that fails if there is one
  std::string why_skipped = {};
};

struct SpecialReport {
  Level level;
  std::string problem;  // why the comparison did not begin, or did not go on
  std::vector<SpecialResult> results;
  bool ok() const;
  std::vector<SpecialKind> kinds() const;  // in the order of the results
};

// Runs both models on special values, in a process of its own: an engine may end the process at such values. Call it before this
// process has loaded an engine, because an engine's threads do not go along.
SpecialReport compare_special_values(const VerifyOptions&, const std::function<void(const std::string&)>& go_on);

std::vector<std::vector<std::string>> rows(const SpecialReport&);  // of a table: its head, and a row for each kind
std::string details(const SpecialReport&);                          // a line for each kind that differs
nlohmann::ordered_json to_json(const SpecialReport&);

// The same of an operator in the ONNX model that ONNX Runtime clamps, or ends the process at: a recurrent layer, an Einsum.
std::string known_end(const std::string& onnx, Special);

// What the process of its own is at. `explaining` a difference may take long.
enum class Step : std::uint8_t { loading, reference, candidate, explaining };

// What the process of its own does: it tells its steps and results as it makes them, and begins at the given sample.
using Tell = std::function<void(const nlohmann::ordered_json&)>;
void run_special_values(const VerifyOptions&, Level, std::size_t first, const Tell&);
nlohmann::ordered_json as_message(const SpecialResult&);
SpecialResult from_message(const nlohmann::ordered_json&);

// Takes what such processes tell, one after the other, and decides what it means when one of them ends too early.
class SpecialCollector {
 public:
  SpecialCollector(Level level, std::string onnx) : onnx_(std::move(onnx)) { report_.level = level; }
  void begin();                                      // a process
  void take(const nlohmann::ordered_json& message);  // of it
  void end(const std::string& how);                  // of it, before it was done: "did not end in time"
  bool done() const { return done_; }
  std::chrono::seconds limit() const;                // for the step that it is at
  const SpecialReport& report() const { return report_; }

 private:
  std::string onnx_;
  SpecialReport report_;
  std::vector<SpecialResult> plan_;  // empty until this process has told it
  std::chrono::seconds limit_{};     // for a run
  Step step_ = Step::loading;
  std::string engine_ = {};          // that is at work
  std::optional<SpecialResult> preliminary_;  // of a sample that differs, while the process explains why
  std::map<Special, std::int64_t> ends_;
  bool done_ = false;
};

// Whether one of the other results z of the source's runtime is about as far from its result x as the export's y is.
bool is_within(double x, double y, const std::vector<double>& others, bool by_rounding);

}  // namespace t2o::verify
