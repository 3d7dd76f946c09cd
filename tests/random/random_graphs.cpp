// Draws graphs, and compares what the exported model computes with what TensorFlow does.
// random_graphs [--runs N] [--seed FIRST] [--only-seed S] [--opsets 11,21] [--variants N] [--jobs N] [--keep FOLDER] [--print] [--reasons]
#include <poll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <sstream>

#include "runner.h"

namespace t2o::random_graphs {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kLongest = 30;          // seconds in one phase: then it hangs
constexpr std::uint64_t kPerWorker = 400;  // graphs, then a new process: the engines keep some memory of each
constexpr int kMissingEngines = 77;

struct Settings {
  std::uint64_t first = 1, runs = 500;
  std::size_t variants = 2;
  int jobs = 1;
  std::vector<int> opsets;
  std::string keep;
  bool print = false, reasons = false;
};

struct Progress {  // shared with the worker
  std::atomic<std::uint64_t> seed, variant;
  std::atomic<int> phase;
  std::atomic<bool> special;
  std::atomic<double> since;
};

double now() { return std::chrono::duration<double>(Clock::now().time_since_epoch()).count(); }

struct Report {
  std::uint64_t seed = 0;
  Variant variant;
  Outcome outcome;
  bool special = false;
  std::string known, shrunk;
};

// ---- the worker

struct Finding {
  Recipe recipe;
  Variant variant;
  Outcome outcome;
};

using Try = std::function<Outcome(const Recipe&, const Variant&)>;

// As long as it fails in the same way.
void shrink(Finding& f, const Try& attempt) {
  for (bool again = true; again;) {
    again = false;
    for (const Variant& v : simpler(f.variant)) {
      Outcome o = attempt(f.recipe, v);
      if (o.result != f.outcome.result) continue;
      f.variant = v;
      f.outcome = std::move(o);
      again = true;
      break;
    }
    for (Recipe& r : smaller(f.recipe)) {
      if (again) break;
      if (!refresh(r)) continue;
      Outcome o = attempt(r, f.variant);
      if (o.result != f.outcome.result) continue;
      f.recipe = std::move(r);
      f.outcome = std::move(o);
      again = true;
    }
  }
}

std::string one_line(std::string s) {
  for (char& c : s)
    if (c == '\n' || c == '\t') c = ' ';
  return s.substr(0, 600);
}

std::string ops_of(const Recipe& r) {
  std::string s;
  for (const Step& step : r.steps)
    if (step.kind == Kind::op) s += (s.empty() ? "" : " ") + step.op;
  return s;
}

class Worker {
 public:
  Worker(const Settings& s, Progress& p, int out) : settings_(s), progress_(p), out_(out) {}

  void work(std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t seed = from; seed < to; ++seed) {
      tell(seed, 0, Phase::draw);
      const Recipe recipe = draw_recipe(seed);
      if (settings_.print) std::printf("seed %llu\n%s", static_cast<unsigned long long>(seed), to_text(recipe).c_str());
      if (recipe.outputs.empty()) continue;
      progress_.special = recipe.special;
      const auto variants = draw_variants(seed, settings_.opsets, settings_.variants);
      for (std::size_t i = 0; i < variants.size(); ++i) one(seed, i, recipe, variants[i]);
    }
  }

 private:
  void tell(std::uint64_t seed, std::size_t variant, Phase phase) {
    progress_.seed = seed;
    progress_.variant = variant;
    progress_.phase = static_cast<int>(phase);
    progress_.since = now();
  }

  void one(std::uint64_t seed, std::size_t index, const Recipe& recipe, const Variant& variant) {
    const Try attempt = [&](const Recipe& r, const Variant& v) {
      return try_variant(r, v, [&](Phase p) { tell(seed, index, p); });
    };
    Finding f{recipe, variant, attempt(recipe, variant)};
    std::string known, shrunk;
    bool special = recipe.special;
    if (is_failure(f.outcome.result)) {
      known = known_difference(f.recipe, f.variant, f.outcome);
      if (known.empty() || !settings_.keep.empty()) shrink(f, attempt);
      if (known.empty()) known = known_difference(f.recipe, f.variant, f.outcome);
      special = special && has_special_values(f.recipe);
      shrunk = ops_of(f.recipe) + " | " + to_text(f.variant);
      if (!settings_.keep.empty() && known.empty())
        save(settings_.keep + "/" + std::to_string(seed) + "_" + std::to_string(index), f.recipe, f.variant, f.outcome, seed);
    }
    std::ostringstream line;
    line << seed << '\t' << index << '\t' << static_cast<int>(f.outcome.result) << '\t' << special << '\t' << known << '\t'
         << shrunk << '\t' << one_line(f.outcome.text) << '\n';
    const std::string text = line.str();
    if (write(out_, text.data(), text.size()) < 0) _exit(3);
  }

