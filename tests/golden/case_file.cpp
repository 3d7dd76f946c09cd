#include "case_file.h"

#include <cctype>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "ir/text.h"

namespace t2o::golden {
namespace {

[[noreturn]] void malformed(const File& f, std::size_t line, const std::string& why) {
  throw std::runtime_error(f.path.string() + ":" + std::to_string(line) + ": " + why);
}

void read_option(const File& f, Case& c, const std::string& line, std::size_t number) {
  const auto colon = line.find(": ");
  const std::string key = line.substr(0, colon);
  const std::string value = colon == std::string::npos ? "" : line.substr(colon + 2);
  if (key == "runtime" && !value.empty()) {
    c.runtime = value;
  } else if (key == "fidelity" && value == "strict") {
    c.strict = true;
  } else if (key == "layout" && (value == "nchw" || value == "nhwc")) {
    c.layout = value == "nchw" ? tf2onnx::Layout::nchw : tf2onnx::Layout::nhwc;
  } else if (key == "quantize-mode" && (value == "qdq" || value == "float")) {
    c.quantize_mode = value == "qdq" ? tf2onnx::QuantizeMode::qdq : tf2onnx::QuantizeMode::as_float;
  } else if (key == "opset" || (key == "opsets" && f.is_pipeline())) {
    c.opsets.clear();
    std::istringstream words(value);
    for (int opset = 0; words >> opset;) c.opsets.push_back(opset);
    if (!words.eof() || c.opsets.empty() || (key == "opset" && c.opsets.size() != 1))
      malformed(f, number, "not an opset: '" + value + "'");
  } else {
    malformed(f, number,
              "'opset: <number>', 'runtime: <name>', 'fidelity: strict', 'layout: <name>', 'quantize-mode: <mode>' or a graph is "
              "expected here");
  }
}

// Reads one case that begins at lines[i], a "== name"; i is behind it then.
Case read_case(const File& f, const Lines& lines, std::size_t& i) {
  Case c;
  if (f.is_pipeline()) c.layout = tf2onnx::Layout::automatic;
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

}  // namespace

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

std::string source_of(const Case& c) { return std::string(c.input_line - 1, '\n') + with_origins(c.input); }

GraphPtr parsed(const File& f, const Case& c) { return ir::parse_graph(source_of(c), f.path.string()); }

std::vector<File> files_below(const fs::path& root) {
  std::set<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(root))
    if (entry.path().extension() == ".t2o") paths.insert(entry.path());
  std::vector<File> files;
  for (const fs::path& p : paths)
    files.push_back({p, fs::relative(p, root).replace_extension().generic_string(), {}, {}});
  return files;
}

}  // namespace t2o::golden
