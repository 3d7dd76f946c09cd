#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"
#include "old_ops.h"

namespace t2o::numeric {
namespace {

const DTypes kFloats = {f32, f64, f16, bf16};

const std::vector<float> kColors = {0,    0,    0,    1,    1,    1,    1,    0,    0,    0,    1,    0,
                                    0,    0,    1,    1,    1,    0,    0,    1,    1,    1,    0,    1,
                                    0.3F, 0.3F, 0.9F, 0.9F, 0.3F, 0.3F, 0.3F, 0.9F, 0.3F, 0.2F, 0.9F, 0.9F,
                                    -1,   -2,   -3,   0.5F, -1,   0.2F, 2,    3,    4,    0.5F, 0.4F, 0.1F};

// Each channel goes through NaN, infinities, zeros and ordinary numbers.
std::vector<float> odd_pixels() {
  const std::vector<float> values{NAN, INFINITY, -INFINITY, 0, -0.0F, 0.5F, 1, 0.2F, 0.7F};
  std::vector<float> pixels;
  for (const float r : values)
    for (const float g : values)
      for (const float b : values) pixels.insert(pixels.end(), {r, g, b});
  return pixels;
}

TEST(Color, ToHsvAndBack) {
  op_case("RGBToHSV").in(any, {2, 4, 3}).range(0, 1).dtypes(kFloats).nan_inf().empty().check();
  op_case("RGBToHSV").in(f32, {2, 5, 7, 3}).range(0, 1).nan_inf().check();
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
  for (const float delta : {0.0F, 0.2F, -0.3F}) op_case("AdjustHue").values<float>({9, 9, 9, 3}, odd_pixels()).scalar(delta).check();
}

TEST(Color, Saturation) {
  for (const float factor : {0.0F, 0.5F, 1.0F, 1.7F, 20.0F, -1.0F})
    for (const Kind kind : {constant, fed})
      op_case("AdjustSaturation").values<float>({2, 8, 3}, kColors).scalar(factor, kind).check();
  op_case("AdjustSaturation").in(f32, {2, 3, 4, 3}).range(0, 1).scalar(0.5F).empty().check();
  for (const float factor : {0.0F, 0.5F, 2.0F})
    op_case("AdjustSaturation").values<float>({9, 9, 9, 3}, odd_pixels()).scalar(factor).check();
}

TEST(Color, Contrast) {
  for (const float factor : {0.0F, 0.5F, -1.0F, 3.0F})
    for (const Kind kind : {constant, fed})
      op_case("AdjustContrastv2").in(f32, {2, 4, 5, 3}).scalar(factor, kind).check();
  op_case("AdjustContrastv2").in(f32, {4, 5, 2}).scalar(0.5F).check();
  op_case("AdjustContrastv2").in(f32, {2, 3, 2, 2, 1}).scalar(0.5F).empty().check();
}

// TensorFlow has no kernel for the first form.
TEST(Color, FirstAdjustContrast) {
  verify::Random random(7);
  for (const DType t : {f32, u8}) {
    const auto graph_of = [t](bool is_first) {
      engines::TfGraph g;
      of_version(g, 1);  // the last one that had it
      const std::string x = g.placeholder("x", t, Shape({2, 4, 5, 3})),
                        factor = g.constant("factor", Tensor::scalar<float>(1.7F));
      const std::string low = g.constant("low", Tensor::scalar<float>(-0.5F)),
                        high = g.constant("high", Tensor::scalar<float>(60));
      if (is_first) {
        g.add({"AdjustContrast", "y", {x, factor, low, high}});
        return g;
      }
      const std::string number = g.add({"Cast", "number", {x}, {{"DstT", f32}}});
      const std::string adjusted = g.add({"AdjustContrastv2", "adjusted", {number, factor}});
      g.add({"Minimum", "y", {g.add({"Maximum", "above", {adjusted, low}}), high}});
      return g;
    };
    check_against(graph_of(false), graph_of(true),
                  {{"x", verify::random_tensor(t, {2, 4, 5, 3}, random, {})}}, {11, 18, 21});
  }
}

}  // namespace
}  // namespace t2o::numeric
