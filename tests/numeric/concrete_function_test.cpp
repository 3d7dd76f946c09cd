#include <gtest/gtest.h>

#include <filesystem>

#include "harness.h"
#include "onnx/writer.h"
#include "pipeline.h"
#include "verify/verify.h"

// Concrete functions and frozen graphs compute what the model does.
namespace t2o {
namespace {

namespace fs = std::filesystem;

class SourceGraphs : public testing::Test {
 protected:
  void SetUp() override { numeric::engines_missing(); }
  ~SourceGraphs() override {
    std::error_code ignored;
    fs::remove(exported_, ignored);
    fs::remove(frozen_, ignored);
  }

  // Converts, and compares the result with what TensorFlow makes of `reference`.
  void agrees(const Options& options, const Options& reference) {
    const Conversion c = convert(options);
    ASSERT_TRUE(c.graph()) << (c.diagnostics.empty() ? "" : to_string(c.diagnostics[0]));
    const Diagnostics trouble = write_model(c, options, exported_);
    ASSERT_FALSE(has_errors(trouble)) << to_string(trouble[0]);
    verify::VerifyOptions v;
    v.source = reference;
    v.onnx = exported_;
    const verify::VerifyReport report = verify::verify(v);
    ASSERT_FALSE(report.samples.empty());
    for (const verify::ComparedSample& sample : report.samples)
      for (const verify::ComparedTensor& t : sample.outputs)
        EXPECT_TRUE(t.comparison.ok()) << options.model << ", " << sample.label << ": " << t.name << ": " << t.comparison.problem;
    EXPECT_TRUE(report.ok());
  }

  // TensorFlow runs the frozen graph, whose inputs and outputs are the source's.
  void freezes(Options options) {
    SCOPED_TRACE(options.model + " " + options.concrete_function);
    options.output_frozen_graph = frozen_;
    options.use_graph_names = true;
    const Conversion c = convert(options);
    ASSERT_TRUE(c.graph()) << (c.diagnostics.empty() ? "" : to_string(c.diagnostics[0]));
    Options frozen;
    frozen.model = frozen_;
    for (const Value* v : c.graph()->inputs()) frozen.inputs.push_back(v->name());
    for (const Value* v : c.graph()->outputs()) frozen.outputs.push_back(v->name());
    agrees(options, frozen);
  }

  std::string exported_ = ::testing::TempDir() + "source_graphs.onnx", frozen_ = ::testing::TempDir() + "source_graphs.pb";
};

const std::string kData = T2O_SOURCE_DIR "/tests/data/";

// By number and by name; the variables that no signature reads, and two of one name; loops and conditionals.
TEST_F(SourceGraphs, ConcreteFunctions) {
  for (const char* function : {"0", "1", "-1", "embed", "scale"}) {
    Options options;
    options.model = kData + "functions";
    options.concrete_function = function;
    SCOPED_TRACE(function);
    agrees(options, options);
  }
}

TEST_F(SourceGraphs, FrozenGraphs) {
  for (const char* function : {"", "0", "1", "embed"}) {
    Options options;
    options.model = kData + "functions";
    options.concrete_function = function;
    freezes(options);
  }
  for (const char* model : {"../../models/mnist", "../../models/mnist_frozen.pb", "../../models/mnist_tf1/mnist.meta", "keras3", "tf1", "tensor_lists/nested.pb", "tensor_lists/tf1_two.pb"}) {
    Options options;
    options.model = kData + model;
    freezes(options);
  }
}

// Loops and conditionals of TensorFlow 1 are kept as they are drawn.
TEST_F(SourceGraphs, FrozenGraphsOfRecurrentLayers) {
  for (const fs::directory_entry& entry : fs::directory_iterator(kData + "recurrent")) {
    if (entry.path().extension() != ".pb") continue;
    Options options;
    options.model = entry.path().string();
    freezes(options);
  }
}

TEST_F(SourceGraphs, AFrozenGraphThatIsCut) {
  Options options;
  options.model = kData + "../../models/mnist_frozen.pb";
  options.inputs = {"MaxPool2d_1:0"};
  freezes(options);
}

}  // namespace
}  // namespace t2o
