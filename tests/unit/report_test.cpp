#include "report.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace t2o {
namespace {

using Kind = TransposeReport::Kind;

GraphReport report(const std::string& body) {
  return report_on(*ir::parse_graph("graph t onnx {\n" + body + "}"), onnx::make_target(21));
}

TEST(Report, Counts) {
  const GraphReport r = report(R"(
    input %x: f32[2,3]
    const %w: f32[3,4] = splat 1
    const %unread: f32[100] = splat 1
    const %n: i64[] = 3
    const %go: bool[] = true
    %a: f32[2,4] = MatMul(%x, %w)
    %b: f32[2,4] = Relu(%a)
    %y: f32[2,4] = Loop(%n, %go, %b) {body=graph body {
      input %i: i64[]
      input %c: bool[]
      input %s: f32[2,4]
      %go_on: bool[] = Identity(%c)
      %r: f32[2,4] = Relu(%s)
      output %go_on, %r
    }}
    output %y
  )");
  EXPECT_EQ(r.nodes, 5U);
  EXPECT_EQ(r.loops, 1U);
  EXPECT_EQ(r.weight_bytes, 48U + 8U + 1U);
  const std::vector<std::pair<std::string, std::size_t>> operators{
      {"Relu", 2}, {"Identity", 1}, {"Loop", 1}, {"MatMul", 1}};
  EXPECT_EQ(r.operators, operators);
  EXPECT_TRUE(r.transposes.empty());
}

TEST(Report, TheInterface) {
  const GraphReport r = report(R"(
    input %x: f32[1,8,8,3]
    const %w: f32[4,3,3,3] = splat 1
    %half: f32[1,8,8,3] = Neg(%x)
    %first: f32[1,3,8,8] = Transpose(%half) {perm=[0, 3, 1, 2]} @"conv" "Conv2D"
    %c: f32[1,4,6,6] = Conv(%first, %w)
    %y: f32[1,6,6,4] = Transpose(%c) {perm=[0, 2, 3, 1]} @"conv" "Conv2D"
    output %y
  )");
  ASSERT_EQ(r.transposes.size(), 2U);
  EXPECT_EQ(r.transposes[0].kind, Kind::interface);
  EXPECT_EQ(r.transposes[0].from, "input 'x'");
  EXPECT_EQ(r.transposes[0].to, "Conv 'c'");
  EXPECT_EQ(r.transposes[0].why, "the model's input stays as it is, Conv works channels first");
  EXPECT_EQ(r.transposes[0].source.node, "conv");
  EXPECT_EQ(r.transposes[1].kind, Kind::interface);
  EXPECT_EQ(r.transposes[1].to, "output 'y'");
  EXPECT_EQ(name(r.transposes[1].kind), "interface");
}

TEST(Report, OperatorsThatDisagree) {
  const GraphReport r = report(R"(
    input %x: f32[1,3,8,8]
    const %w: f32[4,3,3,3] = splat 1
    const %flat: i64[2] = [1, -1]
    %c: f32[1,4,6,6] = Conv(%x, %w)
    %r: f32[1,4,6,6] = Relu(%c)
    %last: f32[1,6,6,4] = Transpose(%r) {perm=[0, 2, 3, 1]}
    %y: f32[1,144] = Reshape(%last, %flat)
    output %y
  )");
  ASSERT_EQ(r.transposes.size(), 1U);
  EXPECT_EQ(r.transposes[0].kind, Kind::operators);
  EXPECT_EQ(r.transposes[0].from, "Conv 'c'");
  EXPECT_EQ(r.transposes[0].why, "Conv works channels first, Reshape depends on the order of the elements");
}

TEST(Report, TheModelsOwn) {
  const GraphReport r = report(R"(
    input %x: f32[2,3,4,5]
    input %any: f32[*]
    %y: f32[2,4,3,5] = Transpose(%x) {perm=[0, 2, 1, 3]} @"heads" "Transpose"
    %z: f32[*] = Transpose(%any) @"t" "Transpose"
    output %y, %z
  )");
  ASSERT_EQ(r.transposes.size(), 2U);
  for (const TransposeReport& t : r.transposes) EXPECT_EQ(t.kind, Kind::model);
  EXPECT_EQ(r.transposes[0].why, "the model's own");
  EXPECT_TRUE(r.transposes[1].perm.empty());
}

}  // namespace
}  // namespace t2o
