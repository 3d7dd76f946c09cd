// Golden tests: text in, text out. docs/adding-an-op.md and docs/adding-a-rewriter.md say how a case is
// written.
//   op_mappers/<family>.t2o           a graph of TensorFlow's operators and what map_ops makes of it
//   rewriters/<tf|onnx|runtime|portable>/<name>.t2o   a graph and what the rewriter <name> makes of it; those of
//                                     runtime/ and portable/ belong to rows of rewriters/runtime/table.h
//   pipeline/<name>.t2o               a graph of TensorFlow's operators and the ONNX graph that is written
//   histograms.txt                    the operators in the exports of the sample models
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>

#include "case_file.h"
#include "ir/text.h"
#include "onnx/checker.h"
#include "op_mappers/map_ops.h"
#include "op_mappers/quantize_mode.h"
#include "rewriters/all.h"
#include "rewriters/runtime/table.h"
#include "tests/golden/remedies.h"
#include "tests/support/coverage.h"
#include "whole_way.h"

namespace t2o::golden {
namespace {

std::string told(const Diagnostics& diagnostics) {
  std::string s;
  for (const Diagnostic& d : diagnostics) s += to_string(d) + "\n";
  return s;
}

// Internal attributes are not ONNX's. They go at the end of a conversion.
void expect_valid(ir::Graph& g, const Target& target) {
  run_phases({{"the end", "", "", {{rewriters::drop_meanings()}}}}, g);
  EXPECT_EQ(told(onnx::check(g, {.target = target})), "") << ir::to_text(g);
}

std::string mapped(const Case& c, const std::string& text, ir::Graph& source) {
  const Target target = c.target();
  Diagnostics diagnostics;
  ConversionRegistry registry(target);
  registry.add_overlay(quantize_mode_rows(c.quantize_mode));
  const GraphPtr g = map_ops(source, registry, diagnostics);
  std::erase_if(diagnostics, [](const Diagnostic& d) {
    if (d.code == Code::attr_ignored)
      ADD_FAILURE() << to_string(d) << "\n  help: read it, or list it in the row's ignores()";
    return d.code == Code::attr_ignored;
  });
  if (has_errors(diagnostics)) follow_remedies(text, target, diagnostics);
  if (has_errors(diagnostics)) return told(diagnostics);
  std::string mapped_text = told(diagnostics) + ir::to_text(*g);
  expect_valid(*g, target);
  test::record_coverage(source, c.opset());
  return mapped_text;
}

std::string stem_of(const Rewriter& r) {
  const runtime::Row* row = runtime::find_row(r.name);
  const bool is_form = row && row->kind == runtime::Kind::form;
  return (is_form ? "rewriters/portable/" : row ? "rewriters/runtime/" : "rewriters/onnx/") + r.name;
}

// A row of the runtime's table has no rewriter where it does not apply: then nothing happens.
std::optional<Rewriter> find_rewriter(const Case& c, const std::string& stem) {
  for (const Rewriter& r : rewriters_of(tf_phases()))
    if (stem == "rewriters/tf/" + r.name) return r;
  for (const Rewriter& r : rewriters_of(onnx_phases(c.target(), c.layout)))
    if (stem == stem_of(r)) return r;
  for (const runtime::Row& row : runtime::table()) {
    Rewriter nothing{std::string(row.name), [](ir::Graph&) { return 0; }};
    if (stem == stem_of(nothing)) return nothing;
  }
  return std::nullopt;
}

std::string rewritten(const Case& c, const std::string& stem, ir::Graph& g,
                      runtime::Recording* recording = nullptr) {
  const auto r = find_rewriter(c, stem);
  if (!r) return "there is no rewriter " + stem + "\n";
  const int changes = r->run(g);
  if (recording) recording->add(r->name, changes);
  if (changes != 0) g.erase_dead();  // as a phase does
  g.name_rest();
  const std::string text = ir::to_text(g);
  EXPECT_EQ(r->run(g), 0) << "a second run changes the graph";
  EXPECT_EQ(ir::to_text(g), text) << "a second run changes the graph";
  if (g.dialect() == "onnx") expect_valid(g, c.target());
  return text;
}

std::string outcome(const File& f, const Case& c) {
  if (f.is_pipeline()) return whole_way(f, c);
  const std::string text = source_of(c);
  const GraphPtr g = ir::parse_graph(text, f.path.string());
  return f.stem.starts_with("op_mappers/") ? mapped(c, text, *g) : rewritten(c, f.stem, *g);
}

void compare(const File& f, const Case& c, const Lines& actual) {
  const auto [e, a] = std::mismatch(c.expected.begin(), c.expected.end(), actual.begin(), actual.end());
  if (e == c.expected.end() && a == actual.end()) return;
  const auto line = c.expected_line + static_cast<std::size_t>(e - c.expected.begin());
  FAIL() << f.path.string() << ":" << line << ": case '" << c.name << "' (opset " << c.opset() << ", "
         << c.runtime << ")\n  expected " << (e == c.expected.end() ? "(the end)" : *e) << "\n  got      "
         << (a == actual.end() ? "(the end)" : *a) << "\nall of it:\n"
         << joined(actual) << "UPDATE_GOLDENS=1 accepts this.";
}

class GoldenTest : public testing::Test {
 public:
  GoldenTest(std::shared_ptr<File> f, std::size_t which) : file_(std::move(f)), which_(which) {}

