// Operators of 8-bit codes that LiteRT computes in arithmetic of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "ir/text.h"
#include "tflite/format.h"
#include "tflite/sums.h"
#include "tflite_maker.h"

namespace t2o::tflite {
namespace {

using schema::BuiltinOperator;

// What a runtime computes: floats, rounded to a step of the result.
std::int64_t in_floats(float x, float y, float result, std::int64_t a, std::int64_t b) {
  return std::llrint((static_cast<float>(a) * x + static_cast<float>(b) * y) / result);
}

// What LiteRT computes.
std::int64_t in_integers(float x, float y, float result, std::int64_t a, std::int64_t b) {
  const auto rx = static_cast<double>(x / result), ry = static_cast<double>(y / result);
  const int shift = 20 - std::ilogb(std::max(rx, ry));
  const std::int64_t fx = std::llrint(std::ldexp(rx, shift)), fy = std::llrint(std::ldexp(ry, shift));
  return (a * fx + b * fy + (std::int64_t{1} << (shift - 1))) >> shift;
}

int wrong_pairs(const Steps& x, const Steps& y, const Steps& result, float new_y, float new_result) {
  int wrong = 0;
  for (std::int64_t a = x.lowest; a <= x.highest; ++a)
    for (std::int64_t b = y.lowest; b <= y.highest; ++b) {
      const auto cut = [&](std::int64_t code) { return std::clamp(code, result.lowest, result.highest); };
      wrong += cut(in_floats(x.scale, new_y, new_result, a, b)) != cut(in_integers(x.scale, y.scale, result.scale, a, b)) ? 1 : 0;
    }
  return wrong;
}

struct Sum {
  Steps x, y, result;
};

Steps steps(float scale, std::int64_t zero_point) { return {scale, -128 - zero_point, 127 - zero_point}; }

TEST(TfliteCodes, ScalesOfSumsRoundAllPairsAsLiteRtDoes) {
  for (const Sum& s : {Sum{steps(0.03412248F, -128), steps(0.081856F, 20), steps(0.04998247F, -128)},
                       Sum{steps(0.035543516F, 3), steps(0.11936195F, -51), steps(0.1399971F, 5)},
                       Sum{steps(0.022921538F, 0), steps(0.016181288F, 0), steps(0.04487798F, 3)}}) {
    EXPECT_GT(wrong_pairs(s.x, s.y, s.result, s.y.scale, s.result.scale), 0) << "the scales of the file do";
    const auto scales = sum_scales(s.x, s.y, s.result);
    ASSERT_TRUE(scales);
    EXPECT_EQ(wrong_pairs(s.x, s.y, s.result, scales->y, scales->result), 0);
    EXPECT_NEAR(scales->y / s.y.scale, 1, 1e-5);
    EXPECT_NEAR(scales->result / s.result.scale, 1, 1e-5);
  }
}

// Ratios of 1/2 and 3/10: each tenth sum lies in the middle of two codes.
TEST(TfliteCodes, ScalesOfSumsWithManyHalves) {
  const Steps x = steps(0.05F, -3), y = steps(0.03F, 5), result = steps(0.1F, 17);
  EXPECT_GT(wrong_pairs(x, y, result, y.scale, result.scale), 4000);
  const auto scales = sum_scales(x, y, result);
  ASSERT_TRUE(scales);
  EXPECT_LT(wrong_pairs(x, y, result, scales->y, scales->result), 100);
}

TEST(TfliteCodes, ScalesOfSumsThatNeedNoOthersStay) {
  EXPECT_FALSE(sum_scales(steps(0.1F, 0), steps(0.1F, 0), steps(0.1F, 0)));              // no fractions
  EXPECT_FALSE(sum_scales(steps(0.1F, 0), steps(0.05F, 0), steps(0.1F, 0)));             // halves of both signs
  EXPECT_FALSE(sum_scales(steps(0.1F, 0), steps(0.1F, 0), steps(1e-5F, 0)));             // LiteRT adds in another way
  EXPECT_FALSE(sum_scales(steps(1e-9F, 0), steps(0.1F, 0), steps(0.1F, 0)));
}

std::string lowered(const MadeSubgraph& g) {
  Diagnostics diagnostics;
  tf2onnx::Options o;
  o.format = tf2onnx::Format::tflite;
  const auto owner = std::make_shared<const std::string>(Maker().model({g}));
  const Prepared p = open_bytes(o, std::as_bytes(std::span(*owner)), owner)->prepare(o, {}, diagnostics);
  return p.graph ? ir::to_text(*p.graph) : to_string(diagnostics.at(0));
}

MadeTensor codes(const std::string& name, float scale, std::int64_t zero_point) {
  return {name, {4}, schema::TensorType::INT8, {}, {scale}, {zero_point}};
}

std::string requantized(const MadeTensor& x, const MadeTensor& y) {
  return lowered({{x, y}, {0}, {1}, {{BuiltinOperator::QUANTIZE, {0}, {1}}}});
}

// The factor 92/256 and a power of 2.
TEST(TfliteCodes, OtherScales) {
  EXPECT_EQ(requantized(codes("x", 0.1F, -128), codes("y", 0.277F, -128)), R"(graph main tf {
  input %x: i8[4]
  const %x/scale: f32[] = 0.08984512
  const %x/zero_point: i8[] = -128
  const %y/scale: f32[] = 0.25
  const %y/zero_point: i8[] = -128
  %x/DequantizeLinear: f32[4] = t2o.DequantizeLinear(%x, %x/scale, %x/zero_point)
  %y: i8[4] = t2o.QuantizeLinear(%x/DequantizeLinear, %y/scale, %y/zero_point)
  output %y
}
)");
}

TEST(TfliteCodes, HalvesOfBothSignsGetAQuarterOfAStep) {
  const std::string text = requantized(codes("x", 0.1F, 0), codes("y", 0.2F, 0));
  EXPECT_NE(text.find("const %y/const: f32[] = 0.00012207031"), std::string::npos) << text;
  EXPECT_NE(text.find("AddV2("), std::string::npos) << text;
}

TEST(TfliteCodes, TheSameScaleAndZeroPointMoveCodes) {
  const std::string text = requantized(codes("x", 0.1F, 5), codes("y", 0.1001F, 5));
  EXPECT_EQ(text.find("Quantize"), std::string::npos) << text;
  EXPECT_NE(requantized(codes("x", 0.1F, 5), codes("y", 0.1F, 6)).find("QuantizeLinear"), std::string::npos);
}

// A tensor that another operator reads too keeps its numbers, and that operator gets them.
TEST(TfliteCodes, OnlyTermsThatNothingElseReadsGetOtherScales) {
  const MadeTensor x = codes("x", 0.035543516F, 3), y = codes("y", 0.11936195F, -51), z = codes("z", 0.1399971F, 5), t = codes("t", 1.0F / 128, 0);
  const auto text = [&](std::vector<MadeOperator> operators, std::vector<std::int32_t> outputs) {
    return lowered({{x, y, z, t}, {0, 1}, std::move(outputs), std::move(operators)});
  };
  const MadeOperator sum{BuiltinOperator::ADD, {0, 1}, {2}}, other_of_x{BuiltinOperator::TANH, {0}, {3}}, other_of_y{BuiltinOperator::TANH, {1}, {3}};
  const std::string both = text({sum}, {2}), only_y = text({sum, other_of_x}, {2, 3}), only_x = text({sum, other_of_y}, {2, 3});
  EXPECT_EQ(both.find("= 0.11936195"), std::string::npos) << both;
  EXPECT_NE(both.find("= 0.035543516"), std::string::npos) << both;
  EXPECT_NE(only_y.find("= 0.035543516"), std::string::npos) << only_y;
  EXPECT_EQ(only_y.find("= 0.11936195"), std::string::npos) << only_y;
  EXPECT_NE(only_x.find("= 0.11936195"), std::string::npos) << only_x;
  EXPECT_EQ(only_x.find("= 0.035543516"), std::string::npos) << only_x;
  const std::string none = lowered({{x, y, z, t, codes("u", 1.0F / 128, 0)}, {0, 1}, {2, 3, 4}, {sum, other_of_x, {BuiltinOperator::TANH, {1}, {4}}}});
  EXPECT_NE(none.find("= 0.035543516"), std::string::npos) << none;
  EXPECT_NE(none.find("= 0.11936195"), std::string::npos) << none;
  EXPECT_NE(none.find("= 0.1399971"), std::string::npos) << none;
}

}  // namespace
}  // namespace t2o::tflite
