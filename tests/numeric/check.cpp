#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "engines/onnxruntime.h"
#include "foreign_ops.h"
#include "harness.h"
#include "ir/text.h"
#include "onnx/model_edit.h"
#include "onnx_checker.h"
#include "op_mappers/registry.h"
#include "report.h"
#include "tests/support/coverage.h"
#include "tf/text_proto.h"

namespace t2o::numeric {

using test::as_bytes;
using test::as_onnx;
using test::declared_problem;
using test::has_f32;

namespace {

constexpr int kMostFailures = 4;  // of one case; the others look alike
constexpr int kFirstOpsetWithBf16 = 13;
constexpr std::size_t kElideAbove = 512;  // bytes of a constant in the printed graph
const std::vector<int> kOpsets = {11, 13, 15, 17, 18, 21, 23, 26};
const std::vector<int> kOpsetsNobodyRuns = {27, 28};  // yet: such a model passes onnx's own checker

verify::Tolerance default_tolerance(DType dtype) {
  switch (dtype) {
    case DType::f16:
      return {5e-3, 5e-3};
    case DType::bf16:
      return {3e-2, 3e-2};
    case DType::f32:
      return {1e-4, 1e-5};
    case DType::f64:
      return {1e-7, 1e-9};
    default:
      return {0, 0};
  }
}

verify::Tolerance default_tolerance(DType dtype, const ir::Graph& exported) {
  return default_tolerance(dtype == DType::f64 && has_f32(exported) ? DType::f32 : dtype);
}

// Operators that are about NaN and infinities. The default promises their results for these too.
const std::set<std::string> kAboutSpecials = {"IsNan", "IsInf", "IsFinite", "MulNoNan", "DivNoNan", "Xlogy", "Xlog1py", "Xdivy"};

// The lowest integer / -1 is undefined in C++: processors trap.
bool may_trap(const engines::TfGraph& graph, const engines::Feeds& feeds) {
  const auto divides = [](const auto& operation) {
    return operation.op.find("Div") != std::string::npos || operation.op.find("Mod") != std::string::npos;
  };
  const auto has_lowest = [](const auto& feed) {
    const DType t = feed.second->dtype();
    if (t != DType::i32 && t != DType::i64) return false;
    const std::int64_t lowest = t == DType::i32 ? std::numeric_limits<std::int32_t>::min() : std::numeric_limits<std::int64_t>::min();
    return contains(feed.second->to_ints(), lowest);
  };
  const auto operations = graph.operations();
  return std::any_of(operations.begin(), operations.end(), divides) && std::any_of(feeds.begin(), feeds.end(), has_lowest);
}

bool is_result_special(const TensorPtr& t) {  // sizes of 0 may come of data
  return !contains(t->dims(), 0) && is_special(t, true);
}

// NaN, infinities and zeros of both signs among the elements; another rhythm for each input, so that they
// meet.
TensorPtr with_specials(const Tensor& t, std::size_t input) {
  constexpr double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> specials = {std::numeric_limits<double>::quiet_NaN(), inf, -inf, 0.0, -0.0};
  std::vector<double> values = t.to_floats();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (const std::size_t k = (i * (input + 1) + input) % 7; k < specials.size()) values[i] = specials[k];
  return verify::tensor_of(t.dtype(), t.dims(), values);
}

// TensorFlow knows the rank of an output, the exported graph does not. There are ops left of which this is so: it is only
// told where T2O_LOST_RANKS is set.
std::string lost_rank(const engines::TfGraph& source, const Strings& outputs, const ir::Graph& exported) {
  static const bool wanted = std::getenv("T2O_LOST_RANKS") != nullptr;
  for (std::size_t i = 0; wanted && i < outputs.size(); ++i)
    if (const Shape known = source.shape(outputs[i]); known.ranked() && !exported.outputs()[i]->shape().ranked())
      return "TensorFlow knows that output " + outputs[i] + " has rank " + std::to_string(known.rank()) +
             ", the exported graph does not";
  return "";
}

// What ONNX's checker refuses is not written, or the user is warned: a rank that nothing tells cannot be written.
std::string checker_problem(const Conversion& conversion, const std::string& model) {
  const std::string problem = onnx_checker_problem(model);
  const bool warned = std::any_of(conversion.diagnostics.begin(), conversion.diagnostics.end(), [](const Diagnostic& d) {
    return d.severity == Severity::warning && d.message.find("is not known: ONNX Runtime accepts such a model") != std::string::npos;
  });
  if (problem.find("Field 'shape' of 'type' is required") != std::string::npos) return warned ? "" : problem;
  return warned && problem.empty() ? "the user is warned of unknown ranks for nothing" : problem;
}

}  // namespace

bool engines_missing() {
  try {
    engines::tensorflow_version();
    engines::onnxruntime_version();
    return false;
  } catch (const ConversionError& e) {
    const auto tell = [&] {
      if (std::getenv("T2O_REQUIRE_ENGINES")) FAIL() << e.what();
      GTEST_SKIP() << e.what();
    };
    tell();
    return true;
  }
}

struct Case::Graph {
  engines::TfGraph graph;
  engines::Feeds feeds;
  Strings outputs;
  bool reads_specials = false;  // of its constants
};

struct Case::Truth {  // one set of values to feed, and what TensorFlow makes of it
  std::string label;
  engines::Feeds feeds;
  std::vector<TensorPtr> results;
  bool special = false;  // an export with --fidelity strict gives these results, the default need not
};

struct Case::Export {
  tf2onnx::Fidelity fidelity;
  Conversion conversion;
  std::string model;
};

struct Case::Run {
  Mode mode;
  int opset;
  const Graph* graph;
  std::string graph_def;
};

Case::Graph Case::make_graph(Mode mode, DType dtype, bool empty) const {
  Builder b(title_, mode, dtype, empty);
  build(b);
  return {b.graph_, b.feeds_, b.outputs_, b.reads_specials_};
}

class Case::Checker {
 public:
  Checker(const Case& c, SourceLoc at) : case_(c), at_(at) {}