  const Settings& settings_;
  Progress& progress_;
  int out_;
};

// ---- the process that starts them

using Ended = std::function<void(std::uint64_t seed, std::size_t variant, bool special, Result)>;

class Lane {  // one worker after another, over a range of seeds
 public:
  Lane(const Settings& s, std::uint64_t from, std::uint64_t to) : settings_(s), next_(from), end_(to) {
    void* memory = mmap(nullptr, sizeof(Progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    progress_ = new (memory) Progress();
    start();
  }

  bool done() const { return pid_ == 0; }
  int file() const { return in_; }
  bool engines_missing() const { return missing_; }

  // Reads what there is; tells of a worker that has ended or hangs.
  void step(bool readable, const std::function<void(const std::string&)>& line, const Ended& ended) {
    if (readable) read_lines(line);
    if (closed_) finish(ended);
    else if (now() - progress_->since > kLongest) {
      kill(pid_, SIGKILL);
      hung_ = true;
      progress_->since = now();
    }
  }

 private:
  void start() {
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    const std::uint64_t to = std::min(end_, next_ + kPerWorker);
    progress_->since = now();
    progress_->seed = next_;
    progress_->phase = 0;
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[0]);
      run_worker(ends[1], to);
    }
    close(ends[1]);
    in_ = ends[0];
    closed_ = hung_ = false;
    rest_.clear();
    planned_ = to;
  }

  [[noreturn]] void run_worker(int out, std::uint64_t to) {
    try {
      engines::tensorflow_version();
      engines::onnxruntime_version();
    } catch (const ConversionError& e) {
      std::fprintf(stderr, "%s\n", e.what());
      _exit(kMissingEngines);
    }
    try {
      Worker(settings_, *progress_, out).work(next_, to);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "seed %llu: %s\n", static_cast<unsigned long long>(progress_->seed.load()), e.what());
      std::fflush(nullptr);
      _exit(4);
    }
    std::fflush(nullptr);
    _exit(0);
  }

  void read_lines(const std::function<void(const std::string&)>& line) {
    char buffer[4096];
    const ssize_t n = read(in_, buffer, sizeof buffer);
    if (n <= 0) {
      closed_ = true;
      return;
    }
    rest_.append(buffer, static_cast<std::size_t>(n));
    for (std::size_t end; (end = rest_.find('\n')) != std::string::npos; rest_.erase(0, end + 1)) line(rest_.substr(0, end));
  }

  void finish(const Ended& ended) {
    int status = 0;
    waitpid(pid_, &status, 0);
    close(in_);
    pid_ = 0;
    const bool well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    missing_ = WIFEXITED(status) && WEXITSTATUS(status) == kMissingEngines;
    if (missing_) return;
    next_ = planned_;
    if (!well) {
      const bool drawing = progress_->phase == static_cast<int>(Phase::draw);
      ended(progress_->seed, progress_->variant, progress_->special, drawing ? Result::undrawn : hung_ ? Result::hang : Result::crash);
      next_ = progress_->seed + 1;
    }
    if (next_ < end_) start();
  }

  const Settings& settings_;
  std::uint64_t next_, end_, planned_ = 0;
  Progress* progress_ = nullptr;
  pid_t pid_ = 0;
  int in_ = -1;
  bool closed_ = false, hung_ = false, missing_ = false;
  std::string rest_;
};

struct Counts {
  std::map<std::string, std::uint64_t> of;       // class, known difference
  std::map<std::string, std::uint64_t> reasons;  // of refusals
  std::uint64_t failures = 0;

  void add(Result r, bool special, const std::string& known) {
    std::string key(name(r));
    if (is_failure(r)) key += !known.empty() ? ", known: " + known : special ? ", special values" : "";
    ++of[key];
    if (is_failure(r) && known.empty() && !special) ++failures;
  }
};

