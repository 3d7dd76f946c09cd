#include <gtest/gtest.h>

#include <filesystem>

#include "harness.h"
#include "pipeline.h"
#include "verify/verify.h"

// Frozen graphs of jax2tf (scripts/make_jax_models.py).
namespace t2o {
namespace {

void check(const std::string& model, const Strings& shapes = {}) {
  if (numeric::engines_missing()) return;
  const std::string source = T2O_SOURCE_DIR "/tests/data/jax/" + model + ".pb";
  const std::string exported = ::testing::TempDir() + "jax_" + model + ".onnx";
  for (const int opset : {11, 13, 18, 21, 26}) {
    Options options;
    options.model = source;
    options.opset = opset;
    const Conversion c = convert(options);
    ASSERT_TRUE(c.graph()) << model << ": " << (c.diagnostics.empty() ? "" : to_string(c.diagnostics[0]));
    ASSERT_FALSE(has_errors(write_model(c, options, exported)));
    verify::VerifyOptions v;
    v.source = options;
    v.onnx = exported;
    v.tolerance = {1e-4, 1e-5};
    v.samples = 2;
    v.input_shapes = shapes;
    const verify::VerifyReport report = verify::verify(v);
    EXPECT_FALSE(report.samples.empty()) << model;
    for (const verify::ComparedSample& s : report.samples)
      for (const verify::ComparedTensor& t : s.outputs)
        EXPECT_TRUE(t.comparison.ok()) << model << " opset " << opset << " " << s.label << " " << t.name << ": " << t.comparison.problem;
  }
  std::filesystem::remove(exported);
}

TEST(Jax, Mlp) { check("mlp"); }
TEST(Jax, Convnet) { check("convnet"); }
TEST(Jax, Transformer) { check("transformer"); }
TEST(Jax, Places) { check("places"); }
TEST(Jax, Recurrent) { check("recurrent"); }

}  // namespace
}  // namespace t2o
