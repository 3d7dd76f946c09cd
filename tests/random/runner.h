#pragma once
#include "drawer.h"

namespace t2o::random_graphs {

struct Variant {
  test::Mode mode = test::Mode::fixed;
  int opset = 21;
  bool optimize = true;  // ONNX Runtime's optimizations
  bool nhwc = false;     // --layout nhwc
  bool operator==(const Variant&) const = default;
};
std::string to_text(const Variant&);
std::vector<Variant> draw_variants(std::uint64_t seed, const std::vector<int>& opsets, std::size_t count);

enum class Result : std::uint8_t {
  right,
  refused,    // with a reason
  skipped,    // TensorFlow does not take the graph with these shapes
  wrong,      // another value, dtype or shape, or one that the export does not declare
  misjudged,  // refused as a broken model, or with an error of the converter's own
  not_loaded,
  not_run,
  crash,
  hang,
  undrawn,    // the process ended while TensorFlow ran what was drawn
  count
};
std::string_view name(Result);
inline bool is_failure(Result r) { return r >= Result::wrong && r != Result::undrawn; }

struct Outcome {
  Result result = Result::right;
  std::string text = {};
};

enum class Phase : std::uint8_t { draw, convert, load, run };

// Converts, runs and compares. `at` is told where it is.
Outcome try_variant(const Recipe&, const Variant&, const std::function<void(Phase)>& at);

// What TensorFlow makes of it now; false where it refuses.
bool refresh(Recipe&);

// A difference that is known and stays, by its name in docs/differences.md; empty: none.
std::string known_difference(const Recipe&, const Variant&, const Outcome&);

// Whether a value is one that C++ or the kernels leave open. What was drawn among such values may, made smaller, have none.
bool has_special_values(const Recipe&);

// Ways to make it smaller by one thing, the most promising first.
std::vector<Recipe> smaller(const Recipe&);
std::vector<Variant> simpler(const Variant&);

// model.pb, feeds, graph.txt with the command that shows it, in this folder.
void save(const std::string& folder, const Recipe&, const Variant&, const Outcome&, std::uint64_t seed);

// Of a graph that ends the process, or hangs: the smallest that does so too. For a process that has not loaded the engines.
void shrink_crash(std::uint64_t seed, const Variant&, const std::string& folder);

}  // namespace t2o::random_graphs