std::string reason(const std::string& text) {  // the first, without what is of one graph alone
  std::string s;
  for (const char c : text.substr(0, text.find("; ")))
    if (!std::isdigit(static_cast<unsigned char>(c))) s += c;
  return s.substr(0, 150);
}

void count_line(const std::string& line, Counts& counts) {
  std::vector<std::string> part;
  std::istringstream in(line);
  for (std::string s; std::getline(in, s, '\t');) part.push_back(s);
  part.resize(7);
  const auto result = static_cast<Result>(std::stoi(part[2]));
  const bool special = part[3] == "1";
  counts.add(result, special, part[4]);
  if (result == Result::refused) ++counts.reasons[reason(part[6])];
  if (is_failure(result) && part[4].empty())
    std::printf("seed %s/%s: %s%s: %s: %s\n", part[0].c_str(), part[1].c_str(), std::string(name(result)).c_str(), special ? " (special values)" : "", part[5].c_str(), part[6].c_str());
  std::fflush(stdout);
}

int run(const Settings& s) {
  const double start = now();
  std::vector<Lane> lanes;
  const auto jobs = static_cast<std::uint64_t>(s.jobs);
  for (std::uint64_t j = 0; j < jobs; ++j) lanes.emplace_back(s, s.first + s.runs * j / jobs, s.first + s.runs * (j + 1) / jobs);
  Counts counts;
  const auto ended = [&](std::uint64_t seed, std::size_t variant, bool special, Result r) {
    counts.add(r, special, "");
    std::printf("seed %llu/%zu: %s%s\n", static_cast<unsigned long long>(seed), variant, std::string(name(r)).c_str(), special ? " (special values)" : "");
    std::fflush(stdout);
    if (s.keep.empty() || r == Result::undrawn || special) return;
    const auto variants = draw_variants(seed, s.opsets, s.variants);
    if (variant < variants.size()) shrink_crash(seed, variants[variant], s.keep + "/" + std::to_string(seed) + "_" + std::to_string(variant));
  };
  for (;;) {
    std::vector<pollfd> files;
    std::vector<Lane*> open;
    for (Lane& l : lanes)
      if (!l.done()) {
        files.push_back({l.file(), POLLIN, 0});
        open.push_back(&l);
      } else if (l.engines_missing()) {
        return std::getenv("T2O_REQUIRE_ENGINES") ? 1 : kMissingEngines;
      }
    if (open.empty()) break;
    poll(files.data(), files.size(), 1000);
    for (std::size_t i = 0; i < open.size(); ++i)
      open[i]->step(files[i].revents != 0, [&](const std::string& line) { count_line(line, counts); }, ended);
  }
  std::printf("%llu graphs in %.0f s\n", static_cast<unsigned long long>(s.runs), now() - start);
  for (const auto& [key, n] : counts.of) std::printf("%8llu %s\n", static_cast<unsigned long long>(n), key.c_str());
  if (s.reasons)
    for (const auto& [key, n] : counts.reasons) std::printf("%8llu refused: %s\n", static_cast<unsigned long long>(n), key.c_str());
  return counts.failures == 0 ? 0 : 1;
}

Settings read_arguments(int argc, char** argv) {
  Settings s;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i], value = i + 1 < argc ? argv[i + 1] : "";
    if (word == "--print" || word == "--reasons") {
      (word == "--print" ? s.print : s.reasons) = true;
      continue;
    }
    if (word == "--runs") s.runs = std::stoull(value);
    else if (word == "--seed") s.first = std::stoull(value);
    else if (word == "--only-seed") s.first = std::stoull(value), s.runs = 1;
    else if (word == "--variants") s.variants = std::stoull(value);
    else if (word == "--jobs") s.jobs = std::stoi(value);
    else if (word == "--keep") s.keep = value;
    else if (word == "--opsets") {
      std::istringstream in(value);
      for (std::string o; std::getline(in, o, ',');) s.opsets.push_back(std::stoi(o));
    } else {
      std::fprintf(stderr, "%s is not known\n", word.c_str());
      std::exit(2);
    }
    ++i;
  }
  return s;
}

}  // namespace
}  // namespace t2o::random_graphs

int main(int argc, char** argv) { return t2o::random_graphs::run(t2o::random_graphs::read_arguments(argc, argv)); }
