#include <gtest/gtest.h>

#include <limits>

#include "harness.h"

namespace t2o::numeric {
namespace {

Case conv2d(Ints x, Ints kernel, std::int64_t stride, const std::string& padding, std::int64_t dilation = 1) {
  return op_case("Conv2D")
      .in(f32, std::move(x))
      .in(f32, std::move(kernel), constant)
      .attr("strides", Ints{1, stride, stride, 1})
      .attr("dilations", Ints{1, dilation, dilation, 1})
      .attr("padding", padding);
}

TEST(Conv2D, PaddingStridesDilations) {
  for (const char* padding : {"SAME", "VALID"})
    for (const std::int64_t kernel : {1, 2, 3, 4})
      for (const std::int64_t stride : {1, 2, 3})
        conv2d({2, 9, 8, 3}, {kernel, kernel, 3, 4}, stride, padding).check();
  for (const char* padding : {"SAME", "VALID"})
    for (const std::int64_t dilation : {2, 3})
      conv2d({1, 11, 12, 2}, {3, 2, 2, 3}, 1, padding, dilation).check();
  conv2d({1, 11, 12, 2}, {3, 3, 2, 3}, 2, "SAME", 2).check();
  conv2d({1, 7, 7, 2}, {2, 2, 2, 3}, 4, "SAME").note("kernel smaller than stride").check();
}

TEST(Conv2D, ExplicitPadding) {
  op_case("Conv2D")
      .in(f32, {1, 7, 8, 2})
      .in(f32, {3, 3, 2, 3}, constant)
      .attr("strides", Ints{1, 2, 1, 1})
      .attr("padding", "EXPLICIT")
      .attr("explicit_paddings", Ints{0, 0, 1, 2, 0, 3, 0, 0})
      .check();
}

TEST(Conv2D, Groups) {
  conv2d({2, 6, 6, 6}, {3, 3, 2, 9}, 1, "SAME").check();
  conv2d({2, 6, 6, 6}, {3, 3, 1, 12}, 1, "VALID").check();
  conv2d({2, 6, 6, 6}, {3, 3, 6, 2}, 1, "VALID").check();
  for (const Ints& filter : {Ints{3, 3, 2, 9}, Ints{3, 3, 1, 6}, Ints{3, 3, 6, 2}})
    op_case("Conv2D").in(f32, {1, 6, 6, 6}).in(f32, filter).attr("strides", Ints{1, 1, 1, 1}).attr("padding", "SAME").check();
}

TEST(Conv2D, KernelFedAtRunTime) {
  op_case("Conv2D")
      .in(f32, {1, 6, 6, 2})
      .in(f32, {3, 3, 2, 4})
      .attr("strides", Ints{1, 1, 1, 1})
      .attr("padding", "SAME")
      .check();
  op_case("Conv2D")
      .in(f32, {1, 6, 6, 2})
      .in(f32, {3, 3, 2, 4})
      .attr("strides", Ints{1, 2, 2, 1})
      .attr("padding", "VALID")
      .check();
  for (const Ints& dilations : {Ints{1, 1, 1, 1}, Ints{1, 2, 3, 1}})
    op_case("Conv2D")
        .in(f32, {1, 6, 7, 2})
        .in(f32, {3, 2, 2, 4})
        .attr("strides", dilations[1] == 1 ? Ints{1, 2, 3, 1} : Ints{1, 1, 1, 1})
        .attr("dilations", dilations)
        .attr("padding", "SAME")
        .check();
}

TEST(Conv2D, Dtypes) {
  op_case("Conv2D")
      .in(any, {1, 6, 6, 2})
      .in(any, {3, 3, 2, 4}, constant)
      .attr("strides", Ints{1, 1, 1, 1})
      .attr("padding", "SAME")
      .dtypes({f16, f64})
      .empty()
      .check();
  op_case("Conv2D")
      .in(bf16, {1, 6, 6, 2})
      .in(bf16, {3, 3, 2, 4}, constant)
      .attr("strides", Ints{1, 1, 1, 1})
      .attr("padding", "SAME")
      .refuses_below(13, Code::opset_too_low, "bf16")
      .check();
  conv2d({1, 6, 6, 2}, {3, 3, 2, 4}, 2, "SAME").empty().nan_inf().check();
}

TEST(Conv2D, RefusesStridesOverTheBatch) {
  op_case("Conv2D")
      .in(f32, {1, 8, 8, 4})
      .in(f32, {3, 3, 4, 6}, constant)
      .attr("strides", Ints{2, 1, 1, 1})
      .attr("padding", "SAME")
      .refuses(Code::unsupported_attr, "strides")
      .check();
}

TEST(DepthwiseConv2d, MultipliersAndStrides) {
  for (const std::int64_t multiplier : {1, 3})
    for (const std::int64_t stride : {1, 2})
      for (const char* padding : {"SAME", "VALID"})
        op_case("DepthwiseConv2dNative")
            .in(f32, {2, 7, 8, 4})
            .in(f32, {3, 3, 4, multiplier}, constant)
            .attr("strides", Ints{1, stride, stride, 1})
            .attr("padding", padding)
            .check();
  op_case("DepthwiseConv2dNative")
      .in(any, {2, 9, 9, 4})
      .in(any, {3, 3, 4, 2}, constant)
      .attr("strides", Ints{1, 1, 1, 1})
      .attr("padding", "EXPLICIT")
      .attr("explicit_paddings", Ints{0, 0, 1, 1, 0, 2, 0, 0})
      .dtypes({f32, f64})
      .empty()
      .check();
}

TEST(DepthwiseConv2d, ChannelsThatShowWhenItRuns) {
  for (const char* padding : {"SAME", "VALID"})  // what is infinite stays in its channel
    op_case("DepthwiseConv2dNative").in(any, {2, 7, 8, 5}).in(any, {3, 2, 5, 2}).attr("strides", Ints{1, 2, 2, 1}).attr("padding", padding)
        .dtypes({f32, f64, f16}).nan_inf().check();
  for (const std::int64_t multiplier : {1, 2})
    op_case("DepthwiseConv2dNative")
        .in(f32, {2, 7, 8, 3})
        .in(f32, {3, 2, 3, multiplier})
        .attr("strides", Ints{1, multiplier, multiplier, 1})
        .attr("padding", "VALID")
        .check();
}

TEST(FusedResizeAndPadConv2D, FirstImage) {
  for (const bool aligned : {false, true})
    op_case("FusedResizeAndPadConv2D").in(f32, {aligned ? 1 : 3, 4, 5, 2}).i32s({7, 6}).values<std::int32_t>({4, 2}, {0, 0, 1, 1, 0, 2, 0, 0}, constant)
        .in(f32, {3, 3, 2, 4}, constant).attr("resize_align_corners", aligned).attr("mode", "REFLECT").attr("strides", Ints{1, 1, 1, 1})
        .attr("padding", "VALID").check();
}

TEST(Conv2D, NoImages) {
  op_case("Conv2D").in(f32, {0, 8, 8, 3}).in(f32, {3, 3, 3, 2}, constant).attr("strides", Ints{1, 1, 1, 1}).attr("padding", "VALID")
      .without({Mode::batch, Mode::dims, Mode::rank}).check();
  op_case("Conv3DBackpropFilterV2").in(f32, {0, 4, 5, 6, 2}).i32s({2, 3, 2, 2, 3}).in(f32, {0, 3, 3, 5, 3}).attr("strides", Ints{1, 1, 1, 1, 1})
      .attr("padding", "VALID").without({Mode::batch, Mode::dims, Mode::rank}).check();
}

// Of three axes SAME leaves out as much at the beginning as at the end.
TEST(Conv3D, StridesFarLargerThanTheKernel) {
  for (const std::int64_t size : {3, 4, 5, 6, 7})
    for (const std::int64_t kernel : {1, 2})
      for (const std::int64_t stride : {3, 4}) {
        op_case("Conv3D").in(f32, {1, size, 5, 2, 1}).in(f32, {kernel, 1, 1, 1, 2}, constant).attr("strides", Ints{1, stride, stride, 1, 1})
            .attr("padding", "SAME").check();
        for (const char* op : {"MaxPool3D", "AvgPool3D"})
          op_case(op).in(f32, {1, size, 5, 2, 1}).attr("ksize", Ints{1, kernel, 1, 1, 1}).attr("strides", Ints{1, stride, stride, 1, 1})
              .attr("padding", "SAME").check();
      }
}

TEST(Conv3D, PaddingAndStrides) {
  for (const char* padding : {"SAME", "VALID"})
    for (const std::int64_t stride : {1, 2})
      op_case("Conv3D")
          .in(f32, {1, 5, 6, 7, 2})
          .in(f32, {3, 2, 3, 2, 3}, constant)
          .attr("strides", Ints{1, stride, 1, stride, 1})
          .attr("padding", padding)
          .check();
  op_case("Conv3D")
      .in(f32, {1, 7, 7, 7, 2})
      .in(f32, {2, 2, 2, 2, 3}, constant)
      .attr("strides", Ints{1, 1, 1, 1, 1})
      .attr("padding", "SAME")
      .empty()
      .check();
}

TEST(Conv, AnyNumberOfSpatialAxes) {
  op_case("Conv")
      .in(f32, {2, 7, 8, 3})
      .in(f32, {3, 2, 3, 4}, constant)
      .attr("strides", Ints{1, 2, 1, 1})
      .attr("padding", "SAME")
      .check();
  op_case("Conv")
      .in(f32, {1, 5, 7, 8, 2})
      .in(f32, {2, 3, 2, 2, 4}, constant)
      .attr("strides", Ints{1, 1, 2, 1, 1})
      .attr("padding", "VALID")
      .check();
}

TEST(BiasAdd, AllLayoutsAndRanks) {
  op_case("BiasAdd")
      .in(any, {2, 3, 4})
      .in(any, {4}, constant)
      .dtypes({f32, f64, f16, i32, i64, u8, i8})
      .empty()
      .nan_inf()
      .check();
  op_case("BiasAdd").in(f32, {2, 3, 4, 2, 5}).in(f32, {5}, constant).check();
  op_case("BiasAdd").in(f32, {2, 4, 3, 5}).in(f32, {4}).attr("data_format", "NCHW").check();
  op_case("BiasAdd").in(f32, {2, 4, 3}).in(f32, {4}).attr("data_format", "NCHW").check();
  op_case("BiasAdd").in(bf16, {2, 3, 4}).in(bf16, {4}).since(13).check();
  op_case("BiasAddV1").in(f32, {2, 3, 4}).in(f32, {4}).check();
}

// What TensorFlow's optimizer makes of a convolution and what follows.
Case fused(std::size_t args, const Strings& ops) {
  return graph_case("_FusedConv2D", [=](Builder& b) {
    const std::string x = b.input(f32, {2, 7, 6, 4}), w = b.const_input(f32, {3, 2, 4, 4});
    Strings more;
    for (std::size_t i = 0; i < args; ++i) more.push_back(b.const_input(f32, {4}, verify::Range{0.5, 2}));
    b.output(b.op("_FusedConv2D", {x, w, more, Strings{}},
                  {{"num_args", static_cast<std::int64_t>(args)},
                   {"fused_ops", ops},
                   {"epsilon", 0.01f},
                   {"leakyrelu_alpha", 0.3f},
                   {"strides", Ints{1, 2, 2, 1}},
                   {"padding", "SAME"}},
                  "y"));
  });
}

TEST(Conv, Fused) {
  fused(1, {"BiasAdd"}).check();
  for (const char* activation : {"Relu", "Relu6", "Elu", "LeakyRelu"})
    fused(1, {"BiasAdd", activation}).check();
  fused(4, {"FusedBatchNorm"}).check();
  fused(4, {"FusedBatchNorm", "Relu"}).check();
}

// Its CPU kernel makes nothing.
TEST(Conv, FusedDepthwise) {
  verify::Random random(7);
  const TensorPtr weights = verify::random_tensor(f32, {3, 2, 4, 1}, random, {}),
                  bias = verify::random_tensor(f32, {4}, random, {});
  const engines::Feeds feeds = {{"x", verify::random_tensor(f32, {2, 7, 6, 4}, random, {})}};
  for (const std::string activation : {"", "Relu", "Relu6", "Elu"}) {
    const auto graph_of = [&](bool is_fused) {
      engines::TfGraph g;
      const std::string x = g.placeholder("x", f32, Shape({2, 7, 6, 4})), w = g.constant("w", weights),
                        b = g.constant("b", bias);
      const std::vector<TfAttr> attrs = {{"strides", Ints{1, 2, 2, 1}}, {"padding", "SAME"}};
      if (is_fused) {
        std::vector<TfAttr> all = attrs;
        all.push_back({"num_args", 1});
        all.push_back(
            {"fused_ops", activation.empty() ? Strings{"BiasAdd"} : Strings{"BiasAdd", activation}});
        g.add({"_FusedDepthwiseConv2dNative", "y", {x, w, Strings{b}}, all});
        return g;
      }
      const std::string sum =
          g.add({"BiasAdd", "sum", {g.add({"DepthwiseConv2dNative", "d", {x, w}, attrs}), b}});
      g.add({activation.empty() ? "Identity" : activation, "y", {sum}});
      return g;
    };
    check_against(graph_of(false), graph_of(true), feeds, {11, 18, 21});
  }
}

// A factor that is no moderate number stays behind the convolution: 0 * infinity is none, and x * (y / 0) neither.
TEST(Conv2D, FactorsThatAreInfinite) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& factor : {std::vector<float>{0, 2}, {inf, 2}, {1e30F, 1}})
    for (const char* op : {"Mul", "RealDiv"})
      graph_case(std::string("Conv2D and ") + op, [=](Builder& b) {
        const std::string y = b.op("Conv2D", {b.input(f32, {2, 5, 5, 3}), b.const_input(f32, {3, 3, 3, 2})},
                                   {{"strides", Ints{1, 1, 1, 1}}, {"padding", std::string("SAME")}});
        b.output(b.op(op, {y, b.constant_of<float>({2}, factor)}));
      }).check();
}

