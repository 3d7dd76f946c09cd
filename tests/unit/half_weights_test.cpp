#include "onnx/half_weights.h"

#include <gtest/gtest.h>

#include "ir/text.h"

namespace t2o::onnx {
namespace {

GraphPtr graph_of(const std::string& constants, const std::string& body) {
  return ir::parse_graph("graph main onnx {\n  input %x: f32[1,256]\n" + constants + body + "  output %y\n}\n");
}
const std::string kSum = "  %y: f32[2,256] = Add(%x, %w)\n";

std::string stored(const std::string& constants) {
  const GraphPtr g = graph_of(constants, kSum);
  store_halves(*g);
  return ir::to_text(*g, {.elide_above = 4});
}

TEST(HalfWeights, FloatsThatAreHalvesAreStoredAsSuch) {
  const std::string text = stored("  const %w: f32[2,256] = splat 0.5\n");
  EXPECT_NE(text.find("const %w/half: f16[2,256]"), std::string::npos) << text;
  EXPECT_NE(text.find("%w: f32[2,256] = Cast(%w/half) {to=f32}"), std::string::npos) << text;
}

TEST(HalfWeights, OtherFloatsStay) {
  for (const char* number : {"0.1", "70000", "1e-9"}) {
    const std::string text = stored("  const %w: f32[2,256] = splat " + std::string(number) + "\n");
    EXPECT_EQ(text.find("Cast"), std::string::npos) << text;
  }
  EXPECT_EQ(stored("  const %w: f32[2,1] = splat 0.5\n").find("Cast"), std::string::npos) << "too few";
}

TEST(HalfWeights, OnlyOfSourcesThatHaveSome) {
  const auto source = [](const std::string& type) {
    return ir::parse_graph("graph main tf {\n  const %h: " + type + "[300] = splat 0.5\n  %y: f32[300] = Cast(%h) {DstT=f32}\n  output %y\n}\n");
  };
  EXPECT_TRUE(has_half_weights(*source("f16")));
  EXPECT_FALSE(has_half_weights(*source("bf16")));
}

}  // namespace
}  // namespace t2o::onnx
