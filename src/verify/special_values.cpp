#include "verify/special_values.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <nlohmann/json.hpp>

#include "diagnostics.h"
#include "engines/child_process.h"
#include "onnx/model_edit.h"
#include "support/mapped_file.h"
#include "verify/verify.h"

namespace t2o::verify {
namespace {

using Json = nlohmann::ordered_json;
using engines::ChildProcess;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes kToLoad{10};  // and for a step that is not one run
constexpr std::chrono::seconds kToRun{60};   // at least
constexpr double kTimesOrdinary = 100;       // what loading and one run on ordinary data took
constexpr std::int64_t kMostEnds = 3;        // of the process by samples of one kind: the others are left out

Level level_of(const VerifyOptions& o) {
  const MappedFilePtr file = MappedFile::open(o.onnx);
  Level level;
  for (const auto& [key, value] : onnx::metadata(file->bytes(), o.onnx)) {
    if (key == "fidelity") level.strict = value == "strict";
    if (key == "target_runtime") level.any = value == "any";
  }
  return level;
}

void send(int socket, const Json& message) {
  const std::string text = message.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  for (std::size_t sent = 0; sent < text.size();) {
    const ssize_t n = write(socket, text.data() + sent, text.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(1);  // nobody listens any more
    sent += static_cast<std::size_t>(n);
  }
}

void work(const VerifyOptions& o, Level level, std::size_t first, int socket) {
  const auto tell = [&](const Json& message) { send(socket, message); };
  try {
    run_special_values(o, level, first, tell);
    tell({{"done", true}});
  } catch (const ConversionError& e) {
    tell({{"error", e.diagnostic().message}});
  } catch (const std::bad_alloc&) {
    tell({{"error", "the inputs need more memory than there is"}});
  }
}

ChildProcess::Result receive(ChildProcess& child, std::chrono::seconds limit, Json& message) {
  const ChildProcess::Deadline deadline = Clock::now() + limit;
  std::string text;
  for (char c = 0; c != '\n'; text += c)
    if (const auto result = child.receive(&c, 1, deadline); result != ChildProcess::Result::ok) return result;
  message = Json::parse(text);
  return ChildProcess::Result::ok;
}

// Runs the samples that are left in one process, until it ends.
void listen(const VerifyOptions& o, SpecialCollector& collector,
            const std::function<void(const std::string&)>& go_on) {
  const SpecialReport& report = collector.report();
  ChildProcess child([&](int socket) { work(o, report.level, report.results.size(), socket); });
  collector.begin();
  while (!collector.done()) {
    Json message;
    const ChildProcess::Result result = receive(child, collector.limit(), message);
    if (result != ChildProcess::Result::ok) {
      const bool late = result == ChildProcess::Result::late;
      if (late) child.kill(SIGTERM);  // it removes its temporary files
      const std::string end = child.end();
      return collector.end(late ? "did not end in time" : "ended the process (" + end + ")");
    }
    if (message.contains("what")) go_on(message["what"]);
    collector.take(message);
  }
  child.end();
}

std::string_view text(Promise p) {
  return p == Promise::yes ? "yes" : p == Promise::no ? "no" : "if ordinary";
}

std::string what_differs(const SpecialKind& k) {
  return k.differing == 1 ? "1 element differs" : std::to_string(k.differing) + " elements differ";
}

std::string verdict(const SpecialKind& k, std::string_view level) {
  if (k.samples == k.skipped) return "skipped: " + k.why_skipped;
  if (k.differing == 0) return "ok";
  const SpecialResult& w = *k.worst;
  if (k.failing > 0) return what_differs(k) + ", which " + std::string(level) + " promises not to";
  return w.promised ? what_differs(k) + ", which is known: " + w.known
                    : "not promised at " + std::string(level) + ": " + what_differs(k) +
                          (w.unpromised.empty() ? "" : ", for " + w.unpromised);
}

std::string_view level_name(Level l) { return l.strict ? "strict" : "plain"; }

}  // namespace

bool SpecialReport::ok() const {
  return problem.empty() && std::ranges::none_of(results, [](const SpecialResult& r) { return r.fails(); });
}

std::vector<SpecialKind> SpecialReport::kinds() const {
  std::vector<SpecialKind> list;
  for (const SpecialResult& r : results) {
    if (list.empty() || list.back().kind != r.kind)
      list.push_back({.kind = r.kind, .promise = promise(level, r.kind)});
    SpecialKind& k = list.back();
    ++k.samples;
    k.elements += r.elements;
    k.differing += r.differing;
    if (r.fails()) k.failing += r.differing;
    if (!r.skipped.empty()) ++k.skipped, k.why_skipped = r.skipped;
    const auto rank = [](const SpecialResult& x) { return x.fails() ? 2 : x.promised ? 1 : 0; };
    if (r.differing > 0 && (!k.worst || rank(r) > rank(*k.worst))) k.worst = &r;
  }
  return list;
}

std::string known_end(const std::string& onnx, Special kind) {
  const MappedFilePtr file = MappedFile::open(onnx);
  for (const t2o::onnx::ModelNode& n : t2o::onnx::model_nodes(file->bytes(), onnx))
    if (contains({"LSTM", "GRU", "RNN", "Einsum"}, n.op))
      if (const std::string_view known = known_difference(kind, n.op); !known.empty())
        return std::string(known);
  return "";
}

SpecialReport compare_special_values(const VerifyOptions& o,
                                     const std::function<void(const std::string&)>& go_on) {
  SpecialCollector collector(level_of(o), o.onnx);
  while (!collector.done()) listen(o, collector, go_on);
  return collector.report();
}

void SpecialCollector::begin() {
  step_ = Step::loading;
  engine_ = "loading";
  plan_.clear();
  preliminary_.reset();
}

std::chrono::seconds SpecialCollector::limit() const {
  const bool is_run = !plan_.empty() && (step_ == Step::reference || step_ == Step::candidate);
  return is_run ? limit_ : kToLoad;
}

void SpecialCollector::take(const Json& message) {
  if (message.contains("step")) {
    step_ = message["step"];
    engine_ = message["engine"];
  } else if (message.contains("plan")) {
    for (const Json& r : message["plan"]) plan_.push_back(from_message(r));
    done_ = plan_.empty();
    limit_ =
        std::max(kToRun, std::chrono::seconds(static_cast<int>(kTimesOrdinary * double(message["seconds"]))));
  } else if (message.contains("preliminary")) {
    preliminary_ = from_message(message["preliminary"]);
  } else if (message.contains("result")) {
    report_.results.push_back(from_message(message["result"]));
    preliminary_.reset();
  } else {
    if (message.contains("error")) report_.problem = message["error"];
    done_ = true;
  }
}

void SpecialCollector::end(const std::string& how) {
  std::vector<SpecialResult>& results = report_.results;
  done_ = plan_.empty() || results.size() >= plan_.size();  // then no sample is to blame
  if (plan_.empty()) report_.problem = engine_ + " " + how;
  if (done_) return;
  SpecialResult r = preliminary_ ? *preliminary_ : plan_[results.size()];
  if (!preliminary_ && step_ == Step::candidate) {
    r.problem = engine_ + " " + how;
    r.differing = 1;
    r.promised = promise(report_.level, r.kind) == Promise::yes;
    r.known = known_end(onnx_, r.kind);
  } else if (!preliminary_) {
    r.skipped = engine_ + " " + how;
  }
  results.push_back(r);
  if (++ends_[r.kind] >= kMostEnds)
    while (results.size() < plan_.size() && plan_[results.size()].kind == r.kind) {
      results.push_back(plan_[results.size()]);
      results.back().skipped = "left out: the process ended too often";
    }
  done_ = results.size() >= plan_.size();
}

std::vector<std::vector<std::string>> rows(const SpecialReport& r) {
  std::vector<std::vector<std::string>> list = {
      {"values", "promised", "samples", "elements", "differ", "result"}};
  for (const SpecialKind& k : r.kinds()) {
    const std::string skipped =
        k.skipped == 0 || k.skipped == k.samples ? "" : " (" + std::to_string(k.skipped) + " skipped)";
    list.push_back({std::string(name(k.kind)), std::string(text(k.promise)),
                    std::to_string(k.samples) + skipped, std::to_string(k.elements),
                    std::to_string(k.differing), verdict(k, level_name(r.level))});
  }
  return list;
}

std::string details(const SpecialReport& r) {
  std::string text;
  for (const SpecialKind& k : r.kinds()) {
    if (!k.worst) continue;
    const SpecialResult& w = *k.worst;
    text += "  " + std::string(name(k.kind)) + ", " + w.label + ": " +
            (w.problem.empty() ? w.element : w.problem);
    if (!w.node.empty()) text += "; the first inner tensor that differs is made by " + w.node;
    text += "\n";
  }
  return text;
}

Json to_json(const SpecialReport& r) {
  Json j = {{"ok", r.ok()}, {"level", level_name(r.level)}, {"kinds", Json::array()}};
  if (r.level.any) j["target_runtime"] = "any";
  if (!r.problem.empty()) j["problem"] = r.problem;
  for (const SpecialKind& k : r.kinds()) {
    Json& entry = j["kinds"].emplace_back(Json{{"kind", name(k.kind)},
                                               {"promised", text(k.promise)},
                                               {"ok", k.failing == 0},
                                               {"samples", k.samples},
                                               {"skipped", k.skipped},
                                               {"elements", k.elements},
                                               {"differing", k.differing},
                                               {"failing", k.failing}});
    if (k.skipped > 0) entry["why_skipped"] = k.why_skipped;
    if (!k.worst) continue;
    entry["worst"] = as_message(*k.worst);
    entry["worst"].erase("kind");
  }
  return j;
}

}  // namespace t2o::verify
