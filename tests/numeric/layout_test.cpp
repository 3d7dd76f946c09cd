// --layout: the same numbers, whichever operators work channels last.
#include <gtest/gtest.h>

#include <algorithm>

#include "harness.h"

namespace t2o::numeric {
namespace {

using tf2onnx::Layout;

Case with(Case c, Layout layout) {
  c.options([layout](Options& o) { o.layout = layout; }).only_opsets({15, 18, 21, 26});
  return c;
}
Case nhwc(Case c) { return with(std::move(c), Layout::nhwc); }

TEST(Layout, Functions) {
  nhwc(op_case("Conv2D")
           .in(f32, {2, 8, 9, 4})
           .in(f32, {3, 3, 4, 6}, constant)
           .attr("strides", Ints{1, 2, 2, 1})
           .attr("padding", "SAME"))
      .gives({{"ai.tf2onnx.nhwc::Conv", 1}, {"Transpose", 0}})
      .check();
  nhwc(op_case("Conv3D")
           .in(f32, {1, 5, 6, 7, 3})
           .in(f32, {2, 2, 2, 3, 4}, constant)
           .attr("strides", Ints{1, 1, 1, 1, 1})
           .attr("padding", "SAME"))
      .gives({{"ai.tf2onnx.nhwc::Conv3D", 1}, {"Transpose", 0}})
      .check();
  nhwc(op_case("DepthwiseConv2dNative")
           .in(f32, {2, 8, 8, 3})
           .in(f32, {3, 3, 3, 2}, constant)
           .attr("strides", Ints{1, 1, 1, 1})
           .attr("padding", "SAME"))
      .gives({{"ai.tf2onnx.nhwc::Conv", 1}, {"Transpose", 0}})
      .check();
  for (const char* op : {"MaxPool", "AvgPool"})
    nhwc(op_case(op)
             .in(f32, {2, 7, 8, 3})
             .attr("ksize", Ints{1, 2, 3, 1})
             .attr("strides", Ints{1, 2, 2, 1})
             .attr("padding", "SAME"))
        .gives({{"ai.tf2onnx.nhwc::" + std::string(op == std::string("MaxPool") ? op : "AveragePool"), 1}, {"Transpose", 0}})
        .check();
  nhwc(op_case("AvgPool3D")
           .in(f32, {1, 4, 6, 5, 2})
           .attr("ksize", Ints{1, 2, 2, 2, 1})
           .attr("strides", Ints{1, 2, 2, 2, 1})
           .attr("padding", "VALID"))
      .gives({{"ai.tf2onnx.nhwc::AveragePool3D", 1}, {"Transpose", 0}})
      .check();
  nhwc(op_case("DepthToSpace").in(f32, {2, 3, 4, 8}).attr("block_size", 2)).gives({{"ai.tf2onnx.nhwc::DepthToSpace", 1}, {"Transpose", 0}}).check();
  nhwc(op_case("SpaceToDepth").in(f32, {2, 4, 6, 3}).attr("block_size", 2)).gives({{"ai.tf2onnx.nhwc::SpaceToDepth", 1}, {"Transpose", 0}}).check();
  nhwc(op_case("LRN").in(f32, {2, 4, 5, 7}).attr("depth_radius", 2)).gives({{"ai.tf2onnx.nhwc::LRN", 1}, {"Transpose", 0}}).check();
  for (const Kind size : {constant, fed})
    nhwc(op_case("ResizeBilinear").in(f32, {2, 4, 5, 3}).i32s({8, 7}, size).attr("half_pixel_centers", true))
        .gives({{"ai.tf2onnx.nhwc::Resize", 1}, {"Transpose", 0}})
        .check();
}

// Image -> Conv, bias, Relu -> pool -> Conv with a skip -> mean: nothing but functions and elementwise
// operators.
void small_net(Builder& b) {
  const std::string x = b.input(f32, {2, 8, 8, 3});
  const auto conv = [&](const std::string& in, std::int64_t from, std::int64_t to) {
    const std::string w = b.const_input(f32, {3, 3, from, to}), bias = b.const_input(f32, {to});
    const std::string y = b.op("Conv2D", {in, w}, {{"strides", Ints{1, 1, 1, 1}}, {"padding", "SAME"}});
    return b.op("Relu", {b.op("BiasAdd", {y, bias})});
  };
  const std::string first = conv(x, 3, 4);
  const std::string pooled = b.op(
      "MaxPool", {first}, {{"ksize", Ints{1, 2, 2, 1}}, {"strides", Ints{1, 2, 2, 1}}, {"padding", "VALID"}});
  const std::string skipped = b.op("AddV2", {conv(pooled, 4, 4), pooled});
  b.output(b.op("Mean", {skipped, b.constant_of<std::int32_t>({2}, {1, 2})}));
  b.output(skipped);
}

TEST(Layout, Nets) {
  for (const Layout layout : {Layout::automatic, Layout::nchw, Layout::nhwc})
    with(graph_case("a small net", small_net), layout)
        .gives({{"Transpose", layout == Layout::nhwc ? 0U : 2U}, {layout == Layout::nhwc ? "ai.tf2onnx.nhwc::Conv" : "Conv", 2}})
        .check();
}

// ShuffleNet: the channels of the groups of one convolution go to each group of the next.
void shuffled_net(Builder& b) {
  const auto conv = [&](const std::string& x, std::int64_t own) {
    return b.op("Conv2D", {x, b.const_input(f32, {1, 1, own, 6})},
                {{"strides", Ints{1, 1, 1, 1}}, {"padding", "SAME"}});
  };
  const std::string first = b.op("Relu", {conv(b.input(f32, {2, 4, 5, 3}), 3)});
  const std::string groups = b.op("Reshape", {first, b.constant_of<std::int32_t>({5}, {-1, 4, 5, 2, 3})});
  const std::string swapped = b.op("Transpose", {groups, b.constant_of<std::int32_t>({5}, {0, 1, 2, 4, 3})});
  const std::string shuffled = b.op("Reshape", {swapped, b.constant_of<std::int32_t>({4}, {-1, 4, 5, 6})});
  b.output(b.op("AddV2", {conv(shuffled, 6), first}));
}

TEST(Layout, ShuffledChannels) {
  for (const Layout layout : {Layout::automatic, Layout::nchw, Layout::nhwc})
    with(graph_case("shuffled channels", shuffled_net), layout)
        .gives({{"Transpose", layout == Layout::nhwc ? 1U : 3U}, {layout == Layout::nhwc ? "ai.tf2onnx.nhwc::Conv" : "Conv", 2}})
        .check();
}

TEST(Layout, FunctionsNeedAnOpset) {
  op_case("AvgPool")
      .in(f32, {1, 4, 4, 2})
      .attr("ksize", Ints{1, 2, 2, 1})
      .attr("strides", Ints{1, 2, 2, 1})
      .attr("padding", "VALID")
      .options([](Options& o) { o.layout = Layout::nhwc; })
      .only_opsets({11, 14, 15})
      .refuses_below(15, Code::opset_too_low, "--layout nhwc")
      .check();
}

// One behind the other, with work between, and the last one an output: every way of taking them out or moving
// them.
TEST(Layout, ChainsOfTransposes) {
  const std::vector<Ints> perms = {{0, 2, 1}, {1, 0, 2}, {1, 2, 0}};
  for (const Ints& perm : perms)
    for (int form = 0; form < 12; ++form)
      graph_case("chain of transposes",
                 [=](Builder& b) {
                   const std::string p =
                       b.constant_of<std::int32_t>({3}, std::vector<std::int32_t>(perm.begin(), perm.end()));
                   const auto turned = [&](const std::string& x) { return b.op("Transpose", {x, p}); };
                   const auto work = [&](const std::string& x) {
                     return form % 3 == 0   ? b.op("Softmax", {x})
                            : form % 3 == 1 ? b.op("Relu", {x})
                                            : b.op("AddV2", {x, x});
                   };
                   std::string y = work(turned(b.input(f32, {3, 3, 3})));
                   if (form / 3 == 1) y = turned(y);
                   if (form / 3 == 2) y = turned(turned(y));
                   if (form / 3 == 3) b.output(y), y = turned(work(turned(y)));
                   b.output(turned(y));
                 })
          .only_opsets({11, 13, 21})
          .check();
}

std::string pointwise(Builder& b, const std::string& x, std::int64_t from, std::int64_t to) {
  return b.op("Conv2D", {x, b.const_input(f32, {1, 1, from, to})}, {{"strides", Ints{1, 1, 1, 1}}, {"padding", "SAME"}});
}

std::string reshaped(Builder& b, const std::string& x, const std::vector<std::int32_t>& dims) {
  return b.op("Reshape", {x, b.constant_of<std::int32_t>({std::ssize(dims)}, dims)});
}

std::string turned(Builder& b, const std::string& x, const std::vector<std::int32_t>& perm) {
  return b.op("Transpose", {x, b.constant_of<std::int32_t>({std::ssize(perm)}, perm)});
}

// Convolutions of each image of a video, and one over time: the only Transposes are in front of that one and
// behind it. Batch, time, height and width have the same size, or not.
TEST(Layout, Videos) {
  for (const std::int32_t size : {3, 4, 5})
    graph_case("a video", [=](Builder& b) {
      const std::string x = b.input(f32, {4, 4, size, 4, 2});
      const std::string image = b.op("Relu", {pointwise(b, reshaped(b, x, {-1, size, 4, 2}), 2, 4)});
      const std::string video = reshaped(b, image, {-1, 4, size, 4, 4});
      const std::string gate = b.op("Sigmoid", {b.op("Mean", {video, b.constant_of<std::int32_t>({2}, {2, 3})}, {{"keep_dims", true}})});
      const std::string rows = reshaped(b, b.op("Mul", {video, gate}), {-1, 4, 4 * size, 4});
      const std::string kernel = b.const_input(f32, {2, 1, 4, 1});
      const std::string later = b.op("Tanh", {b.op("DepthwiseConv2dNative", {rows, kernel}, {{"strides", Ints{1, 1, 1, 1}}, {"padding", "VALID"}})});
      const std::string video_2 = b.op("Relu", {reshaped(b, later, {-1, 3, size, 4, 4})});
      b.output(pointwise(b, reshaped(b, video_2, {-1, size, 4, 4}), 4, 3));
    }).gives({{"Transpose", 4}, {"Conv", 3}}).check();
}

// Windows of an image between convolutions. A Transpose parts them, and one joins them: merged with those of the
// convolutions they would move single elements.
TEST(Layout, Windows) {
  graph_case("windows", [](Builder& b) {
    const std::string image = pointwise(b, b.input(f32, {2, 4, 6, 2}), 2, 4);
    const std::string parts = turned(b, reshaped(b, image, {-1, 2, 2, 3, 2, 2, 2}), {0, 5, 1, 3, 2, 4, 6});
    const std::string rows = reshaped(b, parts, {-1, 2, 2, 3, 4, 2});
    const std::string weights = b.op("Softmax", {b.op("BatchMatMulV2", {rows, rows}, {{"adj_y", true}})});
    const std::string mixed = reshaped(b, b.op("BatchMatMulV2", {weights, rows}), {-1, 2, 2, 3, 2, 2, 2});
    b.output(pointwise(b, reshaped(b, turned(b, mixed, {0, 2, 4, 3, 5, 1, 6}), {-1, 4, 6, 4}), 4, 3));
  }).gives({{"Transpose", 7}}).check();
}

// Each order of a video's axes behind an image, and back: what a Reshape carries, it carries right.
TEST(Layout, EveryOrderBetweenReshapes) {
  std::vector<std::int32_t> perm = {0, 1, 2, 3};
  do {
    graph_case("an order", [=](Builder& b) {
      const std::string image = pointwise(b, b.input(f32, {4, 4, 4, 2}), 2, 4);
      const std::string parts = b.op("Relu", {reshaped(b, image, {-1, 2, 2, 4, 4, 4})});
      const std::string merged = b.op("Sigmoid", {reshaped(b, parts, {4, 4, 4, 4})});
      const std::string moved = b.op("Tanh", {turned(b, merged, perm)});
      const std::string again = b.op("Softmax", {reshaped(b, moved, {-1, 8, 2, 4})});
      b.output(pointwise(b, reshaped(b, again, {-1, 4, 4, 4}), 4, 3));
      b.output(again);
    }).only_opsets({13, 21}).check();
  } while (std::ranges::next_permutation(perm).found);
}

// The rank of what is transposed is known, that of the input is not.
TEST(Layout, TransposesOfAnInputOfUnknownRank) {
  for (const auto layout : {tf2onnx::Layout::automatic, tf2onnx::Layout::nhwc})
    graph_case("a sum between transposes", [](Builder& b) {
      const std::string x = b.op("Transpose", {b.input(f32, {2, 4, 2, 3}), b.constant_of<std::int32_t>({4}, {0, 3, 1, 2})});
      const std::string y = b.op("Transpose", {b.op("AddV2", {x, x}), b.constant_of<std::int32_t>({4}, {0, 2, 3, 1})});
      b.output(b.op("Pack", {Strings{y, y}}, {{"axis", std::int64_t{-3}}}));
    }).options([layout](Options& o) { o.layout = layout; }).only_opsets({18, 21}).check();
}

}  // namespace
}  // namespace t2o::numeric
