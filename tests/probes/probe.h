#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/golden/case_file.h"

// Probes of the runtime's table (rewriters/runtime/table.h). The probe of a row is a small graph that shows what the row says: it is
// converted with the row and without it, and the runtime runs both models. docs/adding-a-rewriter.md says how one is written.
namespace t2o::probes {

// What the row says of the model that is converted without it.
enum class Claim : std::uint8_t {
  wrong,   // its results are wrong
  fails,   // it does not load, or does not run
  ends,    // it ends the process
  slower,  // it takes longer than the model that is converted with the row
};

inline constexpr const char* kSomeCpus = "some";

struct Probe {
  std::string row = {}, name = {};
  Claim claim = Claim::wrong;
  double times = 1;      // slower: by this factor at least
  std::string cpu = {};  // "x86_64": the row is about these CPUs alone; "some": not all CPUs show it; empty: about all
  std::map<std::string, std::vector<double>> inputs = {};  // the others are random numbers
  std::map<std::string, std::vector<double>> right = {};   // the right results; the others are computed without the optimizer
  std::vector<std::pair<std::string, std::string>> session = {};  // entries of the session's configuration
  bool optimizes = true;    // the runtime; false: it computes the models as they are written
  golden::Case graph = {};  // and its opset
};

// The probes of a file; its name is that of the row. Throws std::runtime_error for what is malformed.
std::vector<Probe> read_probes(const golden::fs::path&);

// What the runtime did with one of the two models.
struct Observation {
  std::string failure = {};     // what it says if the model does not convert, load or run
  std::string difference = {};  // from the right results; empty: there is none
  double seconds = 0;           // of the fastest run
};

enum class Verdict : std::uint8_t { needed, no_longer_needed, cannot_tell };
std::string_view name(Verdict);

struct Finding {
  Verdict verdict = Verdict::cannot_tell;
  std::string why = {};
};

// Whether the runtime still does what the row says.
Finding judge(const Probe&, const Observation& with, const Observation& without);

// Of the findings of a row's probes: the worst, "cannot tell" before "no longer needed". No probe at all: cannot tell.
Verdict worst(const std::vector<Finding>&);

}  // namespace t2o::probes
