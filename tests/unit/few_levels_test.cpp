#include "rewriters/onnx/few_levels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "rewriters/onnx/exact_sums.h"

namespace t2o::rewriters {
namespace {

TensorPtr chosen(const Ints& dims, const std::vector<float>& levels) {
  std::minstd_rand random(1);
  std::vector<float> v(static_cast<std::size_t>(element_count(dims)));
  for (float& x : v) x = levels[random() / 7 % levels.size()];
  return Tensor::of<float>(dims, v);
}

// whole numbers up to `most`, of both signs, times a constant
TensorPtr levels_to(int most, float unit, const Ints& dims) {
  std::vector<float> levels;
  for (int k = -most; k <= most; ++k) levels.push_back(static_cast<float>(k) * unit);
  return chosen(dims, levels);
}

TEST(FewLevels, WholeNumbersTimesAConstant) {
  for (const Ints& dims : {Ints{8, 4, 3, 3}, Ints{64, 64, 3, 3}, Ints{300, 100}}) {
    EXPECT_TRUE(has_few_levels(*chosen(dims, {-1, 1}), 0));
    EXPECT_TRUE(has_few_levels(*chosen(dims, {-0.37F, 0, 0.37F}), 1));
    EXPECT_TRUE(has_few_levels(*chosen(dims, {-1, -1.0F / 3, 1.0F / 3, 1}), 0));
    EXPECT_TRUE(has_few_levels(*levels_to(3, 0.123F, dims), 0));
    EXPECT_TRUE(has_few_levels(*levels_to(15, 0.125F, dims), 0)) << "times a power of two sums are exact";
  }
  EXPECT_TRUE(has_few_levels(*Tensor::of<float>({3, 2}, {1, 2, -3, 6, 0.7F, 1.4F}), 0)) << "each row its own";
  EXPECT_FALSE(has_few_levels(*Tensor::of<float>({3, 2}, {1, 0.731F, -3, 6, 0.7F, 1.4F}), 0)) << "but the first";
  EXPECT_TRUE(has_few_levels(*Tensor::of<double>({2, 2}, {0.1, 0.7, -0.1, 1.4}), 1));
}

TEST(FewLevels, TrainedWeights) {
  for (const Ints& dims : {Ints{8, 4, 3, 3}, Ints{64, 64, 3, 3}, Ints{300, 100}}) {
    std::minstd_rand random(1);
    std::normal_distribution<float> normal;
    std::vector<float> v(static_cast<std::size_t>(element_count(dims)));
    for (float& x : v) x = normal(random);
    EXPECT_FALSE(has_few_levels(*Tensor::of<float>(dims, v), 0));
    EXPECT_FALSE(has_few_levels(*Tensor::of<float>(dims, v), 1));
    EXPECT_FALSE(has_few_levels(*levels_to(127, 0.0123F, dims), 0)) << "of 8 bits";
    EXPECT_FALSE(has_few_levels(*levels_to(127, 1, dims), 0)) << "of 8 bits";
  }
}

TEST(FewLevels, NothingToSum) {
  EXPECT_FALSE(has_few_levels(*chosen({8, 1, 1, 1}, {-1, 1}), 0)) << "one weight for each channel";
  EXPECT_FALSE(has_few_levels(*chosen({8, 4}, {0}), 0));
  EXPECT_FALSE(has_few_levels(*Tensor::of<float>({0, 4}, {}), 0));
  EXPECT_FALSE(has_few_levels(*Tensor::of<float>({2, 2}, {1, 1, 1, INFINITY}), 0));
  EXPECT_FALSE(has_few_levels(*Tensor::of<std::int32_t>({2, 2}, {1, 1, 1, -1}), 0)) << "these are not scaled";
  EXPECT_TRUE(has_few_numbers(*Tensor::scalar(0.3F)));
}

TEST(FewLevels, PowersOfTwo) {
  for (const double x : {0.0, 1.0, -1.0, 0.125, -4096.0}) EXPECT_TRUE(is_power_of_two(x)) << x;
  for (const double x : {0.3, 3.0, -1.5, static_cast<double>(INFINITY), static_cast<double>(NAN)})
    EXPECT_FALSE(is_power_of_two(x)) << x;
}

}  // namespace
}  // namespace t2o::rewriters
