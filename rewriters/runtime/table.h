#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx/opset_table.h"
#include "rewriters/phase.h"

// What this program knows of the runtime that an export is for. Each piece of knowledge is a row of one table. Repairs, vetoes and
// preferences are used for ONNX Runtime alone; forms, which are in rewriters/portable, with --target-runtime any alone.
namespace t2o::runtime {

enum class Kind : std::uint8_t {
  repair,      // a defect of the runtime; the row's form is one that it computes right
  veto,        // an operator that fusions do not make for this runtime: they ask may_make()
  preference,  // a form that the runtime computes faster, or more exactly; `why` says what was measured
  form,        // for any runtime: a form that more runtimes read; `why` names it, and who reads it
};
std::string_view name(Kind);

// From which fidelity on a row applies (docs/fidelity.md).
enum class Level : std::uint8_t {
  plain,   // ordinary values need it: at both levels
  strict,  // only NaN, infinities, denormals or empty tensors need it
};
std::string_view name(Level);

// From the first version to the last one in which the row was seen to hold. Versions of ONNX Runtime are 1.N: these are the N.
struct Versions {
  int first = 0, last = 31;
};

struct Row {
  std::string_view name;    // of a row with a rewriter: the rewriter's name
  Kind kind;
  std::string_view phase;   // of its rewriter
  std::vector<std::string_view> operators;
  std::vector<DType> types;  // empty: all
  std::string_view why;      // what goes wrong without the row, or what was measured
  Rewriter (*make)(const onnx::Target&) = nullptr;  // makes the form; null: a fusion does, which asks needs()
  int first_opset = onnx::kLowestOpset, last_opset = onnx::kHighestOrtOpset;
  Versions versions = {};
  Level level = Level::plain;
  std::vector<After> after = {};   // rewriters of the phase that run before this one
  std::vector<After> before = {};  // ... and those that run after it
};

const std::vector<Row>& table();
const Row* find_row(std::string_view name);  // null: there is none
bool applies(const Row&, const onnx::Target&);

// The rewriters of a phase that the table adds for a target, in the order of the table.
std::vector<Step> steps(std::string_view phase, const onnx::Target&);
// Puts them into the phase: behind its own steps, or in front of those that run after them.
void add_steps(Phase&, const onnx::Target&);

// False: a veto forbids fusions to make this operator for this target.
bool may_make(const onnx::Target&, std::string_view op, DType);

// Whether a repair or a preference without a rewriter applies. A fusion asks where it would make another form otherwise: each yes
// counts as a use of the row.
bool needs(const onnx::Target&, std::string_view row);

// How often each row has changed a graph, or has forbidden an operator; rows that did nothing are left out.
using Uses = std::vector<std::pair<std::string, int>>;

// Collects the uses in this thread, from its construction to its end. `without`: rows without a rewriter that do not apply
// meanwhile; the phases leave out the others.
class Recording {
 public:
  explicit Recording(std::vector<std::string> without = {});
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  void add(std::string_view row, int uses);  // of a name that is no row: nothing
  const Uses& uses() const { return uses_; }
  bool leaves_out(std::string_view row) const;

 private:
  Recording* outer_;
  std::vector<std::string> without_;
  Uses uses_;
};

std::string markdown();  // docs/runtime-rows.md
std::string types_text(const Row&), operators_text(const Row&), opsets_text(const Row&), versions_text(const Row&);

}  // namespace t2o::runtime
