#include "tests/probes/probe.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

namespace t2o::probes {
namespace {

using golden::Lines;

[[noreturn]] void malformed(const golden::fs::path& path, std::size_t line, const std::string& why) {
  throw std::runtime_error(path.string() + ":" + std::to_string(line) + ": " + why);
}

// "x = 1, -2, nan"
std::pair<std::string, std::vector<double>> read_numbers(const std::string& text) {
  const auto equals = text.find(" = ");
  if (equals == std::string::npos) throw std::invalid_argument("NAME = NUMBERS is expected");
  std::vector<double> numbers;
  std::istringstream in(text.substr(equals + 3));
  for (std::string word; std::getline(in, word, ',');) {
    std::size_t used = 0;
    numbers.push_back(std::stod(word, &used));
    if (word.find_first_not_of(' ', used) != std::string::npos)
      throw std::invalid_argument("'" + word + "' is no number");
  }
  return {text.substr(0, equals), std::move(numbers)};
}

void read_claim(Probe& p, const std::string& text) {
  std::istringstream words(text);
  std::string claim;
  words >> claim;
  if (claim == "slower" && words >> p.times && p.times > 1 && words.peek() == EOF) {
    p.claim = Claim::slower;
  } else if (text == "wrong" || text == "fails" || text == "ends") {
    p.claim = text == "wrong" ? Claim::wrong : text == "fails" ? Claim::fails : Claim::ends;
  } else {
    throw std::invalid_argument("'wrong', 'fails', 'ends' or 'slower TIMES' is expected, with TIMES above 1");
  }
}

void read_key(Probe& p, const std::string& line) {
  const auto colon = line.find(": ");
  const std::string key = line.substr(0, colon),
                    value = colon == std::string::npos ? "" : line.substr(colon + 2);
  if (key == "without") {
    read_claim(p, value);
  } else if (key == "opset") {
    p.graph.opsets = {std::stoi(value)};
  } else if (key == "cpu") {
    p.cpu = value;
  } else if (line == "optimizer: off") {
    p.optimizes = false;
  } else if (key == "input") {
    p.inputs.insert(read_numbers(value));
  } else if (key == "right") {
    p.right.insert(read_numbers(value));
  } else if (key == "session" && value.find('=') != std::string::npos) {
    p.session.emplace_back(value.substr(0, value.find('=')), value.substr(value.find('=') + 1));
  } else {
    throw std::invalid_argument(
        "'without', 'opset', 'cpu', 'input', 'right', 'optimizer: off', 'session' or a graph is expected");
  }
}

std::string times_text(double times) {
  char text[40];
  std::snprintf(text, sizeof text, "%.2f times", times);
  return text;
}

Finding judge_time(const Probe& p, const Observation& with, const Observation& without) {
  const double times = without.seconds / with.seconds;
  const std::string why = "without the row it takes " + times_text(times) + " as long";
  if (times >= p.times) return {Verdict::needed, why};
  if (times <= 1 / p.times) return {Verdict::no_longer_needed, why};
  return {Verdict::cannot_tell, why + ", and " + times_text(p.times) + " at least by the table"};
}

}  // namespace

std::vector<Probe> read_probes(const golden::fs::path& path) {
  std::ifstream in(path);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) malformed(path, 1, "cannot be read");
  const Lines lines = golden::lines_of(text.str());
  std::vector<Probe> probes;
  for (std::size_t i = 0; i < lines.size();) {
    if (lines[i].empty() || lines[i].starts_with("//")) {
      ++i;
      continue;
    }
    if (!lines[i].starts_with("== ")) malformed(path, i + 1, "a probe begins with '== ' and its name");
    Probe p{.row = path.stem().string(), .name = lines[i].substr(3)};
    const std::size_t first = i++;
    bool has_claim = false;
    for (; i < lines.size() && !lines[i].starts_with("graph") && !lines[i].starts_with("== "); ++i) {
      if (lines[i].empty() || lines[i].starts_with("//")) continue;
      has_claim = has_claim || lines[i].starts_with("without: ");
      try {
        read_key(p, lines[i]);
      } catch (const std::logic_error& e) {
        malformed(path, i + 1, e.what());
      }
    }
    p.graph.input_line = i + 1;
    for (; i < lines.size() && !lines[i].starts_with("== "); ++i) p.graph.input += lines[i] + "\n";
    if (!has_claim || p.graph.input.empty())
      malformed(path, first + 1, "a probe has a line 'without: CLAIM' and a graph");
    probes.push_back(std::move(p));
  }
  if (probes.empty()) malformed(path, 1, "has no probe");
  return probes;
}

std::string_view name(Verdict v) {
  constexpr std::string_view kNames[] = {"still needed", "no longer needed", "cannot tell"};
  return kNames[static_cast<std::size_t>(v)];
}

Finding judge(const Probe& p, const Observation& with, const Observation& without) {
  if (!with.failure.empty()) return {Verdict::cannot_tell, "it fails with the row too: " + with.failure};
  if (!with.difference.empty())
    return {Verdict::cannot_tell, "it is wrong with the row too: " + with.difference};
  const bool is_right = without.failure.empty() && without.difference.empty();
  if (p.claim == Claim::slower && is_right) return judge_time(p, with, without);
  if (is_right) return {Verdict::no_longer_needed, "without the row it is right"};
  const bool fails = !without.failure.empty();
  const std::string why = fails ? "without the row it fails: " + without.failure
                                : "without the row it is wrong: " + without.difference;
  return {
      (p.claim == Claim::fails) == fails && p.claim != Claim::slower ? Verdict::needed : Verdict::cannot_tell,
      why};
}

Verdict worst(const std::vector<Finding>& findings) {
  Verdict all = findings.empty() ? Verdict::cannot_tell : Verdict::needed;
  for (const Finding& f : findings) all = std::max(all, f.verdict);
  return all;
}

}  // namespace t2o::probes
