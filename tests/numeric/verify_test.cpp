#include "verify/verify.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "engines/tensorflow.h"
#include "pipeline.h"

// What verification says of models that random numbers alone do not do justice.
namespace t2o {
namespace {

using engines::TfGraph;

verify::VerifyReport verified(const TfGraph& graph) {
  const std::string model = ::testing::TempDir() + "verified.pb", exported = ::testing::TempDir() + "verified.onnx";
  std::ofstream(model, std::ios::binary) << graph.graph_def();
  Options options;
  options.model = model;
  const Conversion c = convert(options);
  EXPECT_TRUE(c.graph) << (c.diagnostics.empty() ? "" : to_string(c.diagnostics[0]));
  EXPECT_FALSE(has_errors(write_model(c, options, exported)));
  verify::VerifyOptions v;
  v.source = options;
  v.onnx = exported;
  const verify::VerifyReport report = verify::verify(v);
  std::filesystem::remove(model);
  std::filesystem::remove(exported);
  return report;
}

TEST(Verify, RandomOutputsAreComparedInTypeAndShape) {
  TfGraph g;
  const std::string x = g.placeholder("x", DType::f32, Shape({2, 3}));
  const std::string dims = g.constant("dims", Tensor::of<std::int32_t>({2}, {2, 3}));
  const std::string r = g.add({"RandomUniform", "r", {dims}, {{"dtype", DType::f32}}});
  g.add({"AddV2", "noisy", {x, r}});
  g.add({"Neg", "exact", {x}});
  const verify::VerifyReport report = verified(g);
  ASSERT_EQ(report.samples.size(), 1U);
  EXPECT_TRUE(report.ok());
  std::map<std::string, bool> is_random;
  for (const verify::ComparedTensor& t : report.samples[0].outputs) is_random[t.name] = t.is_random;
  EXPECT_EQ(is_random, (std::map<std::string, bool>{{"noisy:0", true}, {"exact:0", false}}));
}

TEST(Verify, IndicesOfASmallTable) {
  TfGraph g;
  const std::string i = g.placeholder("i", DType::i32, Shape({5}));
  const std::string table = g.constant("table", Tensor::of<float>({2, 1}, {3, 4}));
  const std::string axis = g.constant("axis", Tensor::scalar<std::int32_t>(0));
  g.add({"GatherV2", "y", {table, i, axis}});
  const verify::VerifyReport report = verified(g);
  ASSERT_EQ(report.samples.size(), 1U);
  EXPECT_TRUE(report.ok());
  EXPECT_EQ(report.samples[0].label, "seed 0, integers 0 .. 1");
}

}  // namespace
}  // namespace t2o
