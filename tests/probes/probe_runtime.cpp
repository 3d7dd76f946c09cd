// Runs the probes of the runtime's table: does ONNX Runtime still do what each row says?
// scripts/probe_runtime calls it.
//   probe_runtime [--onnxruntime FILE] [--folder FOLDER] [--list] [ROW...]
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <set>

#include "engines/onnxruntime.h"
#include "ir/text.h"
#include "pipeline.h"
#include "rewriters/runtime/table.h"
#include "tests/probes/probe.h"
#include "verify/compare.h"
#include "verify/random.h"

namespace t2o::probes {
namespace {

namespace fs = golden::fs;
using engines::OrtSession;
using Clock = std::chrono::steady_clock;

constexpr int kNotAllNeeded = 1, kBadUse = 2 /* or a malformed probe */, kMissingEngine = 77;
constexpr double kLeastSeconds = 0.05, kMostSeconds = 2.5;  // of measuring one probe

struct Settings {
  std::string library;
  fs::path folder = fs::path(T2O_SOURCE_DIR) / "tests/probes";
  std::set<std::string> rows;  // empty: all
  bool list = false;
  bool lenient =
      false;  // ignore times that are too close to tell: tests share their machine
};

std::string_view this_cpu() {
#if defined(__x86_64__)
  return "x86_64";
#else
  return "another";
#endif
}

// Messages name the types of all arguments of a function.
std::string shortened(const std::string& text) {
  constexpr std::size_t kLongest = 200;
  const std::string line = text.substr(0, text.find('\n'));
  return line.size() <= kLongest ? line : line.substr(0, kLongest) + " ...";
}

// A graph, converted with the row or without it.
struct Model {
  std::string bytes, failure;
  bool uses_row = false;
};

// Of a graph of ONNX's operators nothing but the row's own rewriter makes another one.
Conversion rewritten(const Probe& p, GraphPtr g, bool with_row) {
  Conversion c;
  const runtime::Row& row = *runtime::find_row(p.row);
  c.target = onnx::make_target(p.graph.opset(), onnx::Target().runtime, row.level == runtime::Level::strict);
  if (!row.make) throw std::runtime_error(p.row + ": a row without a rewriter takes a TensorFlow graph");
  const int changes = with_row && runtime::applies(row, c.target) ? row.make(c.target).run(*g) : 0;
  c.runtime_uses = {{{p.row, changes}}};
  if (changes == 0) c.runtime_uses[0].clear();
  g->erase_dead();
  g->name_rest();
  g->name_altered();
  c.model.graphs.push_back({.graph = std::move(g)});
  return c;
}

Model converted(const Probe& p, bool with_row) {
  Options o;
  o.opset = p.graph.opset();
  if (runtime::find_row(p.row)->level == runtime::Level::strict) o.fidelity = tf2onnx::Fidelity::strict;
  if (!with_row) o.without = {p.row};
  GraphPtr g = ir::parse_graph(golden::source_of(p.graph), p.row);
  const bool is_onnx = g->dialect() == "onnx";
  const Conversion c = is_onnx ? rewritten(p, std::move(g), with_row) : convert(o, std::move(g));
  Model m;
  for (const Diagnostic& d : c.diagnostics)
    if (d.severity == Severity::error && m.failure.empty()) m.failure = shortened(to_string(d));
  if (!c.ok()) return m;
  m.uses_row = std::ranges::any_of(c.runtime_uses.at(0), [&](const auto& use) { return use.first == p.row; });
  if (const Diagnostics d = write_model_bytes(c, o, m.bytes); has_errors(d)) m.failure = to_string(d.front());
  return m;
}

engines::Feeds feeds_of(const Probe& p, const OrtSession& session) {
  engines::Feeds feeds;
  verify::Random random(1);
  for (const engines::TensorInfo& in : session.inputs()) {
    const auto given = p.inputs.find(in.name);
    feeds.emplace_back(in.name, given == p.inputs.end()
                                    ? verify::random_tensor(in.dtype, in.shape.dims(), random)
                                    : verify::tensor_of(in.dtype, in.shape.dims(), given->second));
  }
  return feeds;
}

engines::OrtOptions options_of(const Probe& p, const Settings& s) {
  using Optimization = engines::OrtOptimization;
  return {.library = s.library,
          .threads = 1,
          .optimization = p.optimizes ? Optimization::all : Optimization::none,
          .entries = p.session};
}

// One of the two models in the runtime.
class Running {
 public:
  Running(const Probe& p, const Settings& s, const Model& m) {
    seen.failure = m.failure;
    attempt([&] {
      session_ = OrtSession::from_bytes(std::as_bytes(std::span(m.bytes)), options_of(p, s));
      feeds_ = feeds_of(p, *session_);
      outputs = session_->run(feeds_);
    });
  }