 protected:
  void TestBody() override {
    Case& c = file_->cases[which_];
    Lines actual;
    try {
      actual = lines_of(outcome(*file_, c));
    } catch (const std::exception& e) {
      FAIL() << file_->path.string() << ":" << c.line << ": case '" << c.name << "': " << e.what();
    }
    if (!std::getenv("UPDATE_GOLDENS")) return compare(*file_, c, actual);
    file_->changed |= c.expected != actual;
    c.expected = actual;
  }

 private:
  std::shared_ptr<File> file_;
  std::size_t which_;
};

class BrokenTest : public testing::Test {
 public:
  explicit BrokenTest(std::string why) : why_(std::move(why)) {}

 protected:
  void TestBody() override { FAIL() << why_; }

 private:
  std::string why_;
};

// ---- finding the cases

std::string test_name(std::string name) {  // what a --gtest_filter can say
  std::replace_if(
      name.begin(), name.end(), [](unsigned char ch) { return std::isalnum(ch) == 0; }, '_');
  return name;
}

void register_broken(const std::string& suite, const std::string& name, const std::string& why) {
  testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                        [why]() -> testing::Test* { return new BrokenTest(why); });
}

void register_file(const std::shared_ptr<File>& f) {
  try {
    read_file(*f);
  } catch (const std::exception& e) {
    return register_broken(f->stem, "file", e.what());
  }
  for (std::size_t i = 0; i < f->cases.size(); ++i)
    testing::RegisterTest(f->stem.c_str(), test_name(f->cases[i].name).c_str(), nullptr, nullptr,
                          f->path.c_str(), static_cast<int>(f->cases[i].line),
                          [f, i]() -> testing::Test* { return new GoldenTest(f, i); });
}

// Every family of rows and every rewriter has a file.
std::set<std::string> expected_stems() {
  std::set<std::string> stems;
  for (const auto& [op, rows] : tf_registry().table())
    for (const auto& [since, row] : rows) stems.insert("op_mappers/" + row.family);
  for (const Rewriter& r : rewriters_of(tf_phases())) stems.insert("rewriters/tf/" + r.name);
  for (const Rewriter& r : rewriters_of(all_phases()))
    if (!stems.contains("rewriters/tf/" + r.name)) stems.insert(stem_of(r));
  return stems;
}

std::vector<std::shared_ptr<File>> register_all(const fs::path& root) {
  std::set<std::string> missing = expected_stems();
  std::vector<std::shared_ptr<File>> files;
  for (File& f : files_below(root)) {
    files.push_back(std::make_shared<File>(std::move(f)));
    register_file(files.back());
    const std::string& stem = files.back()->stem;
    if (missing.erase(stem) == 0 && !files.back()->is_pipeline())
      register_broken(stem, "family", files.back()->path.string() + ": there is no such family or rewriter");
  }
  for (const std::string& stem : missing)
    register_broken(stem, "file", "no case: tests/golden/" + stem + ".t2o is missing");
  return files;
}

// ---- the runtime's table: each row acts in some case of a rewriter. With --target-runtime any the forms do alone,
// and for ONNX Runtime all others.

struct RowUses {
  std::set<std::string> for_runtime, for_any, with_case_for_any;
};

RowUses uses_in_cases(const std::vector<std::shared_ptr<File>>& files) {
  RowUses all;
  for (const auto& f : files)
    for (const Case& c : f->cases) {
      if (f->is_pipeline() || f->stem.starts_with("op_mappers/") || f->stem.starts_with("rewriters/tf/")) continue;
      runtime::Recording recording;
      const GraphPtr g = ir::parse_graph(source_of(c), f->path.string());
      const bool is_any = c.runtime == "any";
      if (is_any)  // all phases: no other way leads to a row either
        run_phases(onnx_phases(c.target(), c.layout), *g,
                   {.after = [&](const std::string& name, int changes) { recording.add(name, changes); }});
      else
        rewritten(c, f->stem, *g, &recording);
      for (const auto& [row, n] : recording.uses()) (is_any ? all.for_any : all.for_runtime).insert(row);
      if (is_any) all.with_case_for_any.insert(f->path.stem().string());
    }
  return all;
}

class RuntimeRowsTest : public testing::Test {
 public:
  explicit RuntimeRowsTest(std::vector<std::shared_ptr<File>> files) : files_(std::move(files)) {}

