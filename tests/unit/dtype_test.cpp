#include "ir/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace t2o {
namespace {

TEST(DType, NamesComeBack) {
  for (int i = 0; i <= static_cast<int>(DType::variant); ++i) {
    const auto t = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(name(t)), t) << name(t);
  }
  EXPECT_EQ(dtype_from_name("float32"), DType::f32);
  EXPECT_EQ(dtype_from_name("half"), DType::f16);
  EXPECT_EQ(dtype_from_name("qint8"), DType::qi8);
  EXPECT_EQ(dtype_from_name(""), std::nullopt);
  EXPECT_EQ(dtype_from_name("f33"), std::nullopt);
}

TEST(DType, SmallTypesArePacked) {
  EXPECT_EQ(byte_size(DType::i4, 3), 2U);
  EXPECT_EQ(byte_size(DType::u2, 5), 2U);
  EXPECT_EQ(byte_size(DType::boolean, 3), 3U);
  EXPECT_EQ(byte_size(DType::c128, 2), 32U);
  EXPECT_EQ(byte_size(DType::string, 7), 0U);
}

TEST(DType, Kinds) {
  EXPECT_TRUE(is_float(DType::bf16));
  EXPECT_TRUE(is_float(DType::f8e5m2));
  EXPECT_TRUE(is_int(DType::u2));
  EXPECT_FALSE(is_int(DType::boolean));
  EXPECT_FALSE(is_number(DType::string));
  EXPECT_TRUE(is_number(DType::c64));
}

TEST(DType, EveryHalfComesBack) {
  for (unsigned bits = 0; bits <= 0xffff; ++bits) {
    const auto h = static_cast<std::uint16_t>(bits);
    const float f = half_to_float(h);
    if (std::isnan(f)) {
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(f))));
    } else {
      ASSERT_EQ(float_to_half(f), h);
    }
    if (const float b = bfloat_to_float(h); !std::isnan(b)) {
      ASSERT_EQ(float_to_bfloat(b), h);
    }
  }
}

TEST(DType, RoundsToNearestEven) {
  EXPECT_EQ(float_to_half(65519.0F), 0x7bff);  // the largest half is 65504, the next would be 65536
  EXPECT_EQ(float_to_half(65520.0F), 0x7c00);
  EXPECT_EQ(float_to_half(0x1p-25F), 0x0000);  // half of the smallest: a tie
  EXPECT_EQ(float_to_half(0x1.8p-25F), 0x0001);
  EXPECT_EQ(float_to_half(2049.0F), float_to_half(2048.0F));
  EXPECT_EQ(float_to_half(2051.0F), float_to_half(2052.0F));
  EXPECT_EQ(float_to_half(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_EQ(float_to_bfloat(std::bit_cast<float>(0x3f808000U)), 0x3f80);
  EXPECT_EQ(float_to_bfloat(std::bit_cast<float>(0x3f818000U)), 0x3f82);
  EXPECT_EQ(float_to_bfloat(std::numeric_limits<float>::max()), 0x7f80);
}

// The widening type: every halfway point between two halves goes to the even one, its neighbours to the nearer.
TEST(DType, HalfwayPointsOfHalf) {
  for (std::uint16_t h = 0; h < 0x7bff; ++h) {
    const float low = half_to_float(h), high = half_to_float(static_cast<std::uint16_t>(h + 1));
    const float middle = low + (high - low) / 2;
    ASSERT_EQ(float_to_half(middle), h % 2 == 0 ? h : h + 1);
    ASSERT_EQ(float_to_half(std::nextafter(middle, 0.0F)), h);
    ASSERT_EQ(float_to_half(std::nextafter(middle, 1e9F)), h + 1);
  }
}

}  // namespace
}  // namespace t2o
