#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

const std::vector<float> kRamp = {-8,    -6.2F, -6,   -3.3F, -1,   -0.51F, -0.5F, -0.49F, -0.02F, 0,
                                  0.01F, 0.3F,  0.5F, 1,     1.5F, 2.5F,   4.4F,  5.99F,  6,      9};
const std::vector<std::pair<float, float>> kRanges = {{-6, 6},  {-1, 5}, {0, 4}, {1, 3},
                                                      {-3, -1}, {2, 2},  {0, 0}};

TEST(Quantize, Modes) {
  for (const auto* mode : {"MIN_COMBINED", "MIN_FIRST", "SCALED"})
    for (const DType t : {qi8, qu8, qi16, qu16})
      for (const auto& [low, high] : kRanges)
        for (const Kind kind : {constant, fed})
          op_case("QuantizeV2")
              .values<float>({2, 10}, kRamp)
              .scalar(low, kind)
              .scalar(high, kind)
              .attr("T", t)
              .attr("mode", mode)
              .only_opsets({11, 18})
              .without({Mode::batch, Mode::dims})
              .check();
}

TEST(Quantize, Scaled) {
  for (const auto* mode : {"HALF_TO_EVEN", "HALF_AWAY_FROM_ZERO"})
    for (const DType t : {qi8, qu8, qi32})
      for (const bool narrow : {false, true})
        op_case("QuantizeV2")
            .values<float>({2, 10}, kRamp)
            .scalar(-3.0F)
            .scalar(7.0F)
            .attr("T", t)
            .attr("mode", "SCALED")
            .attr("round_mode", mode)
            .attr("narrow_range", narrow)
            .attr("ensure_minimum_range", 0.5F)
            .check();
}

TEST(Quantize, Axis) {
  for (const auto* mode : {"MIN_COMBINED", "SCALED"})
    for (const DType t : {qi8, qu8})
      for (const Kind kind : {constant, fed})
        op_case("QuantizeV2")
            .in(f32, {2, 3, 4})
            .values<float>({3}, {-1, -0.5F, 0}, kind)
            .values<float>({3}, {1, 2, 3}, kind)
            .attr("T", t)
            .attr("mode", mode)
            .attr("axis", std::int64_t{1})
            .check();
}

TEST(Quantize, Special) {
  op_case("QuantizeV2").in(f32, {2, 3}).scalar(-1.0F).scalar(1.0F).attr("T", qu8).empty().check();
  op_case("QuantizeV2").in(f32, {}).scalar(-1.0F).scalar(1.0F).attr("T", qi8).check();
  for (const Kind kind : {fed, constant})  // the range of one channel is a scalar
    op_case("QuantizeV2").in(f32, {1, 3}).values<float>({1}, {-1}, kind).values<float>({1}, {2}, kind).attr("T", qu8).attr("mode", "SCALED").attr("axis", 0).check();
  op_case("QuantizeV2")
      .in(f32, {2})
      .scalar(-1.0F)
      .scalar(1.0F)
      .attr("T", qi32)
      .refuses(Code::unsupported_type, "overflows")
      .check();
}

TEST(Dequantize, Modes) {
  for (const auto* mode : {"MIN_COMBINED", "MIN_FIRST", "SCALED"})
    for (const DType t : {qi8, qu8, qi16, qu16, qi32})
      for (const auto& [low, high] : kRanges)
        op_case("Dequantize")
            .in(t, {3, 4})
            .scalar(low)
            .scalar(high, fed)
            .attr("T", t)
            .attr("mode", mode)
            .only_opsets({11, 18})
            .without({Mode::batch, Mode::dims})
            .check();
}

TEST(Dequantize, Special) {
  for (const auto* mode : {"MIN_COMBINED", "SCALED"})
    for (const bool narrow : {false, true})
      op_case("Dequantize")
          .in(qi8, {2, 3, 4})
          .values<float>({3}, {-1, -0.5F, 0})
          .values<float>({3}, {1, 2, 3})
          .attr("mode", mode)
          .attr("narrow_range", narrow)
          .attr("axis", std::int64_t{1})
          .check();
  op_case("Dequantize").in(qu8, {2, 3}).scalar(-1.0F).scalar(1.0F).attr("dtype", bf16).empty().check();
}

TEST(Quantize, ThereAndBack) {
  graph_case("QuantizeV2 and Dequantize", [](Builder& b) {
    const std::string x = b.input(f32, {3, 4});
    const std::string low = b.const_input(Tensor::scalar(-2.0F));
    const std::string high = b.const_input(Tensor::scalar(2.0F));
    const std::string q = b.op("QuantizeV2", {x, low, high}, {{"T", qu8}});
    const std::string moved = b.op("Identity", {q}, {{"T", qu8}});
    b.output(b.op("Dequantize", {moved, q + ":1", q + ":2"}, {{"T", qu8}}) + ":0");
  }).check();
}

}  // namespace
}  // namespace t2o::numeric
