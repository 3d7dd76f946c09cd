// LiteRT's 16-bit sigmoid and tanh.
#include "tflite/fixed_point.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace t2o::tflite {
namespace {

constexpr double kOne = 32768;

TEST(FixedPoint, IsNearTheFunctions) {
  constexpr double kMost = 12.1;  // steps
  for (std::int32_t x = -32768; x <= 0; ++x) {
    const double sigmoid = kOne / (1 + std::exp(-x / 4096.0));
    ASSERT_LT(std::abs(fixed_sigmoid(x, 3) - sigmoid), kMost) << x;
    for (int bits = 0; bits <= 6; ++bits) {
      const double tanh = kOne * std::tanh(std::ldexp(x, bits - 15));
      ASSERT_LT(std::abs(fixed_tanh(x, bits) - tanh), kMost) << x << " with " << bits << " bits";
    }
  }
}

// As LiteRT 2.3 computes them.
TEST(FixedPoint, HasLiteRtsErrors) {
  EXPECT_EQ(fixed_sigmoid(-32768, 3), 11);
  EXPECT_EQ(fixed_sigmoid(0, 3), 16384);
  EXPECT_EQ(fixed_tanh(-32768, 0), -24964);
  EXPECT_EQ(fixed_tanh(-32768, 1), -31596);
  EXPECT_EQ(fixed_tanh(-32768, 2), -32744);
  EXPECT_EQ(fixed_tanh(-32768, 6), -32767);
  EXPECT_EQ(fixed_tanh(0, 3), 0);
}

// A step of x is a power of two, and the same x has the same tanh.
TEST(FixedPoint, DependsOnTheNumberAlone) {
  for (int bits = 1; bits <= 6; ++bits)
    for (std::int32_t x = -16384; x <= 0; ++x) ASSERT_EQ(fixed_tanh(2 * x, bits - 1), fixed_tanh(x, bits)) << x;
}

TEST(FixedPoint, Tables) {
  const std::vector<std::int16_t> sigmoid = sigmoid_table();
  ASSERT_EQ(sigmoid.size(), 32768U);
  EXPECT_EQ(sigmoid[0], 1);
  EXPECT_EQ(sigmoid[5000], 32767 - 2 * fixed_sigmoid(-5000, 3));
  for (int bits = 0; bits <= 6; ++bits) {
    const std::vector<std::int16_t> tanh = tanh_table(bits);
    EXPECT_EQ(tanh[100], -fixed_tanh(-100, bits));
    EXPECT_EQ(tanh.back(), -fixed_tanh(-32768, bits));
  }
  EXPECT_EQ(tanh_table(3).size(), 18731U);
}

TEST(FixedPoint, SecondRounding) {
  EXPECT_EQ(second_rounding(0.7), 0);
  EXPECT_EQ(second_rounding(3), 0);
  EXPECT_EQ(second_rounding(0.3), 0.25);
  EXPECT_EQ(second_rounding(0.25), 0.25);
  EXPECT_EQ(second_rounding(0.0625), 0.0625);
}

}  // namespace
}  // namespace t2o::tflite
