// Draws small graphs, runs them in ONNX Runtime, and looks whether a value contradicts a fact (src/onnx/facts.h).
//   facts_test [--graphs N] [--seed FIRST] [--print]
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <new>

#include "ir/text.h"
#include "onnx/facts.h"
#include "onnx/number_rules.h"
#include "onnx/writer.h"
#include "tests/facts/drawer.h"

namespace t2o::facts_test {
namespace {

using engines::OrtOptimization;
using onnx::Numbers;

constexpr int kFailed = 1, kBadUse = 2, kMissingEngine = 77;
constexpr std::uint64_t kPerProcess = 500;  // graphs: ONNX Runtime's optimizer ends the process for some
constexpr double kLeastRun = 0.9;    // of the graphs: ONNX Runtime runs them
constexpr double kLeastKnown = 0.35;  // of the numbers: more is known than their type says

struct Settings {
  std::uint64_t first = 1, graphs = 2000;
  bool print = false;
};

struct Counts {  // shared with the process that runs the graphs
  std::uint64_t next = 0;  // seed
  std::uint64_t graphs = 0, refused = 0, crashes = 0, values = 0, numbers = 0, known = 0, finite = 0, whole = 0, contradictions = 0;
  std::array<bool, 256> drawn = {};  // operators that have rules
};

// What is known of a value before the graph is run.
struct Known {
  const Value* value;
  Numbers numbers, with_weights;
  bool sizes = false, may_be_empty = true, may_be_empty_strictly = true;
  std::vector<bool> has_size = {};
};

Known known_of(const Value* v) {
  Known k{v, onnx::numbers_of(v), onnx::numbers_with_weights(v)};
  k.sizes = onnx::is_made_of_sizes(v);
  k.may_be_empty = onnx::may_be_empty(v, false);
  k.may_be_empty_strictly = onnx::may_be_empty(v, true);
  for (int i = 0; v->shape().ranked() && i < v->shape().rank(); ++i) k.has_size.push_back(onnx::has_size(v, i));
  return k;
}

// All bits of an integer count.
long double element(const Tensor& t, std::int64_t i) {
  if (t.dtype() == DType::u64) return static_cast<long double>(t.at<std::uint64_t>(i));
  return is_int(t.dtype()) || t.dtype() == DType::boolean ? static_cast<long double>(t.int_at(i)) : static_cast<long double>(t.float_at(i));
}

std::string text_of(const Numbers& n) {
  return "[" + std::to_string(n.low) + ", " + std::to_string(n.high) + "]" + (n.nan ? " or NaN" : "") + (n.whole ? ", whole" : "");
}

// Empty: no contradiction.
std::string contradiction(const Numbers& n, const Tensor& t) {
  for (std::int64_t i = 0; i < t.elements(); ++i) {
    const long double x = element(t, i);
    const bool fits = std::isnan(x) ? n.nan : static_cast<long double>(n.low) <= x && x <= static_cast<long double>(n.high);
    if (!fits || (n.whole && std::isfinite(x) && x != std::trunc(x))) return std::to_string(x) + " is not in " + text_of(n);
  }
  return "";
}

std::string contradiction(const Known& k, const Tensor& t, const Drawn& d) {
  for (const Numbers& n : {k.numbers, k.with_weights})
    if (std::string why = contradiction(n, t); !why.empty()) return why;
  for (std::size_t i = 0; i < k.has_size.size(); ++i)
    if (k.has_size[i] && t.dims()[i] == 0) return "axis " + std::to_string(i) + " is 0";
  const bool empty = t.elements() == 0;
  if (empty && !k.may_be_empty_strictly) return "it is empty";
  if (empty && !k.may_be_empty && !d.has_empty_input && !d.may_shrink) return "it is empty, but no input is";
  if (k.sizes && !d.has_big_integers)
    for (std::int64_t i = 0; i < t.elements(); ++i)
      if (std::abs(element(t, i)) >= 0x1p31L) return std::to_string(element(t, i)) + " is not a size";
  return "";
}

void count(const Known& k, Counts& c) {
  ++c.values;
  const DType t = k.value->dtype();
  if (!is_float(t) && !is_int(t)) return;
  ++c.numbers;
  if (k.with_weights != onnx::range_of(t)) ++c.known;
  if (is_float(t) && k.with_weights.finite()) ++c.finite;
  if (is_float(t) && k.with_weights.whole) ++c.whole;
}

void run(std::uint64_t seed, const Settings& s, Counts& c) {
  const Drawn d = Drawer(seed).draw();
  if (d.graph->outputs().empty()) return;
  std::vector<Known> known;
  for (const Value* v : d.graph->outputs()) known.push_back(known_of(v));
  static const std::vector<std::string_view> kOps = onnx::ops_with_number_rules();
  for (const ir::Node& n : d.graph->nodes())
    if (const auto at = std::ranges::find(kOps, n.op()); at != kOps.end()) c.drawn.at(static_cast<std::size_t>(at - kOps.begin())) = true;
  if (s.print) std::cout << "seed " << seed << "\n" << ir::to_text(*d.graph);
  ++c.graphs;
  std::vector<TensorPtr> results;
  try {
    std::string bytes;
    onnx::WriteOptions options{.target = d.target};
    onnx::write_bytes({.graphs = {{.graph = d.graph}}}, options, bytes);
    const auto session = engines::OrtSession::from_bytes(
        std::as_bytes(std::span(bytes)),
        {.threads = 1, .optimization = seed % 2 == 0 ? OrtOptimization::none : OrtOptimization::all});
    engines::Feeds feeds;
    for (const auto& feed : d.feeds)
      if (std::ranges::any_of(session.inputs(), [&](const auto& in) { return in.name == feed.first; })) feeds.push_back(feed);
    results = session.run(feeds);
  } catch (const ConversionError& e) {
    if (e.diagnostic().code == Code::engine_missing) throw;
    ++c.refused;
    if (s.print) std::cout << e.diagnostic().message << "\n";
    return;
  }
  for (std::size_t i = 0; i < known.size(); ++i) {
    count(known[i], c);
    const std::string why = contradiction(known[i], *results.at(i), d);
    if (why.empty()) continue;
    if (++c.contradictions > 20) continue;
    const ir::Node& n = *known[i].value->producer();
    std::cout << "seed " << seed << ": %" << known[i].value->name() << " = " << n.op() << " of " << name(known[i].value->dtype()) << ": " << why << "\n";
  }
}

std::string percent(std::uint64_t part, std::uint64_t all) {
  return std::to_string(all == 0 ? 0 : 100 * part / all) + " %";
}

bool report(const Counts& c, const Settings& s) {
  std::cout << c.graphs << " graphs, " << c.refused << " refused by ONNX Runtime, " << c.crashes << " at which it crashes; " << c.values
            << " values, " << c.numbers << " of numbers: more is known of " << percent(c.known, c.numbers) << ", finite floats " << c.finite
            << ", whole floats " << c.whole << "; " << c.contradictions << " contradictions\n";
  bool ok = c.contradictions == 0;
  const auto demand = [&](bool holds, const std::string& what) {
    if (!holds) std::cout << what << "\n";
    ok = ok && holds;
  };
  if (s.graphs < 2000) return ok;
  demand(static_cast<double>(c.refused + c.crashes) <= (1 - kLeastRun) * static_cast<double>(c.graphs), "too many graphs are refused");
  demand(static_cast<double>(c.known) >= kLeastKnown * static_cast<double>(c.numbers), "too little is known");
  const std::vector<std::string_view> ops = onnx::ops_with_number_rules();
  for (std::size_t i = 0; i < ops.size(); ++i)
    demand(c.drawn.at(i) || ops[i] == "Swish" /* ONNX Runtime has no kernel */, std::string(ops[i]) + " has a rule, but is not drawn");
  return ok;
}

// Runs some graphs in a process of their own, and gives its exit code.
int run_some(Counts& c, std::uint64_t end, const Settings& s) {
  std::cout << std::flush;
  const std::uint64_t begin = c.next;
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("no process can be started");
  if (child == 0) {
    int code = EXIT_SUCCESS;
    try {
      while (c.next < end) run(c.next++, s, c);
    } catch (const ConversionError& e) {
      std::cerr << to_string(e.diagnostic()) << "\n";
      code = e.diagnostic().code == Code::engine_missing && !std::getenv("T2O_REQUIRE_ENGINES") ? kMissingEngine : kBadUse;
    } catch (const std::exception& e) {
      std::cerr << "seed " << c.next - 1 << ": " << e.what() << "\n";
      code = kBadUse;
    }
    std::cout << std::flush;
    _exit(code);
  }
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::cout << "seed " << c.next - 1 << ": ONNX Runtime crashes\n";
  ++c.crashes;
  c.next = std::max(c.next, begin + 1);
  return EXIT_SUCCESS;
}

int main_of(const std::vector<std::string>& words) {
  Settings s;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool has_next = i + 1 < words.size();
    if (words[i] == "--graphs" && has_next)
      s.graphs = std::stoull(words[++i]);
    else if (words[i] == "--seed" && has_next)
      s.first = std::stoull(words[++i]);
    else if (words[i] == "--print")
      s.print = true;
    else {
      std::cerr << "facts_test [--graphs N] [--seed FIRST] [--print]\n";
      return kBadUse;
    }
  }
  void* shared = mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw std::runtime_error("no memory can be shared");
  Counts& c = *new (shared) Counts;
  c.next = s.first;
  for (const std::uint64_t end = s.first + s.graphs; c.next < end;)
    if (const int code = run_some(c, std::min(c.next + kPerProcess, end), s); code != EXIT_SUCCESS) return code;
  return report(c, s) ? EXIT_SUCCESS : kFailed;
}

}  // namespace
}  // namespace t2o::facts_test

int main(int argc, char** argv) {
  using namespace t2o;
  try {
    return facts_test::main_of({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    std::cerr << e.what() << "\n";
    return facts_test::kBadUse;
  }
}
