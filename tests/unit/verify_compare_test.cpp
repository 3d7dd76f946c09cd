#include "verify/compare.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "verify/codes.h"
#include "verify/random.h"

namespace t2o::verify {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();

Comparison compare_floats(const std::vector<float>& expected, const std::vector<float>& got,
                          Tolerance t = {}) {
  const auto n = static_cast<std::int64_t>(expected.size());
  return compare(*Tensor::of<float>({n}, expected), *Tensor::of<float>({n}, got), t);
}

TEST(VerifyCompare, ToleranceIsAbsolutePlusRelative) {
  EXPECT_TRUE(compare_floats({100}, {100.9F}, {.relative = 0.01, .absolute = 0}).ok());
  EXPECT_FALSE(compare_floats({100}, {101.1F}, {.relative = 0.01, .absolute = 0}).ok());
  EXPECT_TRUE(compare_floats({100}, {101.1F}, {.relative = 0.01, .absolute = 0.2}).ok());
  EXPECT_TRUE(compare_floats({0}, {0.5F}, {.relative = 0, .absolute = 0.5}).ok());
}

// Two softmaxes over a thousand classes are everywhere as near as 0.001.
TEST(VerifyCompare, SmallNumbersAreComparedByTheirScale) {
  const Tolerance t{.by_scale = true};
  EXPECT_TRUE(compare_floats({0.001F, 0.0012F}, {0.0012F, 0.001F}).ok());
  EXPECT_FALSE(compare_floats({0.001F, 0.0012F}, {0.0012F, 0.001F}, t).ok());
  EXPECT_TRUE(compare_floats({0.001F, 0.0012F}, {0.001F, 0.0012005F}, t).ok());
  EXPECT_FALSE(compare_floats({1e-6F, 2e-6F}, {1.48e-6F, 2e-6F}, t).ok());
  EXPECT_FALSE(compare_floats({1e-9F, 0}, {3e-7F, -3e-7F}, t).ok());
  EXPECT_TRUE(compare_floats({1e-9F, 0}, {3e-7F, -3e-7F}, {.by_scale = true, .rounding = 3.1e-7}).ok()) << "what has cancelled";
  EXPECT_TRUE(compare_floats({0, 0}, {1e-9F, 0}, t).ok()) << "nothing has no scale";
  EXPECT_TRUE(compare_floats({8.7446e-11F}, {0}, t).ok()) << "sigmoid(-23.16) in ONNX Runtime";
  EXPECT_TRUE(compare_floats({1.1253516e-7F}, {0x1p-24F}, t).ok()) << "sigmoid(-16)";
  EXPECT_FALSE(compare_floats({1e-12F}, {1.1e-12F}, t).ok());
  EXPECT_FALSE(compare_floats({2e-7F}, {0x1p-24F}, t).ok()) << "more than half a step";
  EXPECT_TRUE(compare_floats({5000, 0}, {5000, 0.0009F}, t).ok());
  EXPECT_FALSE(compare_floats({5000, 0}, {5000, 0.002F}, t).ok());
  EXPECT_TRUE(compare_floats({kInf, 0}, {kInf, 0}, t).ok());
}

TEST(VerifyCompare, NanAndInfinities) {
  EXPECT_TRUE(compare_floats({kNan, kInf, -kInf}, {kNan, kInf, -kInf}).ok());
  EXPECT_FALSE(compare_floats({kNan}, {0}).ok());
  EXPECT_FALSE(compare_floats({1}, {kNan}).ok());
  EXPECT_FALSE(compare_floats({kInf}, {-kInf}).ok());
  EXPECT_FALSE(compare_floats({kInf}, {std::numeric_limits<float>::max()}).ok());
}

TEST(VerifyCompare, TellsWhereAndHowMuch) {
  const Comparison c =
      compare(*Tensor::of<float>({2, 2}, {1, 2, 3, 4}), *Tensor::of<float>({2, 2}, {1, 2, 4, 8}));
  EXPECT_EQ(c.mismatches, 2);
  EXPECT_EQ(c.first, 2);
  EXPECT_EQ(c.worst, 3);
  EXPECT_DOUBLE_EQ(c.max_error, 4);
  EXPECT_DOUBLE_EQ(c.mean_error, 1.25);
  EXPECT_DOUBLE_EQ(c.max_relative, 1);
  EXPECT_EQ(c.problem, "2 of 4 elements differ, first at [1, 0]: 4, expected 3");
}

TEST(VerifyCompare, DtypeAndShapeCount) {
  const TensorPtr f = Tensor::of<float>({2}, {1, 2});
  EXPECT_EQ(compare(*f, *Tensor::of<double>({2}, {1, 2})).problem, "dtype is f64, expected f32");
  EXPECT_EQ(compare(*f, *f->with_dims({2, 1})).problem, "shape is [2, 1], expected [2]");
}

TEST(VerifyCompare, IntegersDoNotOverflow) {
  constexpr std::int64_t low = std::numeric_limits<std::int64_t>::min(),
                         high = std::numeric_limits<std::int64_t>::max();
  const Comparison c =
      compare(*Tensor::scalar<std::int64_t>(low), *Tensor::scalar<std::int64_t>(high), {0, 0});
  EXPECT_DOUBLE_EQ(c.max_error, 0x1p64);
  EXPECT_FALSE(
      compare(*Tensor::scalar<std::int64_t>(high), *Tensor::scalar<std::int64_t>(high - 1), {0, 0}).ok());
  EXPECT_TRUE(
      compare(*Tensor::scalar<std::uint64_t>(~0ULL), *Tensor::scalar<std::uint64_t>(~0ULL), {0, 0}).ok());
}

TEST(VerifyCompare, StringsBoolsAndEmptyTensors) {
  const Tensor a({2}, {"x", "y"}), b({2}, {"x", "z"});
  EXPECT_TRUE(compare(a, a).ok());
  EXPECT_EQ(compare(a, b).first, 1);
  EXPECT_FALSE(compare(*Tensor::scalar(true), *Tensor::scalar(false)).ok());
  EXPECT_TRUE(compare_floats({}, {}).ok());
}

TEST(VerifyCompare, ComplexAgreesWithPairs) {
  const TensorPtr pairs = Tensor::of<float>({1, 2}, {3, -4});
  const Tensor complex(DType::c64, {1}, pairs->storage());
  EXPECT_TRUE(compare(complex, *pairs).ok());
  EXPECT_TRUE(compare(complex, complex).ok());
}

TEST(VerifyRandom, SameSeedSameNumbers) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i4, DType::u8, DType::i64,
                            DType::boolean, DType::string, DType::c64}) {
    Random a(3), b(3);
    EXPECT_TRUE(same_content(*random_tensor(dtype, {2, 5}, a), *random_tensor(dtype, {2, 5}, b)))
        << name(dtype);
  }
  EXPECT_EQ(Random(0).bits(), 0xe220a8397b1dcdafU);  // SplitMix64's own first number
}

