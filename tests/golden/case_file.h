#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "onnx/opset_table.h"
#include "tf2onnx/options.h"

// The files of the golden tests: cases of text in and text out. docs/adding-an-op.md says how one is written.
namespace t2o::golden {

namespace fs = std::filesystem;

using Lines = std::vector<std::string>;

struct Case {
  std::string name;
  std::vector<int> opsets = {onnx::kDefaultOpset};  // several only in pipeline/
  std::string runtime = onnx::Target().runtime;
  bool strict = false;  // fidelity: strict
  tf2onnx::Layout layout = tf2onnx::Layout::nhwc;  // which knows all rewriters; pipeline/ has the default, automatic
  tf2onnx::QuantizeMode quantize_mode = tf2onnx::QuantizeMode::exact;
  std::size_t line = 0;           // of the header, counted from 1
  std::size_t input_line = 0;     // where the input begins
  std::size_t expected_line = 0;  // where the expectation begins
  std::string input;
  Lines expected;
  Lines head;  // header, options, input and "--", as they stand in the file

  int opset() const { return opsets.front(); }
  onnx::Target target() const { return onnx::make_target(opset(), runtime, strict); }
};

struct File {
  fs::path path;     // as opened
  std::string stem;  // "op_mappers/conv"
  Lines preface;     // comments before the first case
  std::vector<Case> cases;
  bool changed = false;

  bool is_pipeline() const { return stem.starts_with("pipeline/"); }
};

void read_file(File&);  // throws std::runtime_error for what is malformed
void write_file(const File&);

std::string joined(const Lines&);
Lines lines_of(const std::string& text);

// The text of a case's graph, behind as many lines as stand before it in the file. As the importer does, it gives each node itself as
// its origin.
std::string source_of(const Case&);
GraphPtr parsed(const File&, const Case&);

// The files below a folder, with their stems relative to it, in the order of their paths; none is read.
std::vector<File> files_below(const fs::path& root);

}  // namespace t2o::golden