  // Where times are compared, a sum may be rounded another way, and a code be the next one.
  void compare(const std::vector<TensorPtr>& right, Claim claim) {
    for (std::size_t i = 0; seen.failure.empty() && i < right.size(); ++i) {
      const bool is_real = is_float(right[i]->dtype());
      const double absolute = is_real ? 1e-4 : claim == Claim::slower ? 1 : 0;
      const std::string problem =
          verify::compare(*right[i], *outputs.at(i), {.relative = is_real ? 1e-4 : 0, .absolute = absolute})
              .problem;
      if (!problem.empty() && seen.difference.empty())
        seen.difference = session_->outputs()[i].name + ": " + problem;
    }
  }

  void measure() {
    const auto begin = Clock::now();
    session_->run(feeds_);
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    seen.seconds = seen.seconds == 0 ? seconds : std::min(seen.seconds, seconds);
  }

  Observation seen;
  std::vector<TensorPtr> outputs;

 private:
  template <class Work>
  void attempt(Work&& work) {
    if (!seen.failure.empty()) return;
    try {
      work();
    } catch (const ConversionError& e) {
      if (e.diagnostic().code == Code::engine_missing) throw;
      seen.failure = shortened(e.diagnostic().message);
    }
  }

  std::optional<OrtSession> session_;
  engines::Feeds feeds_;
};

// Those that the probe states; the others from the model without the row, without the optimizer, or else from
// the model with it.
std::vector<TensorPtr> right_results(const Probe& p, const Settings& s, const Model& with,
                                     const Model& without) {
  for (const Model* m : {&without, &with}) {
    if (!m->failure.empty()) continue;
    try {
      engines::OrtOptions o{
          .library = s.library, .threads = 1, .optimization = engines::OrtOptimization::none};
      const OrtSession session = OrtSession::from_bytes(std::as_bytes(std::span(m->bytes)), o);
      std::vector<TensorPtr> results = session.run(feeds_of(p, session));
      for (std::size_t i = 0; i < results.size(); ++i)
        if (const auto given = p.right.find(session.outputs()[i].name); given != p.right.end())
          results[i] = verify::tensor_of(results[i]->dtype(), results[i]->dims(), given->second);
      return results;
    } catch (const ConversionError& e) {
      if (e.diagnostic().code == Code::engine_missing) throw;
    }
  }
  return {};
}

// In turn, so that both have the same neighbours; until the claim holds, or for some seconds.
void measure(const Probe& p, Running& with, Running& without) {
  const auto begin = Clock::now();
  const auto passed = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  do {
    with.measure();
    without.measure();
  } while (passed() < kLeastSeconds ||
           (passed() < kMostSeconds && without.seen.seconds < p.times * with.seen.seconds));
}

// In a process of its own.
bool survives(const Probe& p, const Settings& s, const Model& m) {
  const pid_t child = fork();
  if (child == 0) {
    const Running running(p, s, m);
    _exit(0);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status);
}

Finding probe(const Probe& p, const Settings& s) {
  const bool on_some = p.cpu == kSomeCpus;
  if (!p.cpu.empty() && !on_some && p.cpu != this_cpu())
    return {Verdict::needed, "not probed: it is about " + p.cpu + " alone"};
  const Model a = converted(p, true), b = converted(p, false);
  if (!a.uses_row || b.uses_row)
    return {Verdict::cannot_tell, a.uses_row ? "the row acts though it is left out"
                                             : "the row does nothing for this graph " + a.failure};
  if (p.claim == Claim::ends && !survives(p, s, b)) {
    if (!survives(p, s, a)) return {Verdict::cannot_tell, "the process ends with the row too"};
    return {Verdict::needed, "without the row the process ends"};
  }
  Running with(p, s, a), without(p, s, b);
  const std::vector<TensorPtr> right = right_results(p, s, a, b);
  if (right.empty()) return {Verdict::cannot_tell, "neither model runs: " + with.seen.failure};
  with.compare(right, p.claim);
  without.compare(right, p.claim);
  const bool both = with.seen.failure.empty() && without.seen.failure.empty();
  const bool is_timed = p.claim == Claim::slower && both;
  if (is_timed) measure(p, with, without);
  const Finding found = judge(p, with.seen, without.seen);
  if (on_some && found.verdict == Verdict::no_longer_needed)
    return {Verdict::needed, "not seen on this CPU: " + found.why};
  if (is_timed && s.lenient && found.verdict == Verdict::cannot_tell)
    return {Verdict::needed, "not judged: " + found.why};
  return found;
}

// The probes of each row of the table. A row without a probe is an error, and so is a probe without a row.
bool run(const Settings& s) {
  std::map<Verdict, int> counts;
  const std::string full = engines::onnxruntime_version(s.library);  // "1.31.1"
  const int version = std::stoi(full.substr(full.find('.') + 1));
  for (const auto& entry : fs::directory_iterator(s.folder))
    if (const fs::path& path = entry.path();
        path.extension() == ".t2o" && !runtime::find_row(path.stem().string())) {
      std::cout << path.filename().string() << ": the table has no such row\n";
      ++counts[Verdict::cannot_tell];
    }
  for (const runtime::Row& row : runtime::table()) {
    if (row.kind == runtime::Kind::form) continue;  // about other runtimes
    const std::string name(row.name);
    if (!s.rows.empty() && !s.rows.contains(name)) continue;
    if (version < row.versions.first) {
      std::cout << name << ": not probed; the table says it of 1." << row.versions.first << " and above\n";
      continue;
    }
    std::vector<Finding> findings;
    const fs::path path = s.folder / (name + ".t2o");
    if (fs::exists(path))
      for (const Probe& p : read_probes(path)) {
        findings.push_back(probe(p, s));
        std::cout << name << ", " << p.name << ": " << probes::name(findings.back().verdict) << "; "
                  << findings.back().why << "\n"
                  << std::flush;
      }
    else
      std::cout << name << ": cannot tell; it has no probe: write " << path.string() << "\n";
    ++counts[worst(findings)];
  }
  std::cout << "ONNX Runtime " << full << ": " << counts[Verdict::needed] << " rows still needed, "
            << counts[Verdict::no_longer_needed] << " no longer needed, " << counts[Verdict::cannot_tell]
            << " cannot tell\n";
  return counts[Verdict::no_longer_needed] == 0 && counts[Verdict::cannot_tell] == 0;
}

int usage() {
  std::cerr << "probe_runtime [--onnxruntime FILE] [--folder FOLDER] [--list] [--lenient] [ROW...]\n";
  return kBadUse;
}

int main_of(const std::vector<std::string>& words) {
  Settings s;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool takes_value = word == "--onnxruntime" || word == "--folder";
    if (takes_value && i + 1 == words.size()) return usage();
    if (word == "--onnxruntime")
      s.library = words[++i];
    else if (word == "--folder")
      s.folder = words[++i];
    else if (word == "--list")
      s.list = true;
    else if (word == "--lenient")
      s.lenient = true;
    else if (word.starts_with("-"))
      return usage();
    else if (!runtime::find_row(word)) {
      std::cerr << "there is no row '" << word << "': tf2onnx-cpp ops --runtime lists them\n";
      return kBadUse;
    } else
      s.rows.insert(word);
  }
  if (s.list) {
    for (const runtime::Row& row : runtime::table())
      if (row.kind != runtime::Kind::form) std::cout << row.name << "\n";
    return EXIT_SUCCESS;
  }
  return run(s) ? EXIT_SUCCESS : kNotAllNeeded;
}

}  // namespace
}  // namespace t2o::probes

int main(int argc, char** argv) {
  using namespace t2o;
  try {
    return probes::main_of({argv + 1, argv + argc});
  } catch (const ConversionError& e) {
    std::cerr << to_string(e.diagnostic()) << "\n";
    if (e.diagnostic().code != Code::engine_missing) return probes::kBadUse;
    return std::getenv("T2O_REQUIRE_ENGINES") ? probes::kBadUse : probes::kMissingEngine;
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return probes::kBadUse;
  }
}