TEST(Conv2D, Integers) {
  for (const char* padding : {"SAME", "VALID"})
    for (const std::int64_t stride : {1, 2, 3})
      op_case("Conv2D").in(i32, {2, 7, 6, 3}).range(-100'000, 100'000).in(i32, {3, 2, 3, 4}, constant).range(-100'000, 100'000)
          .attr("strides", Ints{1, stride, stride, 1}).attr("padding", padding).note("sums that wrap around").check();
  op_case("Conv2D").in(i32, {2, 7, 6, 2}).in(i32, {3, 2, 2, 4}, constant).attr("strides", Ints{1, 1, 1, 1}).attr("dilations", Ints{1, 2, 2, 1})
      .attr("padding", "EXPLICIT").attr("explicit_paddings", Ints{0, 0, 1, 1, 0, 2, 0, 0}).check();
  op_case("Conv").in(i32, {2, 7, 6, 3}).in(i32, {3, 2, 3, 4}, constant).attr("strides", Ints{1, 1, 1, 1}).attr("padding", "SAME").empty().check();
  op_case("Conv2D").in(i32, {2, 7, 6, 2}).in(i32, {3, 2, 2, 4}).attr("strides", Ints{1, 1, 1, 1}).attr("padding", "SAME")
      .refuses(Code::not_constant, "kernel of integers", {Mode::batch, Mode::dims, Mode::rank}).check();
}

