#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"

namespace t2o::numeric {
namespace {

Case pool(const char* op, std::int64_t kernel, std::int64_t stride, const char* padding) {
  return op_case(op)
      .in(f32, {2, 7, 8, 3})
      .attr("ksize", Ints{1, kernel, kernel, 1})
      .attr("strides", Ints{1, stride, stride, 1})
      .attr("padding", padding);
}

TEST(Pool, PaddingAndStrides) {
  for (const char* op : {"MaxPool", "AvgPool"})
    for (const char* padding : {"SAME", "VALID"})
      for (const std::int64_t kernel : {1, 2, 3})
        for (const std::int64_t stride : {1, 2, 4}) pool(op, kernel, stride, padding).check();
}

TEST(Pool, ThreeSpatialAxes) {
  for (const char* op : {"MaxPool3D", "AvgPool3D"})
    for (const char* padding : {"SAME", "VALID"})
      for (const std::int64_t stride : {1, 2, 3})
        op_case(op)
            .in(f32, {2, 5, 6, 7, 2})
            .attr("ksize", Ints{1, 2, 3, 2, 1})
            .attr("strides", Ints{1, stride, stride, 1, 1})
            .attr("padding", padding)
            .empty()
            .check();
}

TEST(MaxPool, Dtypes) {
  op_case("MaxPool")
      .in(any, {2, 5, 5, 2})
      .attr("ksize", Ints{1, 3, 3, 1})
      .attr("strides", Ints{1, 2, 2, 1})
      .attr("padding", "SAME")
      .dtypes({f32, f64, f16, i32, u8, i8, i16, u16})
      .empty()
      .check();
}

TEST(MaxPool, SinglePixels) {
  for (const char* padding : {"SAME", "VALID"})
    for (const std::int64_t stride : {1, 2, 3, 7})
      op_case("MaxPool").in(any, {2, 5, 6, 2}).attr("ksize", Ints{1, 1, 1, 1}).attr("strides", Ints{1, stride, 2, 1}).attr("padding", padding)
          .dtypes({f32, f16, i64, u8}).empty().check();
  op_case("MaxPool").in(f32, {1, 3, 4, 2}).attr("ksize", Ints{1, 1, 1, 1}).attr("strides", Ints{1, 2, 2, 1}).attr("padding", "EXPLICIT")
      .attr("explicit_paddings", Ints{0, 0, 0, 0, 0, 0, 0, 0}).check();
}

TEST(MaxPool, IntegersBeyond32Bits) {
  op_case("MaxPool").in(i64, {2, 9, 9, 5}).range(-16e9, 16e9).attr("ksize", Ints{1, 2, 3, 1}).attr("strides", Ints{1, 1, 2, 1}).attr("padding", "SAME").check();
}

TEST(MaxPool, BehindAPadOfIntegers) {
  for (const DType t : {i8, u8, i32, i16})
    graph_case("Pad and MaxPool", [t](Builder& b) {
      const std::string x = b.input(t, {1, 5, 5, 2}, verify::Range{t == u8 ? 0.0 : -9.0, t == u8 ? 9.0 : -1.0});
      const std::string pads = b.constant_of<std::int32_t>({4, 2}, {0, 0, 1, 1, 1, 1, 0, 0});
      const std::string padded = b.op("Pad", {x, pads});
      b.output(b.op("MaxPool", {padded}, {{"ksize", Ints{1, 2, 2, 1}}, {"strides", Ints{1, 2, 2, 1}}, {"padding", "VALID"}}));
    }).only_opsets({11, 12, 17, 18}).check();
}

// What a Pad puts beside an image that a pool reads is 0 itself: not the number next to it, which has a sign.
TEST(MaxPool, BehindAPadThatOthersReadToo) {
  for (const char* op : {"MaxPool", "AvgPool"})
    for (const DType t : {f32, f64, f16}) {
      graph_case(std::string("Pad and ") + op, [=](Builder& b) {
        const std::string x = b.op("Neg", {b.op("Exp", {b.input(t, {1, 5, 6, 3})})});
        const std::string padded = b.op("Pad", {x, b.constant_of<std::int32_t>({4, 2}, {0, 0, 1, 0, 0, 1, 0, 0})});
        const std::string y = b.op(op, {padded}, {{"ksize", Ints{1, 2, 2, 1}}, {"strides", Ints{1, 1, 1, 1}}, {"padding", "VALID"}});
        for (const std::string& v : {padded, y}) b.output(b.op("Sign", {v}));
        b.output(b.op("ArgMax", {padded, b.constant_of<std::int32_t>({}, {1})}));
        b.output(y);
      }).check();
    }
}

TEST(MaxPool, PassesOverNan) {
  op_case("MaxPool")
      .values_as(any, {1, 1, 6, 1}, {0, NAN, 2, 3, NAN, NAN})
      .attr("ksize", Ints{1, 1, 1, 1})
      .attr("strides", Ints{1, 1, 2, 1})
      .attr("padding", "SAME")
      .dtypes({f32, f64, f16})
      .check();
  for (const char* padding : {"SAME", "VALID"})
    for (const std::int64_t kernel : {2, 3})
      for (const std::int64_t stride : {1, 2})
        op_case("MaxPool")
            .values_as(any, {1, 1, 8, 1}, {0, NAN, 2, 3, NAN, NAN, -INFINITY, -INFINITY})
            .attr("ksize", Ints{1, 1, kernel, 1})
            .attr("strides", Ints{1, 1, stride, 1})
            .attr("padding", padding)
            .dtypes({f32, f64, f16})
            .check();
  op_case("MaxPool").in(bf16, {1, 5, 5, 2}).attr("ksize", Ints{1, 2, 2, 1}).attr("strides", Ints{1, 1, 1, 1}).attr("padding", "VALID").since(13)
      .nan_inf().check();
}

// TensorFlow refuses such an image where it knows its size.
TEST(Pool, AnImageALittleSmallerThanTheWindow) {
  const auto small = [](const std::string& op, const Ints& image, const std::vector<std::int32_t>& part, const Ints& ksize, const Ints& strides) {
    graph_case(op + " of a part", [=](Builder& b) {
      const auto rank = static_cast<std::int64_t>(image.size());
      const std::string begin = b.constant_of<std::int32_t>({rank}, std::vector<std::int32_t>(image.size(), 0));
      const std::string x = b.op("Slice", {b.input(f32, image), begin, b.input(Tensor::of<std::int32_t>({rank}, part))});
      b.output(b.op(op, {x}, {{"ksize", ksize}, {"strides", strides}, {"padding", "VALID"}}));
    }).check();
  };
  for (const char* op : {"MaxPool", "AvgPool"})
    for (const std::int64_t stride : {2, 3}) small(op, {1, 7, 6, 3}, {1, 2, 6, 3}, {1, 3, 2, 1}, {1, stride, stride, 1});
  for (const char* op : {"MaxPool3D", "AvgPool3D"}) small(op, {1, 3, 5, 7, 2}, {1, 3, 5, 4, 2}, {1, 2, 2, 5, 1}, {1, 2, 1, 2, 1});
}

TEST(AvgPool, Dtypes) {
  op_case("AvgPool")
      .in(any, {2, 5, 5, 2})
      .attr("ksize", Ints{1, 3, 3, 1})
      .attr("strides", Ints{1, 2, 2, 1})
      .attr("padding", "SAME")
      .dtypes({f32, f64, f16})
      .empty()
      .check();
}

TEST(AvgPool, ChannelsThatAreNoBlock) {
  for (const auto* padding : {"SAME", "VALID"}) {
    op_case("AvgPool").in(f32, {2, 19, 24, 20}).attr("ksize", Ints{1, 3, 2, 1}).attr("strides", Ints{1, 2, 1, 1}).attr("padding", padding).nan_inf().check();
    op_case("AvgPool3D").in(f32, {2, 5, 6, 7, 20}).attr("ksize", Ints{1, 2, 3, 3, 1}).attr("strides", Ints{1, 1, 2, 1, 1}).attr("padding", padding).check();
  }
  op_case("AvgPool").in(f32, {2, 6, 5, 20}).attr("ksize", Ints{1, 6, 5, 1}).attr("strides", Ints{1, 1, 1, 1}).attr("padding", "VALID").nan_inf().empty().check();
}

TEST(Pool, Bfloat16) {
  for (const char* op : {"MaxPool", "AvgPool"})
    op_case(op)
        .in(bf16, {2, 5, 5, 2})
        .attr("ksize", Ints{1, 3, 3, 1})
        .attr("strides", Ints{1, 2, 2, 1})
        .attr("padding", "SAME")
        .since(13)
        .check();
}

TEST(MaxPool, WideIntegers) {
  constexpr std::int64_t big = 1LL << 60;
  for (const char* padding : {"SAME", "VALID"}) {
    op_case("MaxPool").in(i64, {2, 7, 6, 3}).attr("ksize", Ints{1, 2, 3, 1}).attr("strides", Ints{1, 2, 1, 1})
        .attr("padding", padding).check();
    op_case("MaxPool").values<std::int64_t>({1, 3, 2, 1}, {big, big + 1, -big, -big - 1, 5, -7}).attr("ksize", Ints{1, 2, 2, 1})
        .attr("strides", Ints{1, 1, 2, 1}).attr("padding", padding).check();
  }
  op_case("MaxPool").in(i64, {1, 4, 4, 2}).attr("ksize", Ints{1, 3, 3, 1}).attr("strides", Ints{1, 2, 2, 1})
      .attr("padding", "EXPLICIT").attr("explicit_paddings", Ints{0, 0, 1, 2, 0, 1, 0, 0}).check();
}

TEST(MaxPool, ExplicitPadding) {
  op_case("MaxPool")
      .in(f32, {1, 7, 8, 2})
      .attr("ksize", Ints{1, 3, 3, 1})
      .attr("strides", Ints{1, 2, 1, 1})
      .attr("padding", "EXPLICIT")
      .attr("explicit_paddings", Ints{0, 0, 1, 2, 0, 1, 0, 0})
      .check();
}

TEST(MaxPool, OverTheChannels) {
  op_case("MaxPool")
      .in(f32, {2, 3, 4, 6})
      .attr("ksize", Ints{1, 1, 1, 3})
      .attr("strides", Ints{1, 1, 1, 3})
      .attr("padding", "VALID")
      .check();
}

TEST(MaxPoolV2, ConstantWindow) {
  op_case("MaxPoolV2")
      .in(f32, {2, 7, 8, 3})
      .i32s({1, 3, 2, 1})
      .i32s({1, 2, 1, 1})
      .attr("padding", "SAME")
      .check();
}

TEST(MaxPoolWithArgmax, Indices) {
  for (const bool batch : {false, true})
    for (const char* padding : {"SAME", "VALID"})
      for (const std::int64_t stride : {1, 2, 3})
        op_case("MaxPoolWithArgmax")
            .in(f32, {2, 7, 8, 3})
            .attr("ksize", Ints{1, 2, 2, 1})
            .attr("strides", Ints{1, stride, stride, 1})
            .attr("padding", padding)
            .attr("include_batch_in_index", batch)
            .check();
  op_case("MaxPoolWithArgmax")
      .in(any, {2, 7, 8, 3})
      .attr("ksize", Ints{1, 2, 2, 1})
      .attr("strides", Ints{1, 2, 2, 1})
      .attr("padding", "SAME")
      .attr("Targmax", i32)
      .dtypes({f64, i32, u8})
      .note("ties")
      .check();
}

// Which ONNX Runtime would take for the pool's own padding.
TEST(Pool, BehindAPadOfZeros) {
  for (const std::string op : {"MaxPool", "AvgPool"})
    for (const bool relu : {false, true})
      for (const std::string padding : {"VALID", "SAME"})
        for (const std::int32_t width : {1, 2})
          graph_case(op + " behind a Pad of " + std::to_string(width) + ", " + padding, [=](Builder& b) {
            std::string x = b.input(f32, {2, 5, 6, 2});
            if (relu) x = b.op("Relu", {x});
            const std::string padded = b.op("Pad", {x, b.constant_of<std::int32_t>({4, 2}, {0, 0, width, 1, 1, width, 0, 0})});
            b.output(b.op(op, {padded}, {{"ksize", Ints{1, 2, 2, 1}}, {"strides", Ints{1, 2, 2, 1}}, {"padding", padding}}));
          }).check();
  for (const DType type : {f64, f16})  // of which the pool is computed in f32
    graph_case("AvgPool of " + std::string(t2o::name(type)) + " behind a Pad wider than the window", [=](Builder& b) {
      const std::string x = b.input(type, {2, 8, 3, 2});
      const std::string padded = b.op("Pad", {x, b.constant_of<std::int32_t>({4, 2}, {0, 0, 1, 0, 2, 1, 0, 0})});
      b.output(b.op("AvgPool", {padded}, {{"ksize", Ints{1, 4, 1, 1}}, {"strides", Ints{1, 3, 3, 1}}, {"padding", "VALID"}}));
    }).check();
}

// Of no images there is nothing to move; not by a Reshape in which 0 says another size.
TEST(Pool, ASliceOfNothing) {
  graph_case("MaxPool, Slice of no channels", [=](Builder& b) {
    const std::string x = b.input(f32, {2, 8, 8, 2});
    const std::string y = b.op("MaxPool", {x}, {{"ksize", Ints{1, 1, 3, 1}}, {"strides", Ints{1, 1, 3, 1}}, {"padding", "SAME"}});
    b.output(b.op("Slice", {y, b.constant_of<std::int32_t>({4}, {0, 6, 2, 1}), b.constant_of<std::int32_t>({4}, {-1, 1, 1, 0})}));
  }).check();
}

struct PoolGrad {
  std::int64_t kernel, stride;
  std::string padding;
  std::int64_t out(std::int64_t in) const { return padding == "SAME" ? (in + stride - 1) / stride : (in - kernel + stride) / stride; }
};

std::vector<PoolGrad> pool_grads() {
  std::vector<PoolGrad> all;
  for (const char* padding : {"SAME", "VALID"})
    for (const std::int64_t kernel : {1, 2, 3})
      for (const std::int64_t stride : {1, 2, 4}) all.push_back({kernel, stride, padding});
  return all;
}

TEST(PoolGradient, OfMaxima) {
  for (const PoolGrad& p : pool_grads())
    op_case("MaxPoolGrad").in(f32, {2, 7, 8, 3}).in(f32, {2, p.out(7), p.out(8), 3}).in(f32, {2, p.out(7), p.out(8), 3})
        .attr("ksize", Ints{1, p.kernel, p.kernel, 1}).attr("strides", Ints{1, p.stride, p.stride, 1}).attr("padding", p.padding).check();
  const auto of = [](const char* op) { return op_case(op).in(any, {2, 5, 5, 2}).in(any, {2, 3, 3, 2}).in(any, {2, 3, 3, 2}); };
  of("MaxPoolGrad").attr("ksize", Ints{1, 3, 3, 1}).attr("strides", Ints{1, 2, 2, 1}).attr("padding", "SAME").dtypes({f32, f64, f16}).empty().check();
  of("MaxPoolGradV2").i32s({1, 3, 3, 1}).i32s({1, 2, 2, 1}).attr("padding", "SAME").dtypes({f32}).check();
  of("MaxPoolGrad").attr("ksize", Ints{1, 3, 3, 1}).attr("strides", Ints{1, 2, 2, 1}).attr("padding", "EXPLICIT")
      .attr("explicit_paddings", Ints{0, 0, 1, 1, 0, 2, 0, 0}).dtypes({f32}).check();
  op_case("MaxPoolGrad").values<float>({1, 2, 4, 1}, {1, 1, 2, 0, 1, 1, 2, 2}).values<float>({1, 1, 2, 1}, {1, 2}).in(f32, {1, 1, 2, 1})
      .attr("ksize", Ints{1, 2, 2, 1}).attr("strides", Ints{1, 2, 2, 1}).attr("padding", "VALID").note("equal elements").check();
  for (const char* padding : {"SAME", "VALID"})
    graph_case("MaxPool3DGrad", [padding](Builder& b) {
      const std::vector<TfAttr> attrs = {{"ksize", Ints{1, 2, 2, 2, 1}}, {"strides", Ints{1, 2, padding[0] == 'S' ? 3 : 2, 2, 1}}, {"padding", padding}};
      const std::string x = b.input(f32, {2, 6, 5, 4, 2}), g = b.input(f32, {2, 3, 2, 2, 2});
      b.output(b.op("MaxPool3DGrad", {x, b.op("MaxPool3D", {x}, attrs), g}, attrs));
    }).check();
}

TEST(PoolGradient, AtPlaces) {
  for (const bool batch : {false, true})
    op_case("MaxPoolGradWithArgmax").in(f32, {2, 3, 3, 2}).in(f32, {2, 2, 2, 2})
        .values<std::int64_t>({2, 2, 2, 2}, batch ? Ints{0, 1, 0, 5, 6, 7, 8, 9, 18, 19, 20, 21, 32, 33, 34, 35} : Ints{0, 1, 0, 5, 6, 7, 8, 9, 0, 1, 2, 3, 14, 15, 16, 17})
        .attr("ksize", Ints{1, 2, 2, 1}).attr("strides", Ints{1, 1, 1, 1}).attr("padding", "VALID").attr("include_batch_in_index", batch).check();
}

TEST(PoolGradient, OfMeans) {
  for (const PoolGrad& p : pool_grads())
    for (const Kind kind : {constant, fed})
      op_case("AvgPoolGrad").i32s({2, 7, 8, 3}, kind).in(f32, {2, p.out(7), p.out(8), 3})
          .attr("ksize", Ints{1, p.kernel, p.kernel, 1}).attr("strides", Ints{1, p.stride, p.stride, 1}).attr("padding", p.padding).nan_inf().check();
  op_case("AvgPoolGrad").i32s({2, 5, 5, 2}).in(any, {2, 3, 3, 2}).attr("ksize", Ints{1, 3, 3, 1}).attr("strides", Ints{1, 2, 2, 1})
      .attr("padding", "SAME").dtypes({f32, f64, f16}).check();
  for (const char* padding : {"SAME", "VALID"})
    op_case("AvgPool3DGrad").i32s({2, 6, 5, 4, 2}).in(f32, {2, 3, 2, 2, 2}).attr("ksize", Ints{1, 2, 2, 2, 1})
        .attr("strides", Ints{1, 2, padding[0] == 'S' ? 3 : 2, 2, 1}).attr("padding", padding).nan_inf().check();
}

TEST(PoolGradient, OfGradients) {
  for (const char* padding : {"SAME", "VALID"})
    for (const char* op : {"MaxPoolGradGrad", "MaxPoolGradGradV2"})
      graph_case(op, [=](Builder& b) {
        const bool same = padding[0] == 'S', first = std::string(op) == "MaxPoolGradGrad";
        const Ints ksize{1, 2, 2, 1}, strides = same ? Ints{1, 3, 3, 1} : Ints{1, 2, 2, 1};
        const std::vector<TfAttr> attrs = {{"ksize", ksize}, {"strides", strides}, {"padding", padding}};
        const std::string x = b.input(f32, {2, 7, 8, 3}), g = b.input(f32, {2, 7, 8, 3}), y = b.op("MaxPool", {x}, attrs);
        if (first) return b.output(b.op(op, {x, y, g}, attrs));
        const auto list = [&](const Ints& v) { return b.constant_of<std::int32_t>({4}, {v.begin(), v.end()}); };
        b.output(b.op(op, {x, y, g, list(ksize), list(strides)}, {{"padding", padding}}));
      }).check();
  graph_case("MaxPoolGradGrad of a gradient whose sizes are known", [](Builder& b) {
    const std::vector<TfAttr> attrs = {{"ksize", Ints{1, 1, 3, 1}}, {"strides", Ints{1, 2, 3, 1}}, {"padding", "SAME"}};
    const std::string x = b.input(f32, {1, 2, 4, 1}), g = b.const_input(f32, {1, 2, 4, 1});
    b.output(b.op("MaxPoolGradGrad", {x, b.op("MaxPool", {x}, attrs), g}, attrs));
  }).check();
  graph_case("MaxPool3DGradGrad", [](Builder& b) {
    const std::vector<TfAttr> attrs = {{"ksize", Ints{1, 2, 2, 2, 1}}, {"strides", Ints{1, 2, 2, 2, 1}}, {"padding", "VALID"}};
    const std::string x = b.input(f32, {2, 6, 5, 4, 2}), g = b.input(f32, {2, 6, 5, 4, 2});
    b.output(b.op("MaxPool3DGradGrad", {x, b.op("MaxPool3D", {x}, attrs), g}, attrs));
  }).check();
}

TEST(FractionalPool, OfSeeds) {
  for (const char* op : {"FractionalMaxPool", "FractionalAvgPool"})
    for (const bool pseudo_random : {false, true})
      for (const bool overlapping : {false, true})
        for (const float ratio : {1.0F, 1.44F, 2.0F, 2.6F})
          op_case(op).in(any, {2, 11, 6, 3}).attr("pooling_ratio", std::vector<float>{1, ratio, 1.5F, 1}).attr("pseudo_random", pseudo_random)
              .attr("overlapping", overlapping).attr("deterministic", true).attr("seed", std::int64_t{5}).attr("seed2", std::int64_t{1} << 33)
              .dtypes({f32, f64, i32, i64}).only_opsets({11, 18}).refuses(Code::not_constant, "must be known", {Mode::dims, Mode::rank}).check();
  op_case("FractionalMaxPool").in(any, {1, 9, 8, 2}).attr("pooling_ratio", std::vector<float>{1, 2.2F, 1.7F, 1})
      .attr("deterministic", true).attr("seed", std::int64_t{3}).attr("overlapping", true).dtypes({f32, f64}).nan_inf().refuses(Code::not_constant, "must be known", {Mode::dims, Mode::rank}).check();
  op_case("FractionalMaxPool").in(f32, {1, 6, 6, 1}).attr("pooling_ratio", std::vector<float>{1, 1.5F, 1.5F, 1})
      .refuses(Code::unsupported_attr, "random and differ from run to run").check();
}

}  // namespace
}  // namespace t2o::numeric
