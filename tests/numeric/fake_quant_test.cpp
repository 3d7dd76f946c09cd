#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"
#include "old_ops.h"

namespace t2o::numeric {
namespace {

const std::vector<float> kRamp = {-8,    -6.2F, -6,   -3.3F, -1,   -0.51F, -0.5F, -0.49F, -0.02F, 0,
                                  0.01F, 0.3F,  0.5F, 1,     1.5F, 2.5F,   4.4F,  5.99F,  6,      9};

Case ramp(const std::string& op) { return op_case(op).values<float>({2, 10}, kRamp); }

TEST(FakeQuant, Args) {
  const std::vector<std::pair<float, float>> ranges = {{-6, 6}, {-1, 5}, {0, 4}, {-3, 0}, {-0.1F, 0.7F}};
  for (const auto& [low, high] : ranges)
    for (const std::int64_t bits : {2, 4, 8, 16})
      for (const bool narrow : {false, true})
        ramp("FakeQuantWithMinMaxArgs")
            .attr("min", low)
            .attr("max", high)
            .attr("num_bits", bits)
            .attr("narrow_range", narrow)
            .tol(1e-6, 1e-6)
            .only_opsets({11, 18})
            .check();
  op_case("FakeQuantWithMinMaxArgs").in(f32, {3, 4, 5}).nan_inf().empty().check();
  op_case("FakeQuantWithMinMaxArgs").in(f32, {}).check();
}

TEST(FakeQuant, Vars) {
  const std::vector<std::pair<float, float>> ranges = {{-6, 6}, {-1, 5}, {1, 4}, {-3, -1}, {0, 0}};
  for (const Kind kind : {constant, fed})
    for (const auto& [low, high] : ranges)
      for (const std::int64_t bits : {3, 8})
        for (const bool narrow : {false, true})
          ramp("FakeQuantWithMinMaxVars")
              .scalar(low, kind)
              .scalar(high, kind)
              .attr("num_bits", bits)
              .attr("narrow_range", narrow)
              .tol(1e-6, 1e-6)
              .only_opsets({11, 13, 18})
              .check();
  op_case("FakeQuantWithMinMaxVars").in(f32, {2, 3}).scalar(-1.0F).scalar(2.0F).nan_inf().empty().check();
}

TEST(FakeQuant, PerChannel) {
  for (const Kind kind : {constant, fed})
    for (const bool narrow : {false, true}) {
      for (const Ints& dims : {Ints{4}, Ints{5, 4}, Ints{2, 3, 3, 4}})
        op_case("FakeQuantWithMinMaxVarsPerChannel")
            .in(f32, dims)
            .values<float>({4}, {-1, -0.3F, 0, -2}, kind)
            .values<float>({4}, {1, 0.9F, 0.5F, 0}, kind)
            .attr("narrow_range", narrow)
            .tol(1e-6, 1e-6)
            .check();
    }
  op_case("FakeQuantWithMinMaxVarsPerChannel")
      .in(f32, {3, 2})
      .values<float>({2}, {0, -2})
      .values<float>({2}, {0, 1})
      .note("one channel without a range")
      .check();
}

// Sums that are rounded already are quantized by fewer nodes: the same levels.
TEST(FakeQuant, OfRoundedSums) {
  struct Range {
    float low, high;
    std::int64_t bits;
    bool narrow;
  };
  const std::vector<Range> ranges = {{0, 6, 8, false}, {-1, 1, 8, true},    {-3, -1, 8, false},
                                     {1, 4, 4, false}, {-2, 0.5F, 2, true}, {0, 12, 8, false},
                                     {0, 0, 8, false}, {-4, 4, 16, false}};
  // of 65,536 levels one that is next may be reached: the sums themselves differ by as much
  const double step = 1.3e-4;
  for (const Range& r : ranges)
    for (const bool clipped : {true, false})
      graph_case(
          "FakeQuant of a convolution",
          [=](Builder& b) {
            std::string x = b.op("Conv2D", {b.input(f32, {2, 4, 4, 2}), b.const_input(f32, {3, 3, 2, 3})},
                                 {{"strides", Ints{1, 1, 1, 1}}, {"padding", "SAME"}});
            if (clipped) x = b.op("Relu6", {b.op("BiasAdd", {x, b.const_input(f32, {3})})});
            const std::vector<TfAttr> attrs = {{"num_bits", r.bits}, {"narrow_range", r.narrow}};
            b.output(b.op("FakeQuantWithMinMaxVars",
                          {x, b.constant_of<float>({}, {r.low}), b.constant_of<float>({}, {r.high})}, attrs));
          })
          .tol(1e-6, r.bits == 16 ? step : 1e-6)
          .check();
}

// Trained with quantization in mind: ONNX Runtime must not take it for a network of integers, whose weights it rounds.
TEST(FakeQuant, BetweenConvolutions) {
  graph_case("FakeQuant between convolutions", [](Builder& b) {
    const auto quantized = [&](const std::string& x, float low, float high) {
      return b.op("FakeQuantWithMinMaxVars", {x, b.constant_of<float>({}, {low}), b.constant_of<float>({}, {high})});
    };
    const auto convolved = [&](const std::string& x, const Ints& filter) {
      return b.op("Conv2D", {x, b.const_input(f32, filter)}, {{"strides", Ints{1, 1, 1, 1}}, {"padding", "VALID"}});
    };
    const std::string x = quantized(convolved(b.input(f32, {1, 5, 5, 2}), {3, 3, 2, 4}), -2, 2);
    b.output(quantized(convolved(x, {3, 3, 4, 2}), -4, 4));
  }).tol(1e-6, 1e-6).check();
}

TEST(QuantizeAndDequantize, V2) {
  const std::vector<std::pair<double, double>> ranges = {{-6, 6}, {-1, 5}, {-5, 1}, {0, 4}, {1, 3}, {-3, -1}};
  for (const bool is_signed : {true, false})
    for (const bool narrow : {true, false})
      for (const auto* mode : {"HALF_TO_EVEN", "HALF_UP"})
        for (const auto& [low, high] : ranges)
          for (const std::int64_t bits : {4, 8})
            for (const Kind kind : {constant, fed})
              ramp("QuantizeAndDequantizeV2")
                  .scalar(static_cast<float>(low), kind)
                  .scalar(static_cast<float>(high), kind)
                  .attr("signed_input", is_signed)
                  .attr("range_given", true)
                  .attr("narrow_range", narrow)
                  .attr("round_mode", mode)
                  .attr("num_bits", bits)
                  .tol(1e-6, 1e-6)
                  .only_opsets({11, 18})
                  .without({Mode::batch, Mode::dims})
                  .check();
}

TEST(QuantizeAndDequantize, OwnRange) {
  for (const bool is_signed : {true, false})
    for (const bool narrow : {true, false})
      for (const std::int64_t axis : {-1, 0, 1, 2}) {
        const Ints dims{4, 3, 5};
        const Ints bounds = axis < 0 ? Ints{} : Ints{dims[static_cast<std::size_t>(axis)]};
        auto c = op_case("QuantizeAndDequantizeV2")
                     .in(f32, dims)
                     .in(f32, bounds, constant)
                     .in(f32, bounds, constant);
        c.attr("signed_input", is_signed).attr("narrow_range", narrow).attr("axis", axis).check();
      }
  for (const DType t : {f32, f64})
    op_case("QuantizeAndDequantizeV2").in(t, {4, 3, 5}).values_as(t, {}, {0}).values_as(t, {}, {0}).check();
  op_case("QuantizeAndDequantizeV2").in(f32, {4, 3}).scalar(0.0F).scalar(0.0F).empty().check();
  op_case("QuantizeAndDequantizeV2")
      .values<float>({3}, {0, 0, 0})
      .scalar(0.0F)
      .scalar(0.0F)
      .note("zeros")
      .check();
}

TEST(QuantizeAndDequantize, ChannelsWithRanges) {
  for (const Kind kind : {constant, fed})
    op_case("QuantizeAndDequantizeV3")
        .in(f32, {4, 3, 5})
        .values<float>({3}, {-1, -2, 0}, kind)
        .values<float>({3}, {1, 0.5F, 2}, kind)
        .scalar(8)
        .attr("range_given", true)
        .attr("axis", std::int64_t{1})
        .check();
}

TEST(QuantizeAndDequantize, V3V4) {
  for (const std::int32_t bits : {4, 8, 12})
    op_case("QuantizeAndDequantizeV3")
        .in(f32, {4, 5})
        .scalar(-1.0F)
        .scalar(1.0F)
        .scalar(bits)
        .attr("range_given", true)
        .check();
  op_case("QuantizeAndDequantizeV3")
      .in(f32, {4, 5})
      .scalar(0.0F)
      .scalar(0.0F)
      .scalar(8)
      .attr("range_given", false)
      .check();
  op_case("QuantizeAndDequantizeV4")
      .in(f32, {4, 5})
      .scalar(-1.0F)
      .scalar(1.0F)
      .attr("range_given", true)
      .attr("round_mode", "HALF_UP")
      .check();
  op_case("QuantizeAndDequantizeV4").in(f32, {4, 5}).scalar(-1.0F).scalar(1.0F).check();
}

TEST(QuantizeAndDequantize, FirstForm) {
  constexpr char kLast = 21;  // the last version that had it
  for (const DType t : {f32, f64})
    for (const bool given : {false, true}) {
      old_case("QuantizeAndDequantize", kLast, {{t, {3, 4}}},
               {{"num_bits", 5}, {"range_given", given}, {"input_min", -0.7f}, {"input_max", 0.9f}})
          .check();
      old_case("QuantizeAndDequantize", kLast, {{t, {3, 4}, verify::Range{0, 2}}},
               {{"signed_input", false}, {"range_given", given}, {"input_min", 0.1f}, {"input_max", 1.5f}})
          .check();
    }
}

TEST(FakeQuant, Gradients) {
  for (const bool narrow : {false, true}) {
    op_case("FakeQuantWithMinMaxArgsGradient")
        .in(f32, {3, 4})
        .in(f32, {3, 4})
        .attr("min", -0.7F)
        .attr("max", 0.9F)
        .attr("narrow_range", narrow)
        .nan_inf()
        .check();
    for (const auto& [min, max] :
         std::vector<std::pair<float, float>>{{-0.7F, 0.9F}, {0.0F, 0.0F}, {-1.3F, 0.1F}})
      op_case("FakeQuantWithMinMaxVarsGradient")
          .in(f32, {3, 4})
          .in(f32, {3, 4})
          .scalar(min, fed)
          .scalar(max, fed)
          .attr("num_bits", std::int64_t{4})
          .attr("narrow_range", narrow)
          .check();
    op_case("FakeQuantWithMinMaxVarsPerChannelGradient")
        .in(f32, {5, 2, 3})
        .in(f32, {5, 2, 3})
        .values<float>({3}, {-0.7F, 0, -2})
        .values<float>({3}, {0.5F, 0, 0.2F})
        .attr("narrow_range", narrow)
        .check();
  }
  op_case("QuantizeAndDequantizeV4Grad")
      .in(any, {3, 4})
      .in(any, {3, 4})
      .values_as(any, {}, {-0.5})
      .values_as(any, {}, {0.75})
      .dtypes({f32, f64})
      .check();
  op_case("QuantizeAndDequantizeV4Grad")
      .values<float>({3}, {NAN, INFINITY, 2})
      .values<float>({3}, {5, 5, NAN})
      .values<float>({}, {-0.5F})
      .values<float>({}, {0.75F})
      .check();
  op_case("QuantizeAndDequantizeV4Grad")
      .in(f32, {3, 4})
      .in(f32, {3, 4})
      .values<float>({4}, {-0.5F, -1, 0, -0.1F})
      .values<float>({4}, {0.5F, 1, 2, 0.1F})
      .attr("axis", std::int64_t{1})
      .refuses(Code::not_constant, "rank", {Mode::rank})
      .check();
}

}  // namespace
}  // namespace t2o::numeric
