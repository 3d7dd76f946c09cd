// Activations of TensorFlow Lite that TensorFlow does not have as one operator.
#include <gtest/gtest.h>

#include "lite_case.h"

namespace t2o::numeric {
namespace {

using enum t2o::DType;

TensorPtr slopes(Ints dims, std::vector<float> numbers) { return Tensor::of<float>(std::move(dims), numbers); }
void for_any_runtime(Options& o) { o.target_runtime = "any"; }

TEST(LiteActivation, PReluOfBothSigns) {
  const auto any = slopes({1, 1, 3}, {0.25F, -0.5F, 2});
  const auto x = [&] { return lite_case(B::PRELU).in(f32, {2, 16, 16, 3}).constant(any).out(f32, {2, 16, 16, 3}); };
  x().opsets({13, 18, 21}).gives({{"PRelu", 0}, {"Relu", 1}, {"Clip", 1}}).check();
  x().convert_with(for_any_runtime).gives({{"PRelu", 1}, {"Relu", 0}}).check();
}

TEST(LiteActivation, PReluBetween0And1) {
  const auto x = [] { return lite_case(B::PRELU).in(f32, {1, 16, 16, 3}); };
  x().constant(slopes({1, 1, 3}, {0.25F, 0.5F, 1})).out(f32, {1, 16, 16, 3}).gives({{"PRelu", 0}, {"Max", 1}, {"Relu", 0}}).check();
  x().constant(slopes({1, 1, 3}, {0.25F, 0.5F, 0})).out(f32, {1, 16, 16, 3}).gives({{"Max", 0}, {"Relu", 1}}).check();
}

TEST(LiteActivation, PReluWithOneSlope) {
  lite_case(B::PRELU).in(f32, {1, 16, 16, 3}).constant(slopes({1, 1, 3}, {0.25F, 0.25F, 0.25F})).out(f32, {1, 16, 16, 3}).gives({{"LeakyRelu", 1}}).check();
}

TEST(LiteActivation, PReluOfFewNumbersAndOfOpenSizes) {
  lite_case(B::PRELU).in(f32, {4, 3}).constant(slopes({3}, {0.25F, -0.5F, 2})).out(f32, {4, 3}).gives({{"PRelu", 1}}).check();
  lite_case(B::PRELU).in(f32, {-1, 3}).constant(slopes({3}, {0.25F, -0.5F, 2})).out(f32, {-1, 3}).gives({{"PRelu", 0}}).check();
}

TEST(LiteActivation, PReluOfCodes) {
  lite_case(B::PRELU).in(i8, {1, 16, 16, 3}, codes(0.05F, 3)).random_constant(i8, {1, 1, 3}, codes(0.02F)).out(i8, {1, 16, 16, 3}, codes(0.06F, -5)).check();
}

}  // namespace
}  // namespace t2o::numeric
