// --quantize-mode: what fake quantization becomes, against TensorFlow's own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness.h"

namespace t2o::numeric {
namespace {

void as_codes(Options& o) { o.quantize_mode = tf2onnx::QuantizeMode::qdq; }
void as_float(Options& o) { o.quantize_mode = tf2onnx::QuantizeMode::as_float; }

struct Range {
  float low, high;
};
const std::vector<Range> kRanges = {{-6, 6}, {-1, 5}, {0, 4}, {-3, 0}, {-0.1F, 0.7F}, {1, 4}, {-3, -1}};

// Halves may go to the next code; one code is the tolerance.
TEST(QuantizeMode, ActivationsAreWithinOneCode) {
  for (const Range& r : kRanges)
    for (const std::int64_t bits : {3, 4, 8})
      for (const bool narrow : {false, true}) {
        const double code = (static_cast<double>(r.high) - static_cast<double>(r.low)) / (std::exp2(bits) - (narrow ? 2 : 1));
        const double step = std::max(code, std::max(r.high, -r.low) / (std::exp2(bits) - (narrow ? 2 : 1)));
        op_case("FakeQuantWithMinMaxVars").in(f32, {2, 40}).range(-8, 8).scalar(r.low).scalar(r.high).attr("num_bits", bits).attr("narrow_range", narrow)
            .options(as_codes).tol(0, step * 1.01).gives({{"QuantizeLinear", 1}, {"DequantizeLinear", 1}}).only_opsets({11, 13, 21}).check();
      }
  op_case("FakeQuantWithMinMaxArgs").in(f32, {3, 40}).range(-8, 8).options(as_codes).tol(0, 12.0 / 255 * 1.01).gives({{"QuantizeLinear", 1}}).only_opsets({21}).check();
}

// Codes that are stored are those of TensorFlow.
TEST(QuantizeMode, WeightsAreExact) {
  for (const Range& r : kRanges)
    for (const bool narrow : {false, true})
      op_case("FakeQuantWithMinMaxVars").in(f32, {5, 8}, constant).scalar(r.low).scalar(r.high).attr("narrow_range", narrow)
          .options(as_codes).tol(0, 1e-6).gives({{"QuantizeLinear", 0}, {"DequantizeLinear", 1}}).only_opsets({11, 21}).check();
  op_case("FakeQuantWithMinMaxVarsPerChannel").in(f32, {3, 3, 2, 4}, constant).values<float>({4}, {-1, -0.3F, -0.1F, -2}, constant).values<float>({4}, {1, 0.9F, 0.5F, 0.1F}, constant)
      .options(as_codes).tol(0, 1e-6).gives({{"DequantizeLinear", 1}}, 13).only_opsets({11, 13, 21}).check();
}

TEST(QuantizeMode, QuantizeAndDequantize) {
  for (const bool is_signed : {true, false})
    for (const bool narrow : {false, true})
      for (const std::int64_t bits : {4, 8}) {
        const auto with = [&](Case c) {
          return c.attr("signed_input", is_signed).attr("narrow_range", narrow).attr("num_bits", bits).options(as_codes).only_opsets({13, 21});
        };
        with(op_case("QuantizeAndDequantizeV2").in(f32, {4, 30}).scalar(is_signed ? -1.0F : 0.0F).scalar(1.5F).attr("range_given", true))
            .tol(0, 1.01 * 1.5 / (std::exp2(bits - 1) - 1)).gives({{"QuantizeLinear", 1}, {"DequantizeLinear", 1}}).check();
        with(op_case("QuantizeAndDequantizeV4").in(f32, {4, 3, 6}, constant).values<float>({3}, {0, 0, 0}, constant).values<float>({3}, {0, 0, 0}, constant).attr("range_given", false).attr("axis", std::int64_t{1}))
            .tol(1e-6, 1e-6).gives({{"QuantizeLinear", 0}, {"DequantizeLinear", is_signed || bits < 8 ? 1U : 0U}}).note("numbers below 0 have no unsigned codes").check();
        with(op_case("QuantizeAndDequantizeV4").in(f32, {4, 3}, constant).scalar(-0.7F).scalar(0.5F).attr("range_given", true))
            .tol(1e-6, 1e-6).gives({{"QuantizeLinear", 0}, {"DequantizeLinear", 1}}).check();
      }
}

// What has no codes stays exact.
TEST(QuantizeMode, WhatStaysExact) {
  op_case("FakeQuantWithMinMaxVars").in(f32, {2, 20}).scalar(-2.0F, fed).scalar(3.0F, fed).options(as_codes).tol(1e-6, 1e-6).gives({{"QuantizeLinear", 0}}).only_opsets({21}).check();
  op_case("FakeQuantWithMinMaxVars").in(f32, {2, 20}).scalar(0.0F).scalar(0.0F).options(as_codes).tol(1e-6, 1e-6).gives({{"QuantizeLinear", 0}}).only_opsets({21}).check();
  op_case("FakeQuantWithMinMaxArgs").in(f32, {2, 20}).attr("num_bits", std::int64_t{12}).options(as_codes).tol(1e-6, 1e-6).gives({{"QuantizeLinear", 0}}).only_opsets({21}).check();
}

std::string fake_quantized(Builder& b, const std::string& x, float low, float high) {
  return b.op("FakeQuantWithMinMaxVars", {x, b.constant_of<float>({}, {low}), b.constant_of<float>({}, {high})});
}

// What moves the elements of an image of 8 x 8 pixels or of 4 channels.
using Step = std::string (*)(Builder&, const std::string&);
std::string stay(Builder&, const std::string& x) { return x; }
std::string pool(Builder& b, const std::string& x) {
  return b.op("MaxPool", {x}, {{"ksize", Ints{1, 2, 2, 1}}, {"strides", Ints{1, 2, 2, 1}}, {"padding", "SAME"}});
}
std::string slice(Builder& b, const std::string& x) { return b.op("Slice", {x, b.constant_of<std::int32_t>({4}, {0, 1, 0, 0}), b.constant_of<std::int32_t>({4}, {1, 3, 4, -1})}); }
std::string squeeze(Builder& b, const std::string& x) { return b.op("Squeeze", {x}, {{"squeeze_dims", Ints{0}}}); }
std::string expand(Builder& b, const std::string& x) { return b.op("ExpandDims", {b.op("Squeeze", {x}, {{"squeeze_dims", Ints{0}}}), b.constant_of<std::int32_t>({}, {0})}); }
std::string transpose(Builder& b, const std::string& x) { return b.op("Transpose", {x, b.constant_of<std::int32_t>({4}, {0, 2, 1, 3})}); }
std::string relu_and_pool(Builder& b, const std::string& x) { return pool(b, b.op("Relu", {x})); }

// ONNX Runtime must not quantize the weights, also where it moves codes past other operators.
TEST(QuantizeMode, LayersOfFloatsBetweenCodes) {
  const auto layer = [](Step before, Step behind, std::int64_t channels) {
    return graph_case("layer", [=](Builder& b) {
             const std::string x = before(b, fake_quantized(b, b.input(f32, {1, 8, 8, channels}, verify::Range{-8, 8}), -6, 6));
             const std::string w = b.const_input(f32, {3, 3, channels, 8}, verify::Range{-0.6, 0.6});
             const std::string y = b.op("Conv2D", {x, w}, {{"strides", Ints{1, 1, 1, 1}}, {"padding", "SAME"}});
             b.output(fake_quantized(b, behind(b, y), -8, 8));
           }).options(as_codes).tol(1e-6, 1e-6).gives({{"QuantizeLinear", 2}, {"Conv", 1}}).only_opsets({13, 21});
  };
  for (const Step before : {stay, pool, slice, expand, transpose}) layer(before, stay, 4).check();
  for (const Step behind : {pool, slice, squeeze, transpose, relu_and_pool}) layer(pool, behind, 4).check();
  layer(stay, stay, 1).check();
}

// ONNX Runtime must not make one pair of two.
TEST(QuantizeMode, OneBehindTheOther) {
  const auto twice = [](const char* between, float low, float high) {
    return graph_case("twice", [=](Builder& b) {
             const std::string x = fake_quantized(b, b.input(f32, {4, 100}, verify::Range{-8, 8}), -6, 6);
             const std::string y = *between != 0 ? b.op(between, {x}) : x;
             b.output(fake_quantized(b, fake_quantized(b, fake_quantized(b, y, low, high), -3, 2), -2.9F, 2.2F));
           }).options(as_codes).tol(1e-6, 1e-6).gives({{"QuantizeLinear", 4}, {"DequantizeLinear", 4}}).only_opsets({11, 21});
  };
  twice("", -5.3F, 5.1F).check();
  twice("Relu", 0, 5.1F).check();
  twice("Relu6", 0, 5.1F).check();
}

// A layer with weights, a bias and an activation, as it is trained with fake quantization.
void trained_layer(Builder& b) {
  const auto vars = [&](const std::string& x, float low, float high, bool narrow) {
    return b.op("FakeQuantWithMinMaxVars", {x, b.constant_of<float>({}, {low}), b.constant_of<float>({}, {high})}, {{"narrow_range", narrow}});
  };
  const std::string x = vars(b.input(f32, {1, 8, 8, 3}, verify::Range{-1, 1}), -1, 1, false);
  const std::string w = b.const_input(f32, {3, 3, 3, 4}, verify::Range{-0.4, 0.4});
  const std::string wq = b.op("FakeQuantWithMinMaxVarsPerChannel", {w, b.constant_of<float>({4}, {-0.4F, -0.4F, -0.5F, -0.4F}), b.constant_of<float>({4}, {0.4F, 0.4F, 0.5F, 0.4F})}, {{"narrow_range", true}});
  const std::string conv = b.op("Conv2D", {x, wq}, {{"strides", Ints{1, 1, 1, 1}}, {"padding", "SAME"}});
  const std::string sum = b.op("BiasAdd", {conv, b.const_input(f32, {4}, verify::Range{-1, 1})});
  b.output(vars(b.op("Relu", {sum}), 0, 3, false));
}

TEST(QuantizeMode, ATrainedLayer) {
  graph_case("layer", trained_layer).options(as_codes).tol(0, 3.0 / 255 * 1.01)
      .gives({{"QuantizeLinear", 1}, {"DequantizeLinear", 1}, {"QLinearConv", 1}, {"Conv", 0}}).only_opsets({13, 21}).check();
  graph_case("layer", trained_layer).options(as_float).tol(0, 0.1)
      .gives({{"QuantizeLinear", 0}, {"DequantizeLinear", 0}, {"Conv", 1}, {"Relu", 1}, {"Round", 0}}).only_opsets({21}).check();
}

}  // namespace
}  // namespace t2o::numeric
