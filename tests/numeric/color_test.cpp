#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes kFloats = {f32, f64, f16, bf16};

const std::vector<float> kColors = {0,    0,    0,    1,    1,    1,    1,    0,    0,    0,    1,    0,
                                    0,    0,    1,    1,    1,    0,    0,    1,    1,    1,    0,    1,
                                    0.3F, 0.3F, 0.9F, 0.9F, 0.3F, 0.3F, 0.3F, 0.9F, 0.3F, 0.2F, 0.9F, 0.9F,
                                    -1,   -2,   -3,   0.5F, -1,   0.2F, 2,    3,    4,    0.5F, 0.4F, 0.1F};

TEST(Color, ToHsvAndBack) {
  op_case("RGBToHSV").in(any, {2, 4, 3}).range(0, 1).dtypes(kFloats).empty().check();
  op_case("RGBToHSV").values<float>({16, 3}, kColors).check();
  op_case("RGBToHSV").in(f32, {3}).check();
  op_case("HSVToRGB").in(any, {2, 4, 3}).range(0, 1).dtypes(kFloats).empty().check();
  op_case("HSVToRGB").in(f32, {20, 3}).range(-2, 3).check();
  op_case("HSVToRGB").in(f32, {3}).range(0, 1).check();
}

TEST(Color, Hue) {
  for (const float delta : {0.0F, 0.1F, -0.3F, 0.9F, -1.0F, 1.0F})
    for (const Kind kind : {constant, fed})
      op_case("AdjustHue").values<float>({2, 8, 3}, kColors).scalar(delta, kind).check();
  op_case("AdjustHue").in(f32, {2, 3, 4, 3}).range(0, 1).scalar(0.25F).empty().check();
}

TEST(Color, Saturation) {
  for (const float factor : {0.0F, 0.5F, 1.0F, 1.7F, 20.0F, -1.0F})
    for (const Kind kind : {constant, fed})
      op_case("AdjustSaturation").values<float>({2, 8, 3}, kColors).scalar(factor, kind).check();
  op_case("AdjustSaturation").in(f32, {2, 3, 4, 3}).range(0, 1).scalar(0.5F).empty().check();
}

TEST(Color, Contrast) {
  for (const float factor : {0.0F, 0.5F, -1.0F, 3.0F})
    for (const Kind kind : {constant, fed})
      op_case("AdjustContrastv2").in(f32, {2, 4, 5, 3}).scalar(factor, kind).check();
  op_case("AdjustContrastv2").in(f32, {4, 5, 2}).scalar(0.5F).check();
  op_case("AdjustContrastv2").in(f32, {2, 3, 2, 2, 1}).scalar(0.5F).empty().check();
}

}  // namespace
}  // namespace t2o::numeric
