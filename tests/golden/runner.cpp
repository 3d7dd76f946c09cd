// Golden tests: text in, text out. docs/adding-an-op.md says how a case is written.
//   op_mappers/<family>.t2o           a graph of TensorFlow's operators and what map_ops makes of it
//   rewriters/<tf|onnx>/<name>.t2o    a graph and what the rewriter <name> makes of it
#include <gtest/gtest.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <sstream>

#include "ir/text.h"
#include "onnx/checker.h"
#include "op_mappers/map_ops.h"
#include "rewriters/all.h"
#include "tests/golden/remedies.h"
#include "tests/support/coverage.h"

namespace fs = std::filesystem;

namespace t2o {
namespace {

using Lines = std::vector<std::string>;

struct Case {
  std::string name;
  int opset = onnx::kDefaultOpset;
  std::string runtime = onnx::Target().runtime;
  tf2onnx::Layout layout = tf2onnx::Layout::nhwc;  // which knows all rewriters
  std::size_t line = 0;           // of the header, counted from 1
  std::size_t input_line = 0;     // where the input begins
  std::size_t expected_line = 0;  // where the expectation begins
  std::string input;
  Lines expected;
  Lines head;  // header, options, input and "--", as they stand in the file
};

struct File {
  fs::path path;     // as opened
  std::string stem;  // "op_mappers/conv"
  Lines preface;     // comments before the first case
  std::vector<Case> cases;
  bool changed = false;
};

std::string joined(const Lines& lines) {
  std::string s;
  for (const std::string& l : lines) s += l + "\n";
  return s;
}

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string l; std::getline(in, l);) lines.push_back(l);
  return lines;
}

// ---- the file format

[[noreturn]] void malformed(const File& f, std::size_t line, const std::string& why) {
  throw std::runtime_error(f.path.string() + ":" + std::to_string(line) + ": " + why);
}

void read_option(const File& f, Case& c, const std::string& line, std::size_t number) {
  const auto colon = line.find(": ");
  const std::string key = line.substr(0, colon);
  const std::string value = colon == std::string::npos ? "" : line.substr(colon + 2);
  if (key == "runtime" && !value.empty()) {
    c.runtime = value;
  } else if (line == "layout: nchw") {
    c.layout = tf2onnx::Layout::nchw;
  } else if (key == "opset") {
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), c.opset);
    if (error != std::errc() || end != value.data() + value.size())
      malformed(f, number, "not an opset: '" + value + "'");
  } else {
    malformed(f, number, "'opset: <number>', 'runtime: <name>', 'layout: nchw' or a graph is expected here");
  }
}

// Reads one case that begins at lines[i], a "== name"; i is behind it then.
Case read_case(const File& f, const Lines& lines, std::size_t& i) {
  Case c;
  c.name = lines[i].substr(3);
  c.line = i + 1;
  c.head.push_back(lines[i++]);
  while (i < lines.size() && !lines[i].starts_with("graph") && lines[i] != "--" &&
         !lines[i].starts_with("== ")) {
    if (!lines[i].empty() && !lines[i].starts_with("//")) read_option(f, c, lines[i], i + 1);
    c.head.push_back(lines[i++]);
  }
  c.input_line = i + 1;
  for (; i < lines.size() && lines[i] != "--" && !lines[i].starts_with("== "); ++i) {
    c.input += lines[i] + "\n";
    c.head.push_back(lines[i]);
  }
  if (i == lines.size() || lines[i] != "--") malformed(f, i + 1, "case '" + c.name + "' has no line '--'");
  if (c.input.empty()) malformed(f, i + 1, "case '" + c.name + "' has no graph");
  c.head.push_back(lines[i++]);
  c.expected_line = i + 1;
  for (; i < lines.size() && !lines[i].starts_with("== "); ++i) c.expected.push_back(lines[i]);
  while (!c.expected.empty() && c.expected.back().empty()) c.expected.pop_back();
  return c;
}

void read_file(File& f) {
  std::ifstream in(f.path);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) malformed(f, 1, "cannot be read");
  const Lines lines = lines_of(text.str());
  std::size_t i = 0;
  for (; i < lines.size() && !lines[i].starts_with("== "); ++i) {
    if (!lines[i].empty() && !lines[i].starts_with("//"))
      malformed(f, i + 1, "a case begins with '== ' and its name");
    f.preface.push_back(lines[i]);
  }
  std::set<std::string> names;
  while (i < lines.size()) {
    f.cases.push_back(read_case(f, lines, i));
    if (!names.insert(f.cases.back().name).second)
      malformed(f, f.cases.back().line, "two cases '" + f.cases.back().name + "'");
  }
  if (f.cases.empty()) malformed(f, 1, "has no case");
}

void write_file(const File& f) {
  std::ofstream out(f.path);
  out << joined(f.preface);
  for (const Case& c : f.cases)
    out << (&c == f.cases.data() ? "" : "\n") << joined(c.head) << joined(c.expected);
}

// ---- what a case yields

