// The first tool that made 8-bit weights wrote i8 codes as tensors of type u8. Layers of floats read them so still.
#include <gtest/gtest.h>

#include "lite_case.h"

namespace t2o::numeric {
namespace {

using enum t2o::DType;

constexpr float kScale = 0.01F;

TEST(LiteOldWeights, FullyConnected) {
  for (const int zero_point : {0, 100})
    lite_case(B::FULLY_CONNECTED).in(f32, {4, 16}).random_constant(u8, {8, 16}, codes(kScale, zero_point)).missing().out(f32, {4, 8})
        .options(O::FullyConnectedOptions, [](Fbb& b) { return schema::CreateFullyConnectedOptions(b).Union(); }).note(std::to_string(zero_point)).check();
}

TEST(LiteOldWeights, Conv2D) {
  for (const int zero_point : {0, 100})
    lite_case(B::CONV_2D).in(f32, {1, 8, 8, 16}).random_constant(u8, {4, 3, 3, 16}, codes(kScale, zero_point)).random_constant(f32, {4}).out(f32, {1, 6, 6, 4})
        .options(O::Conv2DOptions, [](Fbb& b) { return schema::CreateConv2DOptions(b, schema::Padding::VALID, 1, 1).Union(); }).note(std::to_string(zero_point)).check();
}

TEST(LiteOldWeights, EmbeddingLookup) {
  lite_case(B::EMBEDDING_LOOKUP).in(i32, {3}).random_constant(u8, {4, 8}, codes(kScale)).out(f32, {3, 8}).check();
}

TEST(LiteOldWeights, DequantizeReadsTheirTypeAsItIs) { lite_file("old_weights").check(); }

}  // namespace
}  // namespace t2o::numeric
