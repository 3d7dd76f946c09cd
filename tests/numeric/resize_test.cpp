#include "op_mappers/resize.h"

#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"

namespace t2o::numeric {
namespace {

struct Mode3 {
  bool align_corners, half_pixel_centers;
};
constexpr Mode3 kModes[] = {{false, false}, {true, false}, {false, true}};
const std::vector<std::vector<std::int32_t>> kSizes{{8, 12}, {4, 6},  {2, 3}, {5, 11},
                                                    {1, 1},  {3, 13}, {7, 1}};

Case resize(const char* op, DType t, const std::vector<std::int32_t>& size, Kind kind, Mode3 m) {
  return op_case(op)
      .in(t, {2, 4, 6, 3})
      .i32s(size, kind)
      .attr("align_corners", m.align_corners)
      .attr("half_pixel_centers", m.half_pixel_centers);
}

TEST(ResizeBilinear, ModesAndSizes) {
  for (const Mode3 m : kModes)
    for (const auto& size : kSizes)
      for (const Kind kind : {constant, fed}) resize("ResizeBilinear", f32, size, kind, m).check();
  resize("ResizeBilinear", any, {8, 12}, constant, kModes[2])
      .dtypes({f16, f64, u8, i8, i16, u16, i32, i64})
      .check();
}

// Scales whose product with the size is the other size, and those that miss it by rounding (1 / 49 of 49, 41 / 55 of 55)
TEST(ResizeBilinear, SizesByTheirScales) {
  for (const auto& [in, out] : std::vector<std::pair<std::int64_t, std::int32_t>>{{24, 16}, {49, 1}, {55, 41}, {7, 10}, {28, 3}, {3, 28}})
    for (const Mode3 m : kModes)
      for (const char* op : {"ResizeBilinear", "ResizeNearestNeighbor"})
        op_case(op).in(f32, {2, in, 3, 1}).i32s({out, 5}).attr("align_corners", m.align_corners).attr("half_pixel_centers", m.half_pixel_centers).check();
}

TEST(ResizeNearestNeighbor, ModesAndSizes) {
  for (const Mode3 m : kModes)
    for (const auto& size : kSizes)
      for (const Kind kind : {constant, fed}) resize("ResizeNearestNeighbor", f32, size, kind, m).check();
  resize("ResizeNearestNeighbor", any, {8, 12}, constant, kModes[2])
      .dtypes({f16, f64, u8, i8, i16, u16, i32, i64})
      .check();
}

TEST(ResizeBicubic, ModesAndSizes) {
  for (const Mode3 m : kModes)
    for (const auto& size : kSizes)
      for (const Kind kind : {constant, fed}) resize("ResizeBicubic", f32, size, kind, m).check();
  resize("ResizeBicubic", any, {8, 12}, constant, kModes[2]).dtypes({f16, f64, u8, i32}).check();
}

TEST(ResizeBicubic, WhereEachPixelIsInTheTable) {
  for (const Mode3 m : kModes)
    for (const auto& size : std::vector<std::vector<std::int32_t>>{{16, 6}, {2, 24}, {64, 48}, {7, 11}, {4, 48}})
      for (const Kind kind : {constant, fed}) resize("ResizeBicubic", f32, size, kind, m).check();
}

TEST(ResizeArea, ModesAndSizes) {
  for (const bool align : {false, true})
    for (const auto& size : kSizes)
      for (const Kind kind : {constant, fed})
        op_case("ResizeArea").in(f32, {2, 4, 6, 3}).i32s(size, kind).attr("align_corners", align).nan_inf().check();
  op_case("ResizeArea").in(any, {2, 4, 6, 3}).i32s({3, 5}).dtypes({f16, f64, u8, i32}).check();
}

TEST(Resize, AlignedCornersOfOnePixel) {
  for (const char* op : {"ResizeArea", "ResizeBicubic", "ResizeBilinear", "ResizeNearestNeighbor"})
    for (const auto& size : std::vector<std::vector<std::int32_t>>{{3, 5}, {1, 7}})
      for (const Ints& image : {Ints{2, 1, 4, 3}, Ints{2, 1, 1, 3}})
        for (const Kind kind : {constant, fed})
          op_case(op).in(f32, image).i32s(size, kind).attr("align_corners", true).check();
}

TEST(CropAndResize, MethodsAndSizes) {
  for (const char* method : {"bilinear", "nearest"})
    for (const auto& size : std::vector<std::vector<std::int32_t>>{{3, 4}, {1, 5}, {5, 1}, {1, 1}})
      for (const Kind kind : {constant, fed})
        op_case("CropAndResize")
            .in(f32, {2, 5, 6, 3})
            .values<float>(
                {4, 4}, {0, 0, 1, 1, 0.1F, 0.2F, 0.7F, 0.9F, 0.8F, 0.9F, 0.2F, 0.1F, -0.3F, 0.1F, 1.4F, 1.2F})
            .i32s({0, 1, 1, 0}, fed)
            .i32s(size, kind)
            .attr("method", method)
            .attr("extrapolation_value", 7.5F)
            .check();
}

TEST(CropAndResize, OfOneImage) {
  for (const char* method : {"bilinear", "nearest"})
    for (const Kind kind : {constant, fed})
      op_case("CropAndResize")
          .in(f32, {1, 5, 6, 3})
          .values<float>({5, 4}, {0, 0, 1, 1, 0.9F, 0.1F, 0.2F, 0.6F, -0.3F, 0.1F, 1.4F, 1.2F,
                                  -0.01F, 1e-30F, 0.99F, 1.01F, -1e-9F, -0.0F, 1e9F, 1})  // just outside too
          .i32s({0, 0, 0, 0, 0}, fed)
          .i32s({4, 3}, kind)
          .attr("method", method)
          .check();
}

// Neighbours that a pixel has nothing of do not count, whatever they are; all that are outside are the same.
TEST(CropAndResize, OfNumbersThatAreNone) {
  std::vector<float> image(20);
  for (std::size_t i = 0; i < image.size(); ++i) image[i] = i % 3 == 0 ? NAN : i % 7 == 0 ? INFINITY : static_cast<float>(i);
  for (const char* method : {"bilinear", "nearest"})
    op_case("CropAndResize").values<float>({1, 4, 5, 1}, image).values<float>({2, 4}, {0, 0, 1, 1, 0.5F, 0.25F, 1.5F, 0.75F})
        .i32s({0, 0}, fed).i32s({4, 5}).attr("method", method).attr("extrapolation_value", -1.0F).check();
}

TEST(CropAndResize, WithoutBoxes) {
  op_case("CropAndResize").in(f32, {2, 5, 6, 3}).values<float>({0, 4}, {}).i32s({}, fed).i32s({4, 3}).check();
}

// Against a plain restatement of TensorFlow's kernel: what ONNX's Resize is used for has the same pixels, at
// all sizes.
TEST(ResizeNearest, PicksTheSamePixelsWithScales) {
  for (std::int64_t in = 1; in < 40; ++in)
    for (std::int64_t factor = 1; factor < 9; ++factor) {
      const Ints tf = op_mappers::tf_nearest(in, in * factor, op_mappers::Sampling::half_pixel);
      EXPECT_EQ(tf, op_mappers::onnx_nearest(in, in * factor, "asymmetric", "floor"))
          << in << " * " << factor;
    }
}

TEST(Resize, Gradients) {
  for (const bool align : {false, true})
    for (const bool half : {false, true}) {
      if (align && half) continue;
      for (const Ints& size : {Ints{3, 4}, Ints{8, 5}, Ints{1, 9}, Ints{5, 1}}) {
        const auto height = static_cast<std::int32_t>(size[0]), width = static_cast<std::int32_t>(size[1]);
        op_case("ResizeBilinearGrad").in(f32, {2, 6, 5, 3}).in(any, {2, size[0], size[1], 3}).attr("align_corners", align)
            .attr("half_pixel_centers", half).dtypes({f32, f64}).nan_inf().check();
        for (const Kind kind : {constant, fed})
          op_case("ResizeNearestNeighborGrad").in(any, {2, 6, 5, 3}).i32s({height, width}, kind).attr("align_corners", align)
              .attr("half_pixel_centers", half).dtypes({f32, f16}).nan_inf().check();
      }
    }
}

TEST(Resize, GradientsOfSums) {
  for (const bool align : {false, true})
    for (const bool half : {false, true}) {
      if (align && half) continue;
      for (const Ints& size : {Ints{3, 4}, Ints{8, 5}, Ints{1, 9}})
        op_case("ResizeBicubicGrad").in(f32, {2, 6, 5, 3}).in(any, {2, size[0], size[1], 3}).attr("align_corners", align)
            .attr("half_pixel_centers", half).dtypes({f32, f64}).nan_inf().check();
    }
  for (const char* kernel : {"lanczos3", "triangle", "gaussian"})
    for (const bool antialias : {false, true})
      for (const float scale : {0.6F, 1.4F})
        op_case("ScaleAndTranslateGrad").in(f32, {2, 4, 9, 3}).in(f32, {2, 7, 5, 3}).values<float>({2}, {scale, 1.7F}, constant)
            .values<float>({2}, {0.5F, -0.3F}, constant).attr("kernel_type", kernel).attr("antialias", antialias).nan_inf().check();
  for (const char* kernel : {"lanczos3", "triangle", "keyscubic"})
    for (const bool antialias : {false, true})
      op_case("ScaleAndTranslateGrad").in(f32, {2, 4, 9, 3}).in(f32, {2, 7, 5, 3}).values<float>({2}, {0.6F, 1.7F}).values<float>({2}, {0.5F, -0.3F})
          .attr("kernel_type", kernel).attr("antialias", antialias).check();
  for (const char* method : {"bilinear", "nearest"})
    for (const std::int64_t crop : {1, 3})
      op_case("CropAndResizeGradImage").in(f32, {3, crop, 4, 2}).values<float>({3, 4}, {0, 0.1F, 0.7F, 0.9F, -0.2F, 0.3F, 0.5F, 1.2F, 1, 1, 0, 0}).i32s({1, 0, 1}, fed)
          .i32s({2, 6, 5, 2}).attr("T", f32).attr("method", method).check();
  for (const char* method : {"bilinear", "nearest"})  // what a gradient does not reach it does not spoil
    op_case("CropAndResizeGradImage").values<float>({2, 1, 2, 2}, {INFINITY, 1, 2, NAN, -INFINITY, 3, 4, -5})
        .values<float>({2, 4}, {0.1F, 0.13F, 0.71F, 0.9F, 0.23F, 0.31F, 0.53F, 0.83F}).i32s({1, 0}, fed).i32s({2, 6, 5, 2}).attr("T", f32)
        .attr("method", method).check();
}

// The axes of a linear resize change places and back: two transposes more, around it.
std::map<std::string, std::size_t> turned(const std::string& op, std::size_t transposes) {
  return op == "ResizeBilinear" ? std::map<std::string, std::size_t>{{"Resize", 1}, {"Transpose", transposes}} : std::map<std::string, std::size_t>{};
}

// The rank of a transposed image is that of its order of axes.
TEST(Resize, BehindATranspose) {
  for (const char* op : {"ResizeBilinear", "ResizeBicubic"})
    graph_case(std::string(op) + " behind a transpose", [=](Builder& b) {
      const std::string x = b.op("Transpose", {b.input(f32, {2, 3, 2, 7}), b.constant_of<std::int32_t>({4}, {0, 3, 1, 2})});
      b.output(b.op(op, {x, b.constant_of<std::int32_t>({2}, {2, 9})}, {{"half_pixel_centers", true}}));
    }).only_opsets({11, 13, 18, 21, 26}).gives(turned(op, 4)).check();
}

// ONNX Runtime moves the transposes behind the Resize, which then is of other axes.
TEST(Resize, BehindTransposes) {
  for (const char* op : {"ResizeBilinear", "ResizeBicubic"})
    for (const bool sum : {false, true})
      graph_case(std::string(op) + " behind transposes", [=](Builder& b) {
        std::string x = b.input(f32, {1, 4, 6, 4});
        x = b.op("Transpose", {x, b.constant_of<std::int32_t>({4}, {0, 3, 1, 2})});
        x = sum ? b.op("Mean", {x, b.constant_of<std::int32_t>({1}, {2})}, {{"keep_dims", true}}) : b.op("Relu", {x});
        x = b.op(op, {x, b.constant_of<std::int32_t>({2}, {10, 4})}, {{"half_pixel_centers", true}});
        b.output(b.op("Relu", {x}));
      }).only_opsets({11, 13, 18, 21, 26}).gives(turned(op, 5)).check();
}

}  // namespace
}  // namespace t2o::numeric
