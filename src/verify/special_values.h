#pragma once
#include <functional>
#include <nlohmann/json_fwd.hpp>
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
  std::string problem;  // nothing was compared
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

// What the process of its own does: it tells its steps and results as it makes them, and begins at the given sample.
using Tell = std::function<void(const nlohmann::ordered_json&)>;
void run_special_values(const VerifyOptions&, Level, std::size_t first, const Tell&);
nlohmann::ordered_json as_message(const SpecialResult&);
SpecialResult from_message(const nlohmann::ordered_json&);

}  // namespace t2o::verify