TEST(VerifyRandom, KeepsToItsRange) {
  Random random(1);
  for (const double v : random_tensor(DType::f32, {1000}, random, Range{-1, 2})->to_floats()) {
    EXPECT_GE(v, -1);
    EXPECT_LE(v, 2);
  }
  const auto ints = random_tensor(DType::i32, {1000}, random, Range{3, 5})->to_ints();
  EXPECT_EQ(*std::min_element(ints.begin(), ints.end()), 3);
  EXPECT_EQ(*std::max_element(ints.begin(), ints.end()), 5);
}

TEST(VerifyRandom, ConvertedValuesSaturate) {
  EXPECT_EQ(tensor_of(DType::i8, {3}, {-1000, 2.5, 1000})->to_ints(), (Ints{-128, 2, 127}));
  EXPECT_EQ(tensor_of(DType::i4, {3}, {-100, 3, 100})->to_ints(), (Ints{-8, 3, 7}));
}

// Codes 0, 1, 2 ... and others that are off by so much.
Comparison compare_off_by(const std::vector<int>& off, const CodeCount* own = nullptr) {
  std::vector<std::int8_t> expected, got;
  for (std::size_t i = 0; i < off.size(); ++i) {
    expected.push_back(static_cast<std::int8_t>(i % 50));
    got.push_back(static_cast<std::int8_t>(expected.back() + off[i]));
  }
  const auto n = static_cast<std::int64_t>(off.size());
  return compare_codes(*Tensor::of<std::int8_t>({n}, expected), *Tensor::of<std::int8_t>({n}, got), 1, code_tolerance(8), own);
}

std::vector<int> thousand(int others, int by) {
  std::vector<int> off(1000);
  for (int i = 0; i < others; ++i) off[static_cast<std::size_t>(10 * i + 3)] = i % 2 == 0 ? by : -by;
  return off;
}

