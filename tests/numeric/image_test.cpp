#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"

namespace t2o::numeric {
namespace {

const std::vector<float> kTwo = {1,    0.2F,  -1.3F, 0.1F, 1.1F,  0.7F, 0.01F, 0.02F,
                                 1.9F, -0.7F, 3.6F,  0.4F, -1.2F, 6.1F, 0,     -0.05F};

TEST(ImageProjectiveTransform, Modes) {
  for (const auto* interpolation : {"NEAREST", "BILINEAR"})
    for (const auto* mode : {"CONSTANT", "NEAREST", "REFLECT", "WRAP"})
      for (const Kind kind : {constant, fed}) {
        op_case("ImageProjectiveTransformV3")
            .in(f32, {2, 5, 6, 3})
            .values<float>({2, 8}, kTwo, kind)
            .i32s({7, 4}, kind)
            .scalar(2.5F, kind)
            .attr("interpolation", interpolation)
            .attr("fill_mode", mode)
            .check();
        op_case("ImageProjectiveTransformV2")
            .in(f32, {2, 4, 5, 1})
            .values<float>({1, 8}, {2.5F, 0.3F, -6.4F, -0.2F, 3.1F, -5.2F, 0, 0}, kind)
            .i32s({5, 6})
            .attr("interpolation", interpolation)
            .attr("fill_mode", mode)
            .check();
      }
}

TEST(ImageProjectiveTransform, Special) {
  for (const auto* interpolation : {"NEAREST", "BILINEAR"}) {
    op_case("ImageProjectiveTransformV3")
        .in(any, {2, 5, 6, 3})
        .values<float>({2, 8}, kTwo)
        .i32s({7, 4})
        .scalar(2.0F)
        .attr("interpolation", interpolation)
        .attr("fill_mode", "CONSTANT")
        .dtypes({u8, i32, i64, f16, f64})
        .check();
    op_case("ImageProjectiveTransformV3")
        .in(f32, {1, 4, 4, 1})
        .values<float>({1, 8}, {1, 0, 0, 0, 1, 0, -0.5F, 0})
        .i32s({4, 4})
        .scalar(9.0F)
        .attr("interpolation", interpolation)
        .attr("fill_mode", "NEAREST")
        .note("infinitely far away")
        .check();
    op_case("ImageProjectiveTransformV2")
        .in(f32, {1, 1, 1, 1})
        .values<float>({1, 8}, {1, 0, -3, 0, 1, 2, 0, 0})
        .i32s({4, 4})
        .attr("interpolation", interpolation)
        .attr("fill_mode", "WRAP")
        .note("one pixel")
        .check();
  }
}

TEST(Dilation2D, Windows) {
  for (const auto* padding : {"SAME", "VALID"})
    for (const Ints& strides : {Ints{1, 1, 1, 1}, Ints{1, 2, 3, 1}})
      for (const Ints& rates : {Ints{1, 1, 1, 1}, Ints{1, 2, 1, 1}})
        op_case("Dilation2D")
            .in(any, {2, 8, 7, 3})
            .in(any, {3, 2, 3}, constant)
            .attr("strides", strides)
            .attr("rates", rates)
            .attr("padding", padding)
            .dtypes({f32, f64, f16})
            .nan_inf()
            .check();
  for (const auto* padding : {"SAME", "VALID"})
    op_case("Dilation2D")
        .in(any, {2, 5, 4, 3})
        .in(any, {3, 2, 3}, constant)
        .attr("strides", Ints{1, 1, 2, 1})
        .attr("rates", Ints{1, 1, 1, 1})
        .attr("padding", padding)
        .dtypes({i8, u8, i16, u16, i32, u32, i64, u64})
        .check();
}

TEST(Dilation2D, WindowsWithoutANumber) {
  op_case("Dilation2D").values_as(any, {1, 1, 4, 1}, {-INFINITY, NAN, 1, -INFINITY}).values_as(any, {2, 2, 1}, {1, 2, -1, 0}, constant)
      .attr("strides", Ints{1, 1, 1, 1}).attr("rates", Ints{1, 2, 2, 1}).attr("padding", "SAME").dtypes({f32, f64, f16}).check();
}

TEST(FusedPadConv2D, Modes) {
  for (const auto* mode : {"REFLECT", "SYMMETRIC"})
    for (const auto* padding : {"SAME", "VALID"})
      for (const Ints& strides : {Ints{1, 1, 1, 1}, Ints{1, 2, 2, 1}})
        for (const Kind kind : {constant, fed})
          op_case("FusedPadConv2D")
              .in(f32, {kind == fed ? 2 : 1, 7, 6, 3})
              .values<std::int32_t>({4, 2}, {0, 0, 2, 1, 1, 3, 0, 0}, kind)
              .in(f32, {3, 2, 3, 4}, constant)
              .attr("mode", mode)
              .attr("padding", padding)
              .attr("strides", strides)
              .check();
}

TEST(ExtractGlimpse, Places) {
  for (const char* op : {"ExtractGlimpse", "ExtractGlimpseV2"})
    for (const bool centered : {false, true})
      for (const bool normalized : {false, true})
        for (const Kind kind : {constant, fed}) {
          const float unit = normalized ? 1.0F : 4.0F;
          op_case(op)
              .in(f32, {4, 7, 6, 2})
              .i32s({3, 4}, kind)
              .values<float>({4, 2},
                             {0, 0, 0.3F * unit, -0.2F * unit, -0.6F * unit, 0.9F * unit, unit, 0.5F * unit},
                             fed)
              .attr("centered", centered)
              .attr("normalized", normalized)
              .attr("uniform_noise", false)
              .attr("noise", "zero")
              .check();
        }
  for (const auto* noise : {"gaussian", "uniform", ""})
    for (const bool uniform : {false, true}) {
      if (uniform == (noise[0] == 'g')) continue;
      const auto glimpse = [&] { return op_case("ExtractGlimpse").attr("noise", noise).attr("uniform_noise", uniform).only_opsets({11, 18, 21, 22, 26}); };
      glimpse().in(f32, {4, 7, 6, 2}).i32s({3, 4}).in(f32, {4, 2}).shape_only().check();
      glimpse().values<float>({2, 2, 2, 1}, {2, 2, 2, 2, -3, -3, -3, -3}).i32s({3, 4}).in(f32, {2, 2}).note("there is but one number").check();
    }
}

}  // namespace
}  // namespace t2o::numeric