// SeparableConv1D: images of height 1, each channel by itself and then all.
TEST(DepthwiseConv2dNative, OfSequences) {
  for (const char* padding : {"SAME", "VALID"})
    for (const std::int64_t stride : {1, 2})
      for (const std::int64_t times : {1, 2})
        graph_case("separable", [=](Builder& b) {
          const std::string one = b.constant_of<std::int32_t>({}, {1}), zero = b.constant_of<std::int32_t>({}, {0});
          const std::string x = b.op("ExpandDims", {b.input(f32, {2, 7, 3}), one});
          const std::string k = b.op("ExpandDims", {b.const_input(f32, {3, 3, times}), zero});
          const std::string p = b.op("ExpandDims", {b.const_input(f32, {1, 3 * times, 4}), b.constant_of<std::int32_t>({}, {0})});
          const std::string d = b.op("DepthwiseConv2dNative", {x, k}, {{"strides", Ints{1, stride, stride, 1}}, {"padding", std::string(padding)}});
          const std::string y = b.op("Conv2D", {d, p}, {{"strides", Ints{1, 1, 1, 1}}, {"padding", std::string("VALID")}});
          b.output(b.op("Squeeze", {y}, {{"squeeze_dims", Ints{1}}}));
          const std::string alone = b.op("DepthwiseConv2dNative", {b.op("ExpandDims", {b.input(f32, {2, 7, 3}), one}), k}, {{"strides", Ints{1, 1, 1, 1}}, {"padding", std::string(padding)}});
          b.output(b.op("Squeeze", {alone}, {{"squeeze_dims", Ints{1}}}));
        }).check();
}

}  // namespace
}  // namespace t2o::numeric