TEST(VerifyCodes, OneCodeIsTheLastDigit) {
  const Comparison c = compare_off_by(thousand(100, 1));
  EXPECT_TRUE(c.ok()) << c.problem;
  EXPECT_EQ(c.codes->same, 900);
  EXPECT_EQ(c.codes->one, 100);
  EXPECT_EQ(c.codes->largest, 1);
  EXPECT_EQ(c.mismatches, 0);
}

TEST(VerifyCodes, OneInAThousandMayBeOffByFour) {
  EXPECT_TRUE(compare_off_by(thousand(1, 4)).ok());
  EXPECT_FALSE(compare_off_by(thousand(1, 5)).ok());
  const Comparison c = compare_off_by(thousand(2, 2));
  EXPECT_FALSE(c.ok());
  EXPECT_EQ(c.mismatches, 2);
  EXPECT_NE(c.problem.find("2 of 1000 codes are off by more than 1, the worst by 2, at [3]: 5, expected 3"), std::string::npos) << c.problem;
}

TEST(VerifyCodes, FewElementsMustAllBeNear) {
  EXPECT_TRUE(compare_off_by({0, 1, -1}).ok());
  EXPECT_FALSE(compare_off_by({0, 0, 2}).ok());
}

// Where the reference's own kernels are no nearer to each other, more is not asked for.
TEST(VerifyCodes, AsNearAsTheReferenceIsToItself) {
  const Comparison own = compare_off_by(thousand(5, 19));
  EXPECT_FALSE(own.ok());
  EXPECT_TRUE(compare_off_by(thousand(5, 19), &*own.codes).ok());
  EXPECT_TRUE(compare_off_by(thousand(5, 19), &*own.codes).codes->as_near_as_own);
  EXPECT_FALSE(compare_off_by(thousand(6, 19), &*own.codes).ok()) << "more elements";
  EXPECT_FALSE(compare_off_by(thousand(5, 20), &*own.codes).ok()) << "farther off";
  EXPECT_FALSE(compare_off_by(thousand(1, 4), &*own.codes).codes->as_near_as_own) << "it agrees by itself";
}

TEST(VerifyCodes, NumbersAreCountedInSteps) {
  const auto compared = [](std::vector<float> expected, std::vector<float> got) {
    const auto n = static_cast<std::int64_t>(expected.size());
    return compare_codes(*Tensor::of<float>({n}, expected), *Tensor::of<float>({n}, got), 0.25, code_tolerance(8));
  };
  EXPECT_TRUE(compared({0, 1, -1}, {0.25F, 1, -1.25F}).ok());
  EXPECT_FALSE(compared({0, 1}, {0.5F, 1}).ok());
  EXPECT_TRUE(compared({kNan, kInf}, {kNan, kInf}).ok());
  EXPECT_FALSE(compared({kNan}, {1}).ok());
  EXPECT_FALSE(compared({1}, {kInf}).ok());
}

TEST(VerifyCodes, SixteenBitsAreFiner) {
  const auto off = [](std::int16_t by) {
    return compare_codes(*Tensor::of<std::int16_t>({1}, {100}), *Tensor::of<std::int16_t>({1}, {static_cast<std::int16_t>(100 + by)}), 1,
                         code_tolerance(16));
  };
  EXPECT_TRUE(off(16).ok());
  EXPECT_FALSE(off(17).ok());
}

TEST(VerifyCodes, TypeAndShapeMustAgree) {
  EXPECT_FALSE(compare_codes(*Tensor::of<std::int8_t>({1}, {1}), *Tensor::of<std::uint8_t>({1}, {1}), 1, code_tolerance(8)).ok());
  EXPECT_FALSE(compare_codes(*Tensor::of<std::int8_t>({1}, {1}), *Tensor::of<std::int8_t>({1, 1}, {1}), 1, code_tolerance(8)).ok());
}

TEST(VerifyCompare, WhatIsAllowedBesidesTheTolerance) {
  EXPECT_TRUE(compare_floats({100}, {100.6F}, {.relative = 0, .absolute = 0.1, .spread = 0.5}).ok());
  EXPECT_FALSE(compare_floats({100}, {100.7F}, {.relative = 0, .absolute = 0.1, .spread = 0.5}).ok());
  EXPECT_TRUE(compare_floats({0.5F}, {0.51F}, {.relative = 0, .absolute = 0.01, .by_scale = true, .spread = 0.006}).ok());
  EXPECT_FALSE(compare_floats({0.5F}, {0.512F}, {.relative = 0, .absolute = 0.01, .by_scale = true, .spread = 0.006}).ok());
}

}  // namespace
}  // namespace t2o::verify
