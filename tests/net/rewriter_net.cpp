// Proves the rewriters together, on the cases of tests/golden/pipeline and the histograms of the sample
// models.
//   rewriter_net removal           each rewriter is missed: without it, one of them changes
//   rewriter_net order [SEEDS]     no order of the rewriters inside of the phases changes one of them
//   rewriter_net relations [DIR]   lists steps that must run after another one and do not say so; it tries
//   the
//                                  models in DIR too
// `--list` after `removal` prints every case that misses a rewriter, not only the first.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "rewriters/all.h"
#include "tests/golden/whole_way.h"

namespace t2o::golden {
namespace {

// One thing that the rewriters make together, and what it is with all of them in their order.
struct Probe {
  std::string name, expected;
  std::function<std::string(const Rewriters&)> make;
};

std::string made(const Probe& p, const Rewriters& rewriters) {
  try {
    return p.make(rewriters);
  } catch (const std::exception& e) {
    return e.what();
  }
}

// Of a graph in text only the operators count where orders are compared: names may depend on who made a node.
std::string operators_of(const std::string& text) {
  std::string operators;
  for (const std::string& line : lines_of(text)) {
    const std::size_t equals = line.find(" = "), paren = line.find('(', equals);
    if (line.starts_with("opset ")) operators += line + "\n";
    if (equals != std::string::npos && paren != std::string::npos && line.find("const ") != 2)
      operators += line.substr(equals + 3, paren - equals - 3) + "\n";
  }
  return operators;
}

std::vector<Probe> probes(bool operators_alone) {
  std::vector<Probe> all;
  for (File& f : files_below(fs::path(T2O_SOURCE_DIR) / "tests/golden")) {
    if (!f.is_pipeline()) continue;
    read_file(f);
    const auto file = std::make_shared<File>(f);
    for (const Case& c : file->cases)
      all.push_back({f.stem + ": " + c.name, joined(c.expected),
                     [file, &c](const Rewriters& r) { return joined(lines_of(whole_way(*file, c, r))); }});
  }
  const Histograms expected = read_histograms();
  for (const Model& m : sample_models())
    for (const int opset : histogram_opsets()) {
      const std::string key = histogram_key(m, opset);
      const auto it =
          std::find_if(expected.begin(), expected.end(), [&](const auto& h) { return h.first == key; });
      all.push_back({key, it == expected.end() ? "" : it->second,
                     [m, opset](const Rewriters& r) { return histogram(m, opset, r); }});
    }
  for (Probe& p : all)
    if (operators_alone && p.name.starts_with("pipeline/")) {
      p.expected = operators_of(p.expected);
      p.make = [make = p.make](const Rewriters& r) { return operators_of(make(r)); };
    }
  return all;
}

// A probe whose expected text is stale would miss every rewriter.
int stale(const std::vector<Probe>& all) {
  int count = 0;
  for (const Probe& p : all)
    if (made(p, {}) != p.expected) {
      ++count;
      std::cout << p.name << ": the golden tests fail already\n";
    }
  return count;
}

int check_removal(bool list) {
  const std::vector<Probe> all = probes(false);
  if (stale(all) != 0) return EXIT_FAILURE;
  int unmissed = 0;
  const std::vector<Rewriter> rewriters = rewriters_of(all_phases());
  for (const Rewriter& r : rewriters) {
    const std::string& name = r.name;
    std::size_t missing = 0;
    for (const Probe& p : all) {
      if (made(p, {{name}, {}}) == p.expected) continue;
      if (missing++ == 0 || list) std::cout << name << ": missed by " << p.name << "\n" << std::flush;
      if (!list) break;
    }
    if (missing != 0) continue;
    ++unmissed;
    std::cout << name << ": NOBODY MISSES IT: add a case to tests/golden/pipeline\n" << std::flush;
  }
  std::cout << rewriters.size() - static_cast<std::size_t>(unmissed) << " passed, " << unmissed
            << " failed\n";
  return unmissed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

using Names = std::vector<std::string>;

Names names_in(const Phase& phase) {
  Names names;
  for (const Step& s : phase.steps) names.push_back(phase.name + "/" + s.rewriter.name);
  return names;
}

// "phase/rewriter" by those of its phase that it runs after.
using Relations = std::map<std::string, std::set<std::string>>;

Relations declared() {
  Relations r;
  for (const Phase& phase : all_phases())
    for (const Step& s : phase.steps)
      for (const After& a : s.after)
        r[phase.name + "/" + s.rewriter.name].insert(phase.name + "/" + a.rewriter);
  return r;
}

// A random order of the names that the relations allow.
Names shuffled(Names waiting, Relations& relations, std::mt19937_64& random) {
  Names ordered;
  while (!waiting.empty()) {
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < waiting.size(); ++i)
      if (std::none_of(waiting.begin(), waiting.end(),
                       [&](const std::string& w) { return relations[waiting[i]].contains(w); }))
        ready.push_back(i);
    const std::size_t chosen = ready[random() % ready.size()];
    ordered.push_back(waiting[chosen]);
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(chosen));
  }
  return ordered;
}

int check_order(int seeds) {
  const std::vector<Probe> all = probes(true);
  if (stale(all) != 0) return EXIT_FAILURE;
  Relations relations = declared();
  int changed = 0;
  for (int seed = 1; seed <= seeds; ++seed) {
    std::mt19937_64 random(static_cast<std::uint64_t>(seed));
    Names order;
    for (const Phase& phase : all_phases())
      for (std::string& name : shuffled(names_in(phase), relations, random)) order.push_back(std::move(name));
    for (const Probe& p : all) {
      const std::string got = made(p, {{}, order});
      if (got == p.expected) continue;
      ++changed;
      std::cout << "order " << seed << " changes " << p.name << "\n  as listed: " << p.expected
                << "\n  so:        " << got << "\n";
    }
  }
  std::cout << all.size() * static_cast<std::size_t>(seeds) - static_cast<std::size_t>(changed) << " passed, "
            << changed << " failed\n";
  return changed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

// The first probe that an order changes; null: none.
const Probe* changed_by(const std::vector<Probe>& all, const Names& order) {
  for (const Probe& p : all)
    if (made(p, {{}, order}) != p.expected) return &p;
  return nullptr;
}

// From the listed order to another one by exchanging neighbours: all orders on the way.
std::vector<Names> way_between(Names from, const Names& to) {
  const auto place = [&](const std::string& name) { return std::find(to.begin(), to.end(), name); };
  std::vector<Names> way = {from};
  for (bool sorted = false; !sorted;) {
    sorted = true;
    for (std::size_t i = 0; i + 1 < from.size(); ++i) {
      if (place(from[i]) < place(from[i + 1])) continue;
      std::swap(from[i], from[i + 1]);
      way.push_back(from);
      sorted = false;
    }
  }
  return way;
}

// Tries random orders of each phase; where one changes a probe, the exchange of neighbours that did it is a
// relation.
int find_relations(const std::string& folder) {
  std::vector<Probe> all = probes(true);
  if (!folder.empty())
    for (const Model& m : models_below(folder, folder))
      all.push_back({m.name, histogram(m, onnx::kDefaultOpset),
                     [m](const Rewriters& r) { return histogram(m, onnx::kDefaultOpset, r); }});
  constexpr int kTries = 12;  // in a row without a change
  std::mt19937_64 random(1);
  for (const Phase& phase : all_phases()) {
    Relations relations = declared();
    const Names listed = names_in(phase);
    for (int tries = 0; tries < kTries; ++tries) {
      const std::vector<Names> way = way_between(listed, shuffled(listed, relations, random));
      if (!changed_by(all, way.back())) continue;
      std::size_t same = 0, changed = way.size() - 1;
      const Probe* by = nullptr;
      while (changed - same > 1) {
        const std::size_t middle = (same + changed) / 2;
        (changed_by(all, way[middle]) ? changed : same) = middle;
      }
      by = changed_by(all, way[changed]);
      std::size_t i = 0;
      while (way[same][i] == way[changed][i]) ++i;
      relations[way[same][i + 1]].insert(way[same][i]);
      std::cout << way[same][i + 1] << " after " << way[same][i] << ": " << by->name << "\n" << std::flush;
      tries = -1;
    }
  }
  return EXIT_SUCCESS;
}

int usage() {
  std::cerr << "rewriter_net removal [--list] | order [SEEDS] | relations [DIR]\n";
  return 2;
}

}  // namespace
}  // namespace t2o::golden

int main(int argc, char** argv) {
  using namespace t2o::golden;
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words.size() > 2) return usage();
  if (words[0] == "removal") return check_removal(words.size() == 2 && words[1] == "--list");
  if (words[0] == "relations") return find_relations(words.size() == 2 ? words[1] : "");
  if (words[0] == "order") return check_order(words.size() == 2 ? std::atoi(words[1].c_str()) : 3);
  return usage();
}
