#include "verify/special_values.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
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

// Listens to the processes that run the samples, one after the other.
class Listener {
 public:
  Listener(const VerifyOptions& o, const std::function<void(const std::string&)>& go_on)
      : o_(o), go_on_(go_on) {
    report_.level = level_of(o);
  }

  SpecialReport run() {
    while (!done_) listen();
    return std::move(report_);
  }

 private:
  void listen() {
    ChildProcess child([this](int socket) { work(o_, report_.level, report_.results.size(), socket); });
    engine_ = "loading";
    preliminary_.reset();
    while (!done_) {
      Json message;
      const ChildProcess::Result result = receive(child, message);
      if (result != ChildProcess::Result::ok) {
        const bool late = result == ChildProcess::Result::late;
        if (late) child.kill(SIGTERM);  // it removes its temporary files
        const std::string end = child.end();
        tell_end(late ? "did not end in time" : "ended the process (" + end + ")");
        return;
      }
      take(message);
    }
    child.end();
  }

  ChildProcess::Result receive(ChildProcess& child, Json& message) const {
    const bool is_run = engine_ != "loading" && engine_ != "bisecting" && engine_ != "inner";
    const ChildProcess::Deadline deadline = Clock::now() + (is_run ? limit_ : kToLoad);
    std::string text;
    for (char c = 0; c != '\n';) {
      if (const auto result = child.receive(&c, 1, deadline); result != ChildProcess::Result::ok)
        return result;
      text += c;
    }
    message = Json::parse(text);
    return ChildProcess::Result::ok;
  }

  void take(const Json& message) {
    if (message.contains("step")) {
      engine_ = message["step"];
      go_on_(message["what"]);
    } else if (message.contains("plan")) {
      plan_ = message["plan"];
      limit_ = std::max(kToRun,
                        std::chrono::seconds(static_cast<int>(kTimesOrdinary * double(message["seconds"]))));
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

  // A sample that ended the process, or did not end.
  void tell_end(const std::string& how) {
    std::vector<SpecialResult>& results = report_.results;
    if (plan_.empty()) {
      report_.problem = engine_ + " " + how;
      done_ = true;
      return;
    }
    SpecialResult r = preliminary_ ? *preliminary_ : from_message(plan_.at(results.size()));
    if (!preliminary_ && engine_ == "ONNX Runtime") {
      r.problem = engine_ + " " + how;
      r.differing = 1;
      r.promised = promise(report_.level, r.kind) == Promise::yes;
      r.known = known_end(o_.onnx, r.kind);
    } else if (!preliminary_) {
      r.skipped = engine_ + " " + how;
    }
    const Special kind = r.kind;
    results.push_back(std::move(r));
    if (++ends_[kind] < kMostEnds) return check_done();
    while (results.size() < plan_.size() && plan_.at(results.size()).at("kind") == kind) {
      results.push_back(from_message(plan_.at(results.size())));
      results.back().skipped = "left out: the process ended too often";
    }
    check_done();
  }

  void check_done() { done_ = report_.results.size() >= plan_.size(); }

  const VerifyOptions& o_;
  const std::function<void(const std::string&)>& go_on_;
  SpecialReport report_;
  Json plan_ = Json::array();
  std::chrono::seconds limit_ = kToLoad;
  std::string engine_;  // that is at work
  std::optional<SpecialResult> preliminary_;
  std::map<Special, std::int64_t> ends_;
  bool done_ = false;
};

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
  return std::ranges::none_of(results, [](const SpecialResult& r) { return r.fails(); });
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
  return Listener(o, go_on).run();
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
