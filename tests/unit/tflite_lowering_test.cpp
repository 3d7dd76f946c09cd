#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "ir/text.h"
#include "tflite/format.h"

// What the sample models below tests/data/tflite become in TensorFlow's operators: tests/golden/tflite/<model>.txt.
// UPDATE_GOLDENS=1 writes these files.
namespace t2o::tflite {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string lowered(const fs::path& model, tf2onnx::Options o = {}) {
  o.model = model.string();
  std::vector<std::string> signatures;
  for (const ModelSignature& s : open(o)->signatures()) signatures.push_back(s.name);
  if (signatures.empty()) signatures.emplace_back();
  std::string text;
  for (const std::string& s : signatures) {
    o.signature = s;
    Diagnostics diagnostics;
    const Prepared p = open(o)->prepare(o, {}, diagnostics);
    if (signatures.size() > 1) text += "// " + s + "\n";
    if (p.graph) text += ir::to_text(*p.graph, {.elide_above = 16});
    for (const auto& [input, initial] : p.input_defaults) {
      text += "// " + input + " starts with";
      const std::vector<double> values = initial->to_floats();
      for (std::size_t i = 0; i < std::min<std::size_t>(values.size(), 4); ++i) text += " " + std::to_string(values[i]);
      text += values.size() > 4 ? " ...\n" : "\n";
    }
    for (const Diagnostic& d : diagnostics) text += to_string(d) + "\n";
  }
  return text;
}

TEST(TfliteLowering, SampleModels) {
  const fs::path source = T2O_SOURCE_DIR, goldens = source / "tests/golden/tflite";
  int models = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(source / "tests/data/tflite")) {
    if (entry.path().extension() != ".tflite") continue;
    SCOPED_TRACE(entry.path().filename());
    ++models;
    const fs::path golden = goldens / entry.path().filename().replace_extension(".txt");
    const std::string text = lowered(entry.path());
    if (std::getenv("UPDATE_GOLDENS")) std::ofstream(golden, std::ios::binary) << text;
    EXPECT_EQ(text, content(golden));
  }
  EXPECT_GT(models, 15);
}

// What --stateful-io makes of models with states: inputs with initial values, and outputs.
TEST(TfliteLowering, States) {
  const fs::path source = T2O_SOURCE_DIR, goldens = source / "tests/golden/tflite/stateful";
  tf2onnx::Options o;
  o.stateful_io = true;
  for (const char* model : {"lstm_keras", "lstm_keras_int8", "lstm_in_branch", "lstm_in_loop", "svdf", "variable_branch", "variable_call", "variable_count", "variable_loop", "variable_nested", "variable_stream_int8"}) {
    SCOPED_TRACE(model);
    const std::string text = lowered(source / "tests/data/tflite" / (std::string(model) + ".tflite"), o);
    const fs::path golden = goldens / (std::string(model) + ".txt");
    if (std::getenv("UPDATE_GOLDENS")) std::ofstream(golden, std::ios::binary) << text;
    EXPECT_EQ(text, content(golden));
  }
}

// Without --stateful-io a warning names what this option would make inputs and outputs.
TEST(TfliteLowering, LostChangesAreNamed) {
  const fs::path source = T2O_SOURCE_DIR;
  int models = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(source / "tests/data/tflite")) {
    if (entry.path().extension() != ".tflite") continue;
    SCOPED_TRACE(entry.path().filename());
    tf2onnx::Options o;
    o.stateful_io = true;
    const bool has_states = lowered(entry.path(), o).find(" starts with ") != std::string::npos;
    const bool is_warned = lowered(entry.path()).find(" not carried from run to run") != std::string::npos;
    EXPECT_EQ(has_states, is_warned);
    models += has_states ? 1 : 0;
  }
  EXPECT_GT(models, 15);
}

// What --dequantize makes of quantized models: floats alone.
TEST(TfliteLowering, Dequantized) {
  const fs::path source = T2O_SOURCE_DIR, goldens = source / "tests/golden/tflite/dequantized";
  tf2onnx::Options o;
  o.dequantize = true;
  o.stateful_io = true;
  for (const char* model : {"branches", "cnn_int16", "cnn_int8", "cnn_int8io", "dynamic_range", "lstm_int8", "lstm_keras_int8",
                            "moves_int8io", "variable_stream_int8"}) {
    SCOPED_TRACE(model);
    const std::string text = lowered(source / "tests/data/tflite" / (std::string(model) + ".tflite"), o);
    EXPECT_EQ(text.find("t2o.Quantize"), std::string::npos) << text;
    EXPECT_EQ(text.find("t2o.Dequantize"), std::string::npos) << text;
    const fs::path golden = goldens / (std::string(model) + ".txt");
    if (std::getenv("UPDATE_GOLDENS")) std::ofstream(golden, std::ios::binary) << text;
    EXPECT_EQ(text, content(golden));
  }
}

// --custom-ops keeps a custom operator that nobody knows.
TEST(TfliteLowering, KeptCustomOperator) {
  const fs::path source = T2O_SOURCE_DIR;
  tf2onnx::Options o;
  o.custom_ops = {"Sharpen"};
  const std::string text = lowered(source / "tests/data/tflite/custom_unknown.tflite", o);
  EXPECT_NE(text.find("= Sharpen(%x0) {custom_options="), std::string::npos) << text;
}

}  // namespace
}  // namespace t2o::tflite
