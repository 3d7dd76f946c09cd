#include <gtest/gtest.h>

#include "harness.h"
#include "old_ops.h"

namespace t2o::numeric {
namespace {

struct Transposed {
  std::int32_t size;
  std::int64_t kernel, stride;
  std::string padding;
  std::int64_t source() const {
    return padding == "SAME" ? (size + stride - 1) / stride : (size - kernel + stride) / stride;
  }
};

Case transposed(const Transposed& t, Kind sizes) {
  return op_case("Conv2DBackpropInput")
      .i32s({1, t.size, t.size, 2}, sizes)
      .in(f32, {t.kernel, t.kernel, 2, 3}, constant)
      .in(f32, {1, t.source(), t.source(), 3})
      .attr("strides", Ints{1, t.stride, t.stride, 1})
      .attr("padding", t.padding);
}

TEST(Conv2DBackpropInput, ConstantSizes) {
  for (const std::int32_t size : {6, 7})
    for (const std::int64_t kernel : {1, 2, 3, 4})
      for (const std::int64_t stride : {1, 2, 3})
        for (const char* padding : {"SAME", "VALID"})
          transposed({size, kernel, stride, padding}, constant).check();
}

TEST(Conv2DBackpropInput, RuntimeSizes) {
  for (const std::int32_t size : {6, 7})
    for (const std::int64_t kernel : {1, 2, 3})
      for (const std::int64_t stride : {1, 2, 3})
        for (const char* padding : {"SAME", "VALID"})
          transposed({size, kernel, stride, padding}, fed).check();
}

TEST(Conv2DBackpropInput, SizesOfTheImageAlone) {
  for (const Kind sizes : {constant, fed})
    op_case("Conv2DBackpropInput")
        .i32s({7, 8}, sizes)
        .in(f32, {3, 3, 2, 3}, constant)
        .in(f32, {1, 4, 4, 3})
        .attr("strides", Ints{1, 2, 2, 1})
        .attr("padding", "SAME")
        .check();
}

TEST(Conv2DBackpropInput, KernelsWhoseSizeShowsWhenItRuns) {
  for (const std::int64_t kernel : {1, 2, 3})
    for (const std::int64_t stride : {1, 2, 3})
      for (const char* padding : {"SAME", "VALID"}) {
        const Transposed t{7, kernel, stride, padding};
        for (const Kind sizes : {constant, fed})
          op_case("Conv2DBackpropInput").i32s({1, 7, 7, 2}, sizes).in(f32, {kernel, kernel, 2, 3}).in(f32, {1, t.source(), t.source(), 3})
              .attr("strides", Ints{1, stride, stride, 1}).attr("padding", padding).check();
      }
  op_case("Conv2DBackpropInput").i32s({1, 7, 8, 2}).in(f32, {3, 3, 2, 3}).in(f32, {1, 4, 9, 3}).attr("strides", Ints{1, 2, 1, 1})
      .attr("padding", "EXPLICIT").attr("explicit_paddings", Ints{0, 0, 1, 1, 2, 1, 0, 0}).check();
  old_case("Conv3DBackpropInput", 9, {{f32, {1, 4, 5, 6, 2}}, {f32, {2, 3, 2, 2, 3}}, {f32, {1, 2, 3, 3, 3}}},
           {{"strides", Ints{1, 2, 2, 2, 1}}, {"padding", "SAME"}}).check();
  op_case("Conv3DBackpropInputV2").i32s({1, 4, 5, 6, 2}).in(f32, {2, 3, 2, 2, 3}).in(f32, {1, 2, 3, 3, 3}).attr("strides", Ints{1, 2, 2, 2, 1})
      .attr("padding", "SAME").check();
}

TEST(Conv2DBackpropInput, ExplicitPadding) {
  for (const Kind sizes : {constant, fed})
    op_case("Conv2DBackpropInput")
        .i32s({1, 7, 8, 2}, sizes)
        .in(f32, {3, 3, 2, 3}, constant)
        .in(f32, {1, 4, 9, 3})
        .attr("strides", Ints{1, 2, 1, 1})
        .attr("padding", "EXPLICIT")
        .attr("explicit_paddings", Ints{0, 0, 1, 1, 2, 1, 0, 0})
        .check();
}

// Sizes stride * size + more: for these the plan is one for all sizes, and nothing is cut out when the model runs.
void check_sizes_from_the_shape(const std::string& padding, std::int64_t kernel, std::int32_t stride, std::int32_t more) {
  const std::string title = "Keras' Conv2DTranspose " + padding + " " + std::to_string(kernel) + " " + std::to_string(stride) + " " + std::to_string(more);
  graph_case(title, [=](Builder& b) {
    const std::string x = b.input(f32, {2, 4, 5, 3});
    const std::string shape = b.op("Shape", {x});
    const auto at = [&](std::int32_t i) {
      return b.op("StridedSlice",
                  {shape, b.constant_of<std::int32_t>({1}, {i}), b.constant_of<std::int32_t>({1}, {i + 1}),
                   b.constant_of<std::int32_t>({1}, {1})},
                  {{"shrink_axis_mask", std::int64_t{1}}});
    };
    const std::string factor = b.constant_of<std::int32_t>({}, {stride}), rest = b.constant_of<std::int32_t>({}, {more});
    const auto grown = [&](std::int32_t i) { return b.op("AddV2", {b.op("Mul", {at(i), factor}), rest}); };
    const std::string height = grown(1), width = grown(2);
    const std::string sizes = b.op("Pack", {Strings{at(0), height, width, b.constant_of<std::int32_t>({}, {5})}});
    b.output(b.op("Conv2DBackpropInput", {sizes, b.const_input(f32, {kernel, kernel, 5, 3}), x},
                  {{"strides", Ints{1, stride, stride, 1}}, {"padding", padding}}));
  }).check();
}

TEST(Conv2DBackpropInput, SizesFromTheShape) {
  for (const std::int64_t kernel : {1, 2, 3, 4, 5}) {
    check_sizes_from_the_shape("SAME", kernel, 2, 0);
    check_sizes_from_the_shape("SAME", kernel, 2, -1);
    check_sizes_from_the_shape("SAME", kernel, 3, -2);
  }
  for (const std::int32_t more : {1, 2}) check_sizes_from_the_shape("VALID", 3, 2, more);
  check_sizes_from_the_shape("VALID", 2, 3, -1);
  check_sizes_from_the_shape("VALID", 2, 3, 1);
}

TEST(Conv2DBackpropInput, Dtypes) {
  op_case("Conv2DBackpropInput")
      .i32s({1, 8, 8, 2})
      .in(any, {3, 3, 2, 3}, constant)
      .in(any, {1, 4, 4, 3})
      .attr("strides", Ints{1, 2, 2, 1})
      .attr("padding", "SAME")
      .dtypes({f32, f64})
      .check();
}

TEST(Conv3DBackpropInput, PaddingStrides) {
  for (const Kind sizes : {constant, fed})
    for (const char* padding : {"SAME", "VALID"}) {
      const std::int64_t d = std::string(padding) == "SAME" ? 3 : 2;
      op_case("Conv3DBackpropInputV2")
          .i32s({1, 5, 6, 5, 2}, sizes)
          .in(f32, {3, 3, 3, 2, 3}, constant)
          .in(f32, {1, d, std::string(padding) == "SAME" ? 6 : 4, d, 3})
          .attr("strides", Ints{1, 2, 1, 2, 1})
          .attr("padding", padding)
          .check();
    }
}

TEST(DepthwiseConv2dBackpropInput, MultipliersAndStrides) {
  for (const std::int64_t multiplier : {1, 2})
    for (const std::int64_t stride : {1, 2})
      op_case("DepthwiseConv2dNativeBackpropInput")
          .i32s({1, 6, 6, 3})
          .in(f32, {3, 3, 3, multiplier}, constant)
          .in(f32, {1, 6 / stride, 6 / stride, 3 * multiplier})
          .attr("strides", Ints{1, stride, stride, 1})
          .attr("padding", "SAME")
          .check();
}

TEST(FilterGradient, PaddingStridesAndGroups) {
  for (const std::int64_t size : {6, 7})
    for (const std::int64_t kernel : {1, 2, 3})
      for (const std::int64_t stride : {1, 2, 3})
        for (const char* padding : {"SAME", "VALID"}) {
          const std::int64_t out = padding[0] == 'S' ? (size + stride - 1) / stride : (size - kernel + stride) / stride;
          const auto k = static_cast<std::int32_t>(kernel);
          op_case("Conv2DBackpropFilter").in(f32, {2, size, size, 3}).i32s({k, k, 3, 4}).in(f32, {2, out, out, 4})
              .attr("strides", Ints{1, stride, stride, 1}).attr("padding", padding).check();
          op_case("DepthwiseConv2dNativeBackpropFilter").in(f32, {2, size, size, 3}).i32s({k, k, 3, 2}).in(f32, {2, out, out, 6})
              .attr("strides", Ints{1, stride, stride, 1}).attr("padding", padding).check();
        }
  op_case("Conv2DBackpropFilter").in(f32, {2, 7, 8, 2}).i32s({3, 3, 2, 3}).in(f32, {2, 4, 9, 3}).attr("strides", Ints{1, 2, 1, 1})
      .attr("padding", "EXPLICIT").attr("explicit_paddings", Ints{0, 0, 1, 1, 2, 1, 0, 0}).check();
  op_case("Conv3DBackpropFilterV2").in(f32, {1, 4, 5, 6, 2}).i32s({2, 3, 2, 2, 3}).in(f32, {1, 2, 3, 3, 3}).attr("strides", Ints{1, 2, 2, 2, 1})
      .attr("padding", "SAME").check();
  op_case("Conv2DBackpropFilter").in(any, {2, 6, 6, 3}).i32s({3, 3, 3, 2}).in(any, {2, 6, 6, 2}).attr("strides", Ints{1, 1, 1, 1})
      .attr("padding", "SAME").dtypes({f32, f64}).check();
  op_case("Conv2DBackpropFilter").in(f16, {2, 6, 6, 3}).i32s({3, 3, 3, 2}).in(f16, {2, 6, 6, 2}).attr("strides", Ints{1, 1, 1, 1})
      .attr("padding", "SAME").tol(2e-2, 2e-2).note("summed in f16").check();
}

// TensorFlow has no groups there on CPUs: the gradient of each, side by side.
TEST(FilterGradient, Groups) {
  verify::Random random(3);
  const engines::Feeds feeds = {{"x", verify::random_tensor(f32, {2, 7, 8, 4}, random, {})},
                                {"g", verify::random_tensor(f32, {2, 5, 7, 6}, random, {})}};
  const std::vector<TfAttr> attrs = {{"strides", Ints{1, 1, 1, 1}}, {"padding", "VALID"}};
  const auto graph_of = [&](bool in_parts) {
    engines::TfGraph g;
    const std::string x = g.placeholder("x", f32, Shape({2, 7, 8, 4})), dy = g.placeholder("g", f32, Shape({2, 5, 7, 6}));
    const std::string sizes = g.constant("sizes", Tensor::of<std::int32_t>({4}, {3, 2, 2, in_parts ? 3 : 6}));
    const std::string axis = g.constant("axis", Tensor::scalar<std::int32_t>(3));
    if (!in_parts) {
      g.add({"Conv2DBackpropFilter", "y", {x, sizes, dy}, attrs});
      return g;
    }
    const std::string xs = g.add({"Split", "xs", {axis, x}, {{"num_split", std::int64_t{2}}}});
    const std::string gs = g.add({"Split", "gs", {axis, dy}, {{"num_split", std::int64_t{2}}}});
    const std::string first = g.add({"Conv2DBackpropFilter", "first", {xs, sizes, gs}, attrs});
    const std::string second = g.add({"Conv2DBackpropFilter", "second", {xs + ":1", sizes, gs + ":1"}, attrs});
    g.add({"ConcatV2", "y", {Strings{first, second}, axis}});
    return g;
  };
  check_against(graph_of(true), graph_of(false), feeds, {11, 18, 21});
}

}  // namespace
}  // namespace t2o::numeric