// As the importer does, a node comes from itself: %y: f32[2] = Relu(%x)   ->   ... @"y" "Relu"
std::string with_origins(const std::string& input) {
  Lines lines = lines_of(input);
  for (std::string& l : lines) {
    const auto percent = l.find('%'), equals = l.find(" = "), paren = l.find('(', equals);
    if (l.find(" @\"") != l.npos || l.ends_with('{') || percent == l.npos || equals == l.npos ||
        paren == l.npos)
      continue;
    if (l.find_first_not_of(' ') != percent || percent > equals) continue;
    const std::string name = l.substr(percent + 1, l.find_first_of(": ,", percent) - percent - 1);
    const std::string op = l.substr(equals + 3, paren - equals - 3);
    l += " @\"" + name + "\" " + (op.starts_with('"') ? op : '"' + op + '"');
  }
  return joined(lines);
}

std::string told(const Diagnostics& diagnostics) {
  std::string s;
  for (const Diagnostic& d : diagnostics) s += to_string(d) + "\n";
  return s;
}

void expect_valid(const ir::Graph& g, const Target& target) {
  onnx::ModelInfo info;
  info.target = target;
  EXPECT_EQ(told(onnx::check(g, info)), "") << ir::to_text(g);
}

std::string mapped(const Case& c, const std::string& text, ir::Graph& source) {
  const Target target = onnx::make_target(c.opset, c.runtime);
  Diagnostics diagnostics;
  const GraphPtr g = map_ops(source, tf_registry(), target, diagnostics);
  std::erase_if(diagnostics, [](const Diagnostic& d) {
    if (d.code == Code::attr_ignored)
      ADD_FAILURE() << to_string(d) << "\n  help: read it, or list it in the row's ignores()";
    return d.code == Code::attr_ignored;
  });
  if (has_errors(diagnostics)) golden::follow_remedies(text, target, diagnostics);
  if (has_errors(diagnostics)) return told(diagnostics);
  expect_valid(*g, target);
  test::record_coverage(source, c.opset);
  return told(diagnostics) + ir::to_text(*g);
}

std::optional<Rewriter> find_rewriter(const Case& c, const std::string& stem) {
  for (const Rewriter& r : tf_rewriters())
    if (stem == "rewriters/tf/" + r.name) return r;
  for (const Rewriter& r : onnx_rewriters(onnx::make_target(c.opset, c.runtime), c.layout))
    if (stem == "rewriters/onnx/" + r.name) return r;
  return std::nullopt;
}

std::string rewritten(const Case& c, const std::string& stem, ir::Graph& g) {
  const auto r = find_rewriter(c, stem);
  if (!r) return "there is no rewriter " + stem + "\n";
  r->run(g);
  g.name_rest();
  const std::string text = ir::to_text(g);
  EXPECT_EQ(r->run(g), 0) << "a second run changes the graph";
  EXPECT_EQ(ir::to_text(g), text) << "a second run changes the graph";
  if (g.dialect() == "onnx") expect_valid(g, onnx::make_target(c.opset, c.runtime));
  return text;
}

std::string outcome(const File& f, const Case& c) {
  const std::string text =
      std::string(c.input_line - 1, '\n') + with_origins(c.input);  // errors name the file's lines
  const GraphPtr g = ir::parse_graph(text, f.path.string());
  return f.stem.starts_with("op_mappers/") ? mapped(c, text, *g) : rewritten(c, f.stem, *g);
}

void compare(const File& f, const Case& c, const Lines& actual) {
  const auto [e, a] = std::mismatch(c.expected.begin(), c.expected.end(), actual.begin(), actual.end());
  if (e == c.expected.end() && a == actual.end()) return;
  const auto line = c.expected_line + static_cast<std::size_t>(e - c.expected.begin());
  FAIL() << f.path.string() << ":" << line << ": case '" << c.name << "' (opset " << c.opset << ", "
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
  for (const Rewriter& r : tf_rewriters()) stems.insert("rewriters/tf/" + r.name);
  for (const Rewriter& r : onnx_rewriters(onnx::make_target(onnx::kDefaultOpset), tf2onnx::Layout::nhwc)) stems.insert("rewriters/onnx/" + r.name);
  return stems;
}

std::vector<std::shared_ptr<File>> register_all(const fs::path& root) {
  std::set<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.path().extension() == ".t2o") paths.insert(entry.path());
  std::set<std::string> missing = expected_stems();
  std::vector<std::shared_ptr<File>> files;
  for (const fs::path& p : paths) {
    const std::string stem = fs::relative(p, root).replace_extension().generic_string();
    files.push_back(std::make_shared<File>(File{p, stem, {}, {}}));
    register_file(files.back());
    if (missing.erase(stem) == 0)
      register_broken(stem, "family", p.string() + ": there is no such family or rewriter");
  }
  for (const std::string& stem : missing)
    register_broken(stem, "file", "no case: tests/golden/" + stem + ".t2o is missing");
  return files;
}

}  // namespace
}  // namespace t2o

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const auto files = t2o::register_all(fs::path(T2O_SOURCE_DIR) / "tests/golden");
  const int result = RUN_ALL_TESTS();
  for (const auto& f : files)
    if (f->changed) t2o::write_file(*f);
  return result;
}
