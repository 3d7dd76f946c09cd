#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "engines/tensorflow.h"
#include "harness.h"
#include "onnx/writer.h"
#include "verify/verify.h"

// Verification finds what a plain run on small numbers does not, and says what it does not prove.
namespace t2o {
namespace {

using engines::TfGraph;

class Evidence : public testing::Test {
  void SetUp() override { numeric::engines_missing(); }
};

std::string saved(const TfGraph& g, const std::string& name) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << g.graph_def();
  return path;
}

// The source against the export of another graph: what a wrong conversion would be.
verify::VerifyReport against(const TfGraph& source, const TfGraph& exported, bool bisect = false) {
  Options options;
  options.model = saved(exported, "evidence_exported.pb");
  verify::VerifyOptions v;
  v.bisect = bisect;
  v.onnx = ::testing::TempDir() + "evidence.onnx";
  const Conversion c = convert(options);
  EXPECT_TRUE(c.graph()) << (c.diagnostics.empty() ? "" : to_string(c.diagnostics[0]));
  EXPECT_FALSE(has_errors(write_model(c, options, v.onnx)));
  v.source.model = saved(source, "evidence_source.pb");
  const verify::VerifyReport report = verify::verify(v);
  for (const std::string& path : {options.model, v.source.model, v.onnx}) std::filesystem::remove(path);
  return report;
}

// y = op(x, number)
TfGraph graph_of(DType t, const Shape& shape, const std::string& op, const TensorPtr& number) {
  TfGraph g;
  const std::string x = g.placeholder("x", t, shape);
  g.add({op, "y", {x, g.constant("number", number)}});
  return g;
}

TfGraph times(float factor) { return graph_of(DType::f32, Shape({2, 3}), "Mul", Tensor::scalar(factor)); }

TEST_F(Evidence, OutputsThatProveNothing) {
  const TfGraph zero = times(0), good = times(2);
  const TfGraph nan = graph_of(DType::f32, Shape({2, 3}), "Mul", Tensor::scalar(std::numeric_limits<float>::quiet_NaN()));
  for (const auto& [graph, text] : {std::pair(zero, "constant"), std::pair(nan, "NaN everywhere")}) {
    const verify::VerifyReport report = against(graph, graph);
    EXPECT_TRUE(report.ok());
    ASSERT_EQ(report.warnings.size(), 1U) << text;
    EXPECT_NE(report.warnings[0].text.find(text), std::string::npos) << report.warnings[0].text;
  }
  EXPECT_TRUE(against(good, good).warnings.empty());
}

TEST_F(Evidence, AnEmptyOutputProvesNothing) {
  TfGraph g;
  const std::string x = g.placeholder("x", DType::f32, Shape({2, 7}));
  const std::string begin = g.constant("begin", Tensor::of<std::int32_t>({2}, {0, 7})),
                    size = g.constant("size", Tensor::of<std::int32_t>({2}, {-1, -1}));
  g.add({"Slice", "y", {x, begin, size}});
  const verify::VerifyReport report = against(g, g);
  EXPECT_TRUE(report.ok());
  ASSERT_EQ(report.warnings.size(), 1U);
  EXPECT_NE(report.warnings[0].text.find("nothing was compared"), std::string::npos) << report.warnings[0].text;
}

// Random numbers differ each time, and nobody is to blame for that.
TEST_F(Evidence, BisectingPassesOverRandomNumbers) {
  const auto graph = [](float weight) {
    TfGraph g;
    const std::string x = g.placeholder("x", DType::f32, Shape({2, 3})), zero = g.constant("zero", Tensor::scalar<float>(0));
    const std::string shape = g.constant("shape", Tensor::of<std::int32_t>({2}, {2, 3}));
    const std::string random = g.add({"RandomUniform", "random", {shape}, {{"dtype", DType::f32}}});
    const std::string none = g.add({"Minimum", "none", {random, zero}});
    const std::string scaled = g.add({"Mul", "scaled", {x, g.constant("w", Tensor::scalar<float>(weight))}});
    g.add({"AddV2", "y", {scaled, none}});
    return g;
  };
  const verify::VerifyReport report = against(graph(2), graph(3), true);
  ASSERT_TRUE(report.divergence) << report.bisect_problem;
  EXPECT_EQ(report.divergence->source_node, "scaled");
}

TEST_F(Evidence, SmallNumbersAreComparedByTheirOwnScale) {
  EXPECT_TRUE(against(times(1e-6F), times(1e-6F)).ok());
  EXPECT_FALSE(against(times(1e-6F), times(1.48e-6F)).ok());
  EXPECT_FALSE(against(times(1e-12F), times(1.1e-12F)).ok());
}

// (x + 4) - 4 - x is as wrong as x + 4 was rounded, in either order: by more than numbers near 1 are.
TEST_F(Evidence, WhatCancelsIsAsWrongAsItWasRounded) {
  const auto left = [](const char* first, const char* second) {
    TfGraph g;
    const std::string x = g.placeholder("x", DType::f32, Shape({2, 3})), four = g.constant("four", Tensor::scalar(4.0F));
    g.add({"Sub", "y", {g.add({second, "b", {g.add({first, "a", {x, four}}), four}}), x}});
    return g;
  };
  const verify::VerifyReport report = against(left("AddV2", "Sub"), left("Sub", "AddV2"));
  EXPECT_TRUE(report.ok()) << report.samples[0].outputs[0].comparison.problem;
  EXPECT_TRUE(report.samples[0].outputs[0].within_rounding);
}

TEST_F(Evidence, RowsOfATableBeyondTheFirst) {
  const auto graph = [](float last) {
    Floats rows(2 * 60, 1);
    for (std::size_t i = 40; i < rows.size(); ++i) rows[i] = last;
    TfGraph g;
    const std::string ids = g.placeholder("ids", DType::i32, Shape({8, 5}));
    g.add({"GatherV2", "y", {g.constant("table", Tensor::of<float>({60, 2}, rows)), ids, g.constant("axis", Tensor::scalar<std::int32_t>(0))}});
    return g;
  };
  EXPECT_TRUE(against(graph(2), graph(2)).ok());
  EXPECT_FALSE(against(graph(2), graph(3)).ok());
}

TEST_F(Evidence, AnotherSizeOfEachOpenDim) {
  TfGraph fixed, open;
  fixed.add({"AddV2", "y", {fixed.placeholder("x", DType::f32, Shape({-1, 3})), fixed.constant("zeros", Tensor::of<float>({2, 3}, Floats(6)))}});
  open.add({"Identity", "y", {open.placeholder("x", DType::f32, Shape({-1, 3}))}});
  const verify::VerifyReport report = against(open, fixed);
  EXPECT_FALSE(report.ok());
  ASSERT_EQ(report.samples.size(), 2U);
  EXPECT_TRUE(report.samples[0].outputs[0].comparison.ok());
  EXPECT_NE(report.samples[1].problem, "");
  EXPECT_TRUE(against(open, open).ok());
  EXPECT_EQ(against(fixed, fixed).samples.size(), 1U) << "TensorFlow takes no other size here";
  EXPECT_EQ(against(fixed, fixed).notes.size(), 1U);
}

// x[5:] is empty with the usual batches.
TEST_F(Evidence, LargerSizesForAnOutputThatIsEmpty) {
  const auto rows_from = [](std::int32_t first, float factor) {
    TfGraph g;
    const auto one = [&](const char* name, std::int32_t v) { return g.constant(name, Tensor::of<std::int32_t>({1}, {v})); };
    const std::string x = g.placeholder("x", DType::f32, Shape({-1, 3}));
    const std::string product = g.add({"Mul", "product", {x, g.constant("factor", Tensor::scalar(factor))}});
    g.add({"StridedSlice", "y", {product, one("begin", first), one("end", 0), one("step", 1)}, {{"end_mask", std::int64_t{1}}}});
    return g;
  };
  const verify::VerifyReport good = against(rows_from(5, 2), rows_from(5, 2));
  EXPECT_TRUE(good.ok());
  EXPECT_TRUE(good.warnings.empty()) << good.warnings[0].text;
  EXPECT_FALSE(against(rows_from(5, 2), rows_from(5, 3)).ok());
  EXPECT_FALSE(against(rows_from(500, 2), rows_from(500, 3)).ok());
  EXPECT_EQ(against(rows_from(5000, 2), rows_from(5000, 2)).warnings.size(), 1U);
}

TEST_F(Evidence, ASizeThatTheExportAloneStates) {
  const auto doubled = [](const Shape& x) { return graph_of(DType::f32, x, "Mul", Tensor::scalar(2.0F)); };
  for (const std::int64_t size : {1, 2, 3, 7}) {
    const verify::VerifyReport report = against(doubled(Shape({-1, 3})), doubled(Shape({size, 3})));
    EXPECT_TRUE(report.ok());
    ASSERT_EQ(report.notes.size(), 1U) << size;
    EXPECT_NE(report.notes[0].find("the source model also runs with x"), std::string::npos) << report.notes[0];
    EXPECT_NE(report.notes[0].find("the export takes [" + std::to_string(size) + ", 3] alone"), std::string::npos) << report.notes[0];
  }
  EXPECT_EQ(against(doubled(Shape({-1, -1})), doubled(Shape({-1, 3}))).notes.size(), 1U);
  EXPECT_TRUE(against(doubled(Shape({2, 3})), doubled(Shape({2, 3}))).notes.empty());
  EXPECT_TRUE(against(doubled(Shape({-1, 3})), doubled(Shape({-1, 3}))).notes.empty());
}

TEST_F(Evidence, IntegersAtTheirEdges) {
  const auto divided = [](const char* op) { return graph_of(DType::i64, Shape({4, 4}), op, Tensor::scalar<std::int64_t>(2)); };
  EXPECT_TRUE(against(divided("FloorDiv"), divided("FloorDiv")).ok());
  EXPECT_FALSE(against(divided("FloorDiv"), divided("TruncateDiv")).ok()) << "of -1";
  TfGraph narrow;
  const std::string x = narrow.placeholder("x", DType::i64, Shape({4, 4})), two = narrow.constant("two", Tensor::scalar<std::int32_t>(2));
  const std::string small = narrow.add({"Cast", "small", {x}, {{"DstT", DType::i32}}});
  narrow.add({"Cast", "y", {narrow.add({"Maximum", "more", {small, two}})}, {{"DstT", DType::i64}}});
  EXPECT_FALSE(against(divided("Maximum"), narrow).ok()) << "of 2^31";
}

}  // namespace
}  // namespace t2o