 protected:
  void TestBody() override {
    const RowUses uses = uses_in_cases(files_);
    for (const runtime::Row& row : runtime::table()) {
      const std::string name(row.name);
      const bool is_form = row.kind == runtime::Kind::form;
      const auto &own = is_form ? uses.for_any : uses.for_runtime, &other = is_form ? uses.for_runtime : uses.for_any;
      EXPECT_FALSE(other.contains(name)) << name << " acts for the wrong runtime";
      EXPECT_TRUE(own.contains(name)) << "no case of a rewriter uses the row " << name;
      if (is_form) continue;
      EXPECT_TRUE(!row.make || uses.with_case_for_any.contains(name))
          << "no case with 'runtime: any' shows that " << name << " does nothing then";
    }
  }

 private:
  std::vector<std::shared_ptr<File>> files_;
};

void register_runtime_rows(const std::vector<std::shared_ptr<File>>& files) {
  testing::RegisterTest("RuntimeRows", "EachActsForItsRuntimeAlone", nullptr, nullptr, __FILE__, __LINE__,
                        [files]() -> testing::Test* { return new RuntimeRowsTest(files); });
}

// ---- histograms

class HistogramTest : public testing::Test {
 public:
  HistogramTest(std::shared_ptr<Histograms> all, Model model)
      : all_(std::move(all)), model_(std::move(model)) {}

 protected:
  void TestBody() override {
    for (const int opset : histogram_opsets()) {
      const std::string key = histogram_key(model_, opset), actual = histogram(model_, opset);
      const auto it = std::find_if(all_->begin(), all_->end(), [&](const auto& h) { return h.first == key; });
      const std::string expected = it == all_->end() ? "" : it->second;
      if (!std::getenv("UPDATE_GOLDENS"))
        EXPECT_EQ(actual, expected) << key << ": UPDATE_GOLDENS=1 accepts this.";
      else if (it != all_->end())
        it->second = actual;
      else
        all_->emplace_back(key, actual);
    }
  }

 private:
  std::shared_ptr<Histograms> all_;
  Model model_;
};

std::shared_ptr<Histograms> register_histograms() {
  auto all = std::make_shared<Histograms>(read_histograms());
  const bool update = std::getenv("UPDATE_GOLDENS") != nullptr;
  std::set<std::string> keys;
  for (const Model& m : sample_models())
    for (const int opset : histogram_opsets()) keys.insert(histogram_key(m, opset));
  const auto is_stale = [&](const auto& line) { return !keys.contains(line.first); };
  if (update) std::erase_if(*all, is_stale);
  for (const auto& [key, text] : *all)
    if (!keys.contains(key)) register_broken("Histograms", test_name(key), "no such model: " + key);
  for (const Model& m : sample_models())
    testing::RegisterTest("Histograms", test_name(m.name).c_str(), nullptr, nullptr, __FILE__, __LINE__,
                          [all, m]() -> testing::Test* { return new HistogramTest(all, m); });
  return all;
}

}  // namespace
}  // namespace t2o::golden

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  using namespace t2o::golden;
  const auto files = register_all(fs::path(T2O_SOURCE_DIR) / "tests/golden");
  register_runtime_rows(files);
  const auto histograms = register_histograms(), before = std::make_shared<Histograms>(read_histograms());
  const int result = RUN_ALL_TESTS();
  for (const auto& f : files)
    if (f->changed) write_file(*f);
  if (*histograms != *before) {
    std::sort(histograms->begin(), histograms->end());
    write_histograms(*histograms);
  }
  return result;
}