  void check_all() {
    for (const DType dtype : case_.dtypes_.empty() ? DTypes{any} : case_.dtypes_) {
      check_variant(dtype, false);
      if (case_.empty_) check_variant(dtype, true);
    }
  }

 private:
  void check_variant(DType dtype, bool empty);
  bool find_truths(const Graph& graph);
  std::vector<int> opsets(const Graph& graph) const;
  bool check_run(const Run& run);
  void check_form(const Run& run);
  Conversion converted(const Run& run, Options& options) const;
  // None: reported, or refused as expected.
  std::optional<Export> exported(const Run& run, tf2onnx::Fidelity fidelity, bool check_phases);
  void convert_and_run(const Run& run);
  bool check_refusal(const Run& run, const Conversion& conversion);
  void check_operators(const Run& run, const ir::Graph& graph);
  void run_onnx(const Run& run, const Export& e, bool with_specials);
  void compare_results(const Run& run, const Export& e, const Truth& truth, const std::vector<TensorPtr>& got);
  void report(const Run* run, const std::string& problem, const ir::Graph* graph = nullptr);

  const Case& case_;
  SourceLoc at_;
  std::string variant_;  // dtype and emptiness, for messages
  bool empty_ = false;   // the variant of no elements, most of which is folded
  std::vector<Truth> truths_;
  std::set<std::string> done_;  // models that differ from earlier ones in nothing that a runtime sees
  int failures_ = 0;
};

void Case::Checker::report(const Run* run, const std::string& problem, const ir::Graph* graph) {
  if (++failures_ > kMostFailures) return;
  std::string text = case_.title_ + variant_;
  if (run) text += ", " + std::string(name(run->mode)) + ", opset " + std::to_string(run->opset);
  text += ": " + problem;
  if (!case_.note_.empty()) text += "\nnote: " + case_.note_;
  if (graph) text += "\n" + ir::to_text(*graph, {.elide_above = kElideAbove});
  ADD_FAILURE_AT(at_.file, at_.line) << text;
}

void Case::Checker::check_variant(DType dtype, bool empty) {
  variant_ = (dtype == any ? "" : " " + std::string(t2o::name(dtype))) + (empty ? " empty" : "");
  empty_ = empty;
  truths_.clear();
  done_.clear();
  try {
    const Graph fixed = case_.make_graph(Mode::fixed, dtype, empty);
    const bool refused_always =
        std::any_of(case_.refusals_.begin(), case_.refusals_.end(),
                    [](const Refusal& r) { return r.modes.empty() && r.below_opset == 0; });
    if (!refused_always && !find_truths(fixed)) return;
    std::string before;
    for (const Mode mode : {Mode::fixed, Mode::batch, Mode::dims, Mode::rank}) {
      if (case_.without_.contains(mode)) continue;
      std::optional<Graph> other;
      try {
        if (mode != Mode::fixed) other = case_.make_graph(mode, dtype, empty);
      } catch (const ConversionError&) {
        continue;  // TensorFlow itself wants to know more of the shapes
      }
      const Graph& graph = other ? *other : fixed;
      std::string graph_def = graph.graph.graph_def();
      if (graph_def == before) continue;
      for (const int opset : opsets(graph))
        if (!check_run({mode, opset, &graph, graph_def})) break;  // the other opsets fail alike
      if (mode == Mode::fixed && case_.opsets_.empty())
        for (const int opset : kOpsetsNobodyRuns) check_form({mode, opset, &graph, graph_def});
      before = std::move(graph_def);
    }
  } catch (const ConversionError& e) {
    report(nullptr, e.what());
  }
}

bool Case::Checker::find_truths(const Graph& graph) {
  truths_.push_back({"", graph.feeds, {}});
  if (case_.nan_inf_) {
    Truth& special = truths_.emplace_back(Truth{"NaN and infinities", graph.feeds, {}});
    for (std::size_t i = 0; i < special.feeds.size(); ++i)
      if (TensorPtr& value = special.feeds[i].second; is_float(value->dtype()))
        value = with_specials(*value, i);
  }
  try {
    engines::TfSession session(graph.graph, {.single_threaded = true});
    for (Truth& truth : truths_) {
      truth.results = session.run(truth.feeds, graph.outputs);
      const auto is_fed_special = [](const auto& feed) { return is_special(feed.second, true); };
      if (kAboutSpecials.contains(case_.op_)) continue;
      truth.special = graph.reads_specials || may_trap(graph.graph, truth.feeds) || std::any_of(truth.feeds.begin(), truth.feeds.end(), is_fed_special) ||
                      std::any_of(truth.results.begin(), truth.results.end(), is_result_special);
    }
    return true;
  } catch (const ConversionError& e) {
    report(nullptr, e.what());
    return false;
  }
}

std::vector<int> Case::Checker::opsets(const Graph& graph) const {
  if (!case_.opsets_.empty()) return case_.opsets_;
  int lowest = case_.since_;
  for (const auto& operation : graph.graph.operations()) {
    if (tf_registry().knows(operation.op))
      lowest = std::max(lowest, tf_registry().lowest_opset(operation.op));
    const bool is_bf16 =
        graph.graph.outputs(operation.name) > 0 && graph.graph.dtype(operation.name) == DType::bf16;
    if (is_bf16) lowest = std::max(lowest, kFirstOpsetWithBf16);
  }
  std::vector<int> list;
  std::copy_if(kOpsets.begin(), kOpsets.end(), std::back_inserter(list), [&](int o) { return o >= lowest; });
  if (list.empty()) ADD_FAILURE() << "no opset of this suite is " << lowest << " or above: nothing would be run";
  return list;
}

bool Case::Checker::check_run(const Run& run) {
  const int before = failures_;
  convert_and_run(run);
  return failures_ == before;
}

Conversion Case::Checker::converted(const Run& run, Options& options) const {
  for (const auto& [tensor, value] : run.graph->feeds) options.inputs.push_back(tensor + ":0");
  options.outputs = run.graph->outputs;
  options.opset = run.opset;
  if (case_.change_) case_.change_(options);
  options.complex_as_pairs = true;
  return convert(options, as_bytes(run.graph_def));
}

void Case::Checker::check_form(const Run& run) {
  Options options;
  options.check_phases = true;
  options.target_runtime = "any";
  const Conversion conversion = converted(run, options);
  if (conversion.ok() || check_refusal(run, conversion)) return;  // what is refused for want of kernels is not refused here
  std::string text = "not converted";
  for (const Diagnostic& d : conversion.diagnostics) text += "\n  " + to_string(d, true);
  report(&run, text);
}

std::optional<Case::Export> Case::Checker::exported(const Run& run, tf2onnx::Fidelity fidelity, bool check_phases) {
  Options options;
  options.fidelity = fidelity;
  options.check_phases = check_phases;
  Export e{fidelity, converted(run, options), ""};
  if (check_refusal(run, e.conversion)) return std::nullopt;
  Diagnostics diagnostics = e.conversion.diagnostics;
  if (e.conversion.ok()) diagnostics = write_model_bytes(e.conversion, options, e.model);
  if (e.conversion.ok() && !has_errors(diagnostics)) return e;
  std::string text = "not converted";
  for (const Diagnostic& d : diagnostics) text += "\n  " + to_string(d, true);
  report(&run, text, e.conversion.graph().get());
  return std::nullopt;
}

// The default export is compared on ordinary values. One with --fidelity strict is compared on all values, unless it is the same.
void Case::Checker::convert_and_run(const Run& run) {
  const auto plain = exported(run, tf2onnx::Fidelity::plain, true);
  if (!plain) return;
  const ir::Graph& graph = *plain->conversion.graph();
  const std::string lost = lost_rank(run.graph->graph, run.graph->outputs, graph);
  if (!lost.empty()) report(&run, lost, &graph);
  check_operators(run, graph);
  auto strict = exported(run, tf2onnx::Fidelity::strict, false);  // most are the same, and those are checked already
  const bool is_same = strict && strict->model == plain->model;
  if (strict && !is_same) strict = exported(run, tf2onnx::Fidelity::strict, true);
  try {
    run_onnx(run, *plain, is_same);
    if (strict && !is_same) run_onnx(run, *strict, true);
  } catch (const ConversionError& e) {
    report(&run, e.what(), &graph);
  }
  if (failures_ == 0) test::record_coverage(*plain->conversion.source_graph, run.opset);
}

void Case::Checker::check_operators(const Run& run, const ir::Graph& graph) {
  for (const Operators& expected : case_.gives_) {
    if (empty_ || run.opset < expected.since || !expected.modes.contains(run.mode)) continue;
    const auto operators = report_on(graph, onnx::make_target(run.opset)).operators;
    std::map<std::string, std::size_t> counts(operators.begin(), operators.end());
    for (const auto& [op, count] : expected.counts)
      if (counts[op] != count)
        report(&run, "the export has " + std::to_string(counts[op]) + " " + op + ", not " + std::to_string(count),
               &graph);
  }
}

bool Case::Checker::check_refusal(const Run& run, const Conversion& conversion) {
  const Refusal* expected = case_.refusal(run.mode, run.opset);
  if (!expected) return false;
  std::string got;
  for (const Diagnostic& d : conversion.diagnostics) {
    if (d.severity != Severity::error) continue;
    got += "\n  " + to_string(d);
    if (d.code == expected->code && to_string(d).find(expected->part) != std::string::npos) return true;
  }
  report(&run,
         "should be refused with " + std::string(t2o::name(expected->code)) + " \"" + expected->part + "\"" +
             (got.empty() ? ", but is converted" : ", but was with" + got),
         conversion.graph().get());
  return true;
}

void Case::Checker::run_onnx(const Run& run, const Export& e, bool with_specials) {
  const ir::Graph& graph = *e.conversion.graph();
  const bool as_users_do = run.opset == onnx::kDefaultOpset;  // with the optimizer on
  const std::string key = onnx::schema_key(as_bytes(e.model)) + (as_users_do ? " optimized" : "");
  const std::string all = key + " with specials";
  if (done_.contains(all) || !done_.insert(with_specials ? all : key).second) return;
  if (const std::string problem = checker_problem(e.conversion, e.model); !problem.empty())
    report(&run, "ONNX's checker: " + problem, &graph);
  const auto wanted = [&](const Truth& t) { return with_specials || !t.special; };
  if (!std::any_of(truths_.begin(), truths_.end(), wanted)) return;
  const auto optimization = as_users_do ? engines::OrtOptimization::all : engines::OrtOptimization::none;
  const auto session = engines::OrtSession::from_bytes(
      as_bytes(e.model), {.threads = 1, .optimization = optimization, .arena = false});
  if (session.inputs().size() != run.graph->feeds.size() || session.outputs().size() != run.graph->outputs.size())
    return report(&run, "the number of inputs or outputs is not that of the source", &graph);
  for (const Truth& truth : truths_) {
    if (!wanted(truth)) continue;
    engines::Feeds feeds;
    for (std::size_t i = 0; i < truth.feeds.size(); ++i)
      feeds.emplace_back(session.inputs()[i].name, as_onnx(truth.feeds[i].second));
    compare_results(run, e, truth, session.run(feeds));
  }
}

void Case::Checker::compare_results(const Run& run, const Export& e, const Truth& truth,
                                    const std::vector<TensorPtr>& got) {
  const Conversion& conversion = e.conversion;
  const std::string level = e.fidelity == tf2onnx::Fidelity::strict ? " (strict)" : "";
  for (std::size_t i = 0; i < got.size(); ++i) {
    const TensorPtr expected = as_onnx(truth.results[i]);
    verify::Tolerance tolerance = case_.tolerance_.value_or(default_tolerance(expected->dtype(), *conversion.graph()));
    if (case_.shape_only_) tolerance.absolute = std::numeric_limits<double>::infinity();
    std::string problem = verify::compare(*expected, *got[i], tolerance).problem;
    if (case_.shape_only_ && expected->dtype() == got[i]->dtype() && expected->dims() == got[i]->dims())
      problem.clear();
    if (problem.empty()) problem = declared_problem(*conversion.graph()->outputs()[i], *got[i]);
    if (problem.empty()) continue;
    const std::string where =
        "output " + std::to_string(i) + level + (truth.label.empty() ? "" : " with " + truth.label);
    return report(&run, where + ": " + problem, conversion.graph().get());
  }
}

void Case::check(SourceLoc at) {
  if (engines_missing()) return;
  Checker(*this, at).check_all();
}

namespace {

void check_graph_def(const engines::TfGraph& truth, const std::string& graph_def, const engines::Feeds& feeds,
                     const std::vector<int>& opsets, SourceLoc at) {
  const TensorPtr expected = engines::TfSession(truth, {.single_threaded = true}).run(feeds, {"y"})[0];
  for (const int opset : opsets) {
    Options options;
    options.opset = opset;
    options.outputs = {"y:0"};
    for (const auto& [tensor, value] : feeds) options.inputs.push_back(tensor + ":0");
    const Conversion c = convert(options, as_bytes(graph_def));
    std::string model;
    if (!c.ok() || has_errors(write_model_bytes(c, options, model))) {
      ADD_FAILURE_AT(at.file, at.line) << "opset " << opset << ": " << to_string(c.diagnostics.at(0));
      continue;
    }
    const auto onnx = engines::OrtSession::from_bytes(as_bytes(model), {.threads = 1});
    engines::Feeds named;
    for (std::size_t i = 0; i < feeds.size(); ++i) named.emplace_back(onnx.inputs()[i].name, feeds[i].second);
    const TensorPtr got = onnx.run(named)[0];
    const std::string problem =
        verify::compare(*expected, *got, default_tolerance(expected->dtype(), *c.graph())).problem;
    if (!problem.empty()) ADD_FAILURE_AT(at.file, at.line) << "opset " << opset << ": " << problem;
    if (problem.empty()) test::record_coverage(*c.source_graph, opset);
  }
}

}  // namespace

void check_against(const engines::TfGraph& truth, const engines::TfGraph& graph, const engines::Feeds& feeds,
                   const std::vector<int>& opsets, SourceLoc at) {
  if (!engines_missing()) check_graph_def(truth, graph.graph_def(), feeds, opsets, at);
}

void check_against(const engines::TfGraph& truth, const std::string& graph_text, const engines::Feeds& feeds,
                   const std::vector<int>& opsets, SourceLoc at) {
  if (!engines_missing()) check_graph_def(truth, tf::graph_def_from_text(graph_text, "test"), feeds, opsets, at);
}

}  // namespace t2o::numeric
