#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

std::int64_t lowest(DType t) { return t == qi8 ? -128 : t == qu8 ? 0 : -2147483648LL; }
std::int64_t highest(DType t) { return t == qi8 ? 127 : t == qu8 ? 255 : 2147483647LL; }

Case& bounds(Case& c, const std::string& whose, DType t) {
  return c.attr(whose + "quantization_min_val", lowest(t)).attr(whose + "quantization_max_val", highest(t));
}

// One scale and zero, or three along the last axis.
Case& scales(Case& c, bool per_axis, float scale, Kind kind = constant) {
  if (per_axis) return c.values<float>({3}, {scale, scale / 3, 2 * scale}, kind).values<std::int32_t>({3}, {0, -3, 5}, kind);
  return c.scalar(scale, kind).scalar<std::int32_t>(2, kind);
}

// An axis of a tensor whose rank nobody knows has no place.
Case with_axis(Case c, const std::string& whose, bool per_axis, std::int64_t axis = 1) {
  c.attr(whose + "quantization_axis", per_axis ? axis : std::int64_t{-1});
  return c;
}

TEST(UniformQuant, ThereAndBack) {
  for (const bool per_axis : {false, true})
    for (const Kind kind : {fed, constant}) {
      for (const DType t : {qi8, qu8, qi32}) {
        Case c = op_case("UniformQuantize");
        c.in(f32, {5, 3}).range(-20, 20).attr("Tout", t);
        bounds(scales(c, per_axis, 0.3F, kind), "", t);
        c.attr("quantization_axis", std::int64_t{per_axis ? 1 : -1}).check();
      }
      for (const DType t : {qi8, qi32}) {
        Case c = op_case("UniformDequantize");
        c.in(t, {5, 3}).range(-100, 100).attr("Tout", f32);
        bounds(scales(c, per_axis, 0.3F, kind), "", t);
        c.attr("quantization_axis", std::int64_t{per_axis ? 1 : -1}).check();
      }
    }
}

TEST(UniformQuant, Requantize) {
  for (const DType t : {qi8, qi32})
    for (const bool from_axis : {false, true})
      for (const bool to_axis : {false, true}) {
        Case c = op_case("UniformRequantize");
        c.in(t, {50, 3}).range(-100, 100).attr("Tout", qi8);
        scales(c, from_axis, 0.1F);
        scales(c, to_axis, 0.17F);
        bounds(c, "input_", t);
        bounds(c, "output_", qi8);
        with_axis(with_axis(c, "input_", from_axis), "output_", to_axis).check();
      }
}

TEST(UniformQuant, Add) {
  for (const bool per_axis : {false, true})
    for (const Ints& right : std::vector<Ints>{{20, 3}, {1, 3}}) {
      Case c = op_case("UniformQuantizedAdd");
      c.in(qi32, {20, 3}).range(-100000, 100000).in(qi32, right).range(-100000, 100000);
      scales(c, per_axis, 0.1F);
      scales(c, per_axis, 0.17F);
      scales(c, per_axis, 0.2F);
      for (const char* whose : {"lhs_", "rhs_", "output_"}) bounds(c, whose, qi32);
      with_axis(with_axis(with_axis(c, "lhs_", per_axis), "rhs_", per_axis), "output_", per_axis).check();
    }
}

// Each axis counts on the rank of its own tensor.
TEST(UniformQuant, AddOfALowerRank) {
  const auto added = [](const Ints& left, const Ints& right, std::int64_t right_axis) {
    Case c = op_case("UniformQuantizedAdd");
    c.in(qi32, left).range(-100000, 100000).in(qi32, right).range(-100000, 100000);
    scales(c, true, 0.1F);
    scales(c, true, 0.17F);
    scales(c, true, 0.2F);
    for (const char* whose : {"lhs_", "rhs_", "output_"}) bounds(c, whose, qi32);
    with_axis(with_axis(with_axis(c, "lhs_", true), "rhs_", true, right_axis), "output_", true).check();
  };
  added({20, 3}, {3}, 0);
  added({2, 3, 3}, {3, 3}, 0);
  added({2, 3, 4}, {3, 1}, 0);
}

TEST(UniformQuant, ClipByValue) {
  for (const bool per_axis : {false, true}) {
    Case c = op_case("UniformQuantizedClipByValue");
    c.in(qi32, {20, 3}).range(-100, 100);
    c.values_as(qi32, per_axis ? Ints{3} : Ints{}, per_axis ? std::vector<double>{-50, -10, 0} : std::vector<double>{-30});
    c.values_as(qi32, per_axis ? Ints{3} : Ints{}, per_axis ? std::vector<double>{50, 20, 70} : std::vector<double>{40});
    scales(c, per_axis, 0.1F);
    bounds(c, "", qi32);
    with_axis(c, "", per_axis).check();
  }
}

TEST(UniformQuant, Dot) {
  for (const bool per_axis : {false, true}) {
    Case c = op_case("UniformQuantizedDot");
    c.in(qi8, {6, 40}).range(-128, 127).in(qi8, {40, 3}).range(-128, 127).attr("Tout", qi32);
    scales(c, false, 0.1F);
    scales(c, per_axis, 0.02F);
    scales(c, per_axis, 0.015F);
    for (const char* whose : {"lhs_", "rhs_"}) bounds(c, whose, qi8);
    bounds(c, "output_", qi32);
    c.attr("rhs_quantization_axis", std::int64_t{per_axis ? 1 : -1}).attr("output_quantization_axis", std::int64_t{per_axis ? 1 : -1}).check();
    Case hybrid = op_case("UniformQuantizedDotHybrid");
    hybrid.in(f32, {6, 40}).in(qi8, {40, 3}).range(-128, 127).attr("Tout", f32);
    scales(hybrid, per_axis, 0.02F);
    bounds(hybrid, "rhs_", qi8).attr("rhs_quantization_axis", std::int64_t{per_axis ? 1 : -1}).check();
  }
}

Case convolution(bool hybrid, bool per_axis, const std::string& padding, const Ints& spread, const Ints& dilation) {
  Case c = op_case(hybrid ? "UniformQuantizedConvolutionHybrid" : "UniformQuantizedConvolution");
  if (hybrid) c.in(f32, {2, 4, 5, 6}).range(-3, 5);
  else c.in(qi8, {2, 4, 5, 6}).range(-128, 127);
  c.in(qi8, {3, 4, 3, 2}, constant).range(-128, 127).attr("Tout", hybrid ? f32 : qi32);
  if (!hybrid) bounds(scales(c, false, 0.1F), "lhs_", qi8);
  bounds(scales(c, per_axis, 0.02F), "rhs_", qi8).attr("rhs_quantization_axis", std::int64_t{per_axis ? 0 : -1});
  if (!hybrid) bounds(scales(c, per_axis, 0.015F), "output_", qi32).attr("output_quantization_axis", std::int64_t{per_axis ? 1 : -1});
  return c.attr("padding", padding).attr("window_strides", Ints{2, 1}).attr("lhs_dilation", spread).attr("rhs_dilation", dilation);
}

TEST(UniformQuant, Convolution) {
  for (const bool hybrid : {false, true})
    for (const bool per_axis : {false, true}) {
      for (const char* padding : {"SAME", "VALID"})
        convolution(hybrid, per_axis, padding, {1, 1}, {1, 2}).only_opsets({11, 18}).check();
      convolution(hybrid, per_axis, "EXPLICIT", {2, 1}, {1, 1}).attr("explicit_padding", Ints{1, 0, 2, 1}).only_opsets({11, 18}).check();
    }
}

TEST(UniformQuant, ConvolutionWithChannelsLast) {
  const std::string dimension_numbers("\x08\x00\x10\x03\x18\x01\x18\x02\x20\x02\x28\x03\x30\x00\x30\x01\x38\x00\x40\x03\x48\x01\x48\x02", 24);
  Case c = op_case("UniformQuantizedConvolution");
  c.in(qi8, {2, 5, 6, 4}).range(-128, 127).in(qi8, {3, 2, 4, 3}, constant).range(-128, 127).attr("Tout", qi32);
  bounds(scales(c, false, 0.1F), "lhs_", qi8);
  bounds(scales(c, true, 0.02F), "rhs_", qi8).attr("rhs_quantization_axis", std::int64_t{3});
  bounds(scales(c, true, 0.015F), "output_", qi32).attr("output_quantization_axis", std::int64_t{3});
  c.attr("padding", "SAME").attr("dimension_numbers", dimension_numbers).only_opsets({11, 18}).check();
}

// ---- --quantize-mode qdq: within one level of TensorFlow's

void as_codes(Options& o) { o.quantize_mode = tf2onnx::QuantizeMode::qdq; }
void as_float(Options& o) { o.quantize_mode = tf2onnx::QuantizeMode::as_float; }
constexpr double kOneLevel = 1.01;

TEST(UniformQuantMode, ThereAndBack) {
  for (const bool per_axis : {false, true})
    for (const DType t : {qi8, qu8}) {
      Case c = op_case("UniformQuantize");
      c.in(f32, {5, 3}).range(-50, 50).attr("Tout", t);
      bounds(per_axis && t == qu8 ? c.values<float>({3}, {0.3F, 0.1F, 0.6F}, constant).values<std::int32_t>({3}, {0, 3, 255}, constant) : scales(c, per_axis, 0.3F), "", t);
      with_axis(c, "", per_axis).options(as_codes).tol(0, kOneLevel).gives({{"Floor", 0}}, 13).check();
    }
  for (const bool per_axis : {false, true}) {
    Case c = op_case("UniformDequantize");
    c.in(qi8, {5, 3}).range(-100, 100).attr("Tout", f32);
    bounds(scales(c, per_axis, 0.3F), "", qi8);
    with_axis(c, "", per_axis).options(as_codes).gives({{"DequantizeLinear", 1}}, 13).check();
  }
  Case narrow = op_case("UniformQuantize");
  scales(narrow.in(f32, {5, 3}).range(-50, 50).attr("Tout", qi8), false, 0.3F);
  narrow.attr("quantization_min_val", std::int64_t{-100}).attr("quantization_max_val", std::int64_t{90}).attr("quantization_axis", std::int64_t{-1})
      .options(as_codes).tol(0, kOneLevel).gives({{"Floor", 0}, {"Clip", 1}}, 13).check();
}

TEST(UniformQuantMode, WhatStaysExact) {
  Case fed_scales = op_case("UniformQuantize");
  bounds(scales(fed_scales.in(f32, {5, 3}).range(-20, 20).attr("Tout", qi8), false, 0.3F, fed), "", qi8).attr("quantization_axis", std::int64_t{-1})
      .options(as_codes).gives({{"QuantizeLinear", 0}}).check();
  Case zero = op_case("UniformRequantize");
  zero.in(qi32, {50, 3}).range(-100, 100).attr("Tout", qi8).scalar(0.1F).scalar<std::int32_t>(2).scalar(0.17F).scalar<std::int32_t>(2);
  bounds(bounds(zero, "input_", qi32), "output_", qi8).attr("input_quantization_axis", std::int64_t{-1}).attr("output_quantization_axis", std::int64_t{-1})
      .options(as_codes).gives({{"QuantizeLinear", 0}}).check();
  for (const auto mode : {as_codes, as_float}) {
    Case hybrid = op_case("UniformQuantizedDotHybrid");
    bounds(scales(hybrid.in(f32, {6, 40}).in(qi8, {40, 3}, constant).range(-128, 127).attr("Tout", f32), false, 0.02F), "rhs_", qi8)
        .attr("rhs_quantization_axis", std::int64_t{-1}).options(mode).gives({{"DequantizeLinear", 0}}).only_opsets({21}).check();
  }
}

TEST(UniformQuantMode, Requantize) {
  for (const bool from_axis : {false, true})
    for (const bool to_axis : {false, true}) {
      Case c = op_case("UniformRequantize");
      c.in(qi8, {50, 3}).range(-100, 100).attr("Tout", qi8);
      scales(c, from_axis, 0.1F);
      scales(c, to_axis, 0.17F);
      bounds(c, "input_", qi8);
      bounds(c, "output_", qi8);
      with_axis(with_axis(c, "input_", from_axis), "output_", to_axis).options(as_codes).tol(0, kOneLevel)
          .gives({{"DequantizeLinear", 1}, {"QuantizeLinear", 1}}, 13).check();
    }
}

using Parameters = std::pair<float, std::int32_t>;

// A layer as TensorFlow's own quantizer writes it.
struct Layer {
  Builder& b;
  std::vector<TfAttr> attrs = {};

  std::string tensor(const Parameters& p, std::vector<TfInput>& in) const {
    in.emplace_back(b.constant_of<float>({}, {p.first}));
    in.emplace_back(b.constant_of<std::int32_t>({}, {p.second}));
    return "";
  }
  Layer& bound(const std::string& whose, DType t) {
    attrs.push_back({whose + "quantization_min_val", lowest(t)});
    attrs.push_back({whose + "quantization_max_val", highest(t)});
    return *this;
  }
  std::string make(const std::string& op, std::vector<TfInput> in, const std::vector<Parameters>& parameters) const {
    for (const Parameters& p : parameters) tensor(p, in);
    return b.op(op, std::move(in), attrs);
  }
};

TensorPtr level32(std::int32_t v) { return Tensor::scalar(v)->with_dtype(qi32); }

constexpr Parameters kX = {0.05F, 3}, kW = {0.01F, 0}, kSum = {0.0005F, 0}, kY = {0.4F, -20};

std::string levels(Builder& b, const Ints& dims) {
  return Layer{b, {{"Tout", qi8}}}.bound("", qi8).make("UniformQuantize", {b.input(f32, dims, verify::Range{-6, 6})}, {kX});
}

std::string from_sum(Builder& b, const std::string& sum, const Ints& bias) {
  const std::string biased = Layer{b}.bound("lhs_", qi32).bound("rhs_", qi32).bound("output_", qi32)
      .make("UniformQuantizedAdd", {sum, b.const_input(qi32, bias, verify::Range{-900, 900})}, {kSum, kSum, kSum});
  const std::string relu = Layer{b}.bound("", qi32).make("UniformQuantizedClipByValue", {biased, b.const_input(level32(0)), b.const_input(level32(2147483647))}, {kSum});
  return Layer{b, {{"Tout", qi8}}}.bound("input_", qi32).bound("output_", qi8).make("UniformRequantize", {relu}, {kSum, kY});
}

void numbers(Builder& b, const std::string& y, float scale = kY.first) {
  b.output(Layer{b, {{"Tout", f32}}}.bound("", qi8).make("UniformDequantize", {y}, {{scale, kY.second}}));
}

void dense_layer(Builder& b) {
  const std::string w = b.const_input(qi8, {40, 5}, verify::Range{-127, 127});
  const std::string sum = Layer{b, {{"Tout", qi32}}}.bound("lhs_", qi8).bound("rhs_", qi8).bound("output_", qi32).make("UniformQuantizedDot", {levels(b, {6, 40}), w}, {kX, kW, kSum});
  numbers(b, from_sum(b, sum, {5}));
}

void conv_layer(Builder& b) {
  const std::string w = b.const_input(qi8, {4, 3, 3, 3}, verify::Range{-127, 127});
  Layer conv{b, {{"Tout", qi32}, {"padding", std::string("SAME")}, {"window_strides", Ints{2, 1}}, {"rhs_dilation", Ints{1, 1}}}};
  const std::string sum = conv.bound("lhs_", qi8).bound("rhs_", qi8).bound("output_", qi32).make("UniformQuantizedConvolution", {levels(b, {2, 3, 8, 8}), w}, {kX, kW, kSum});
  numbers(b, from_sum(b, sum, {1, 4, 1, 1}));
}

TEST(UniformQuantMode, Layers) {
  const double level = static_cast<double>(kY.first) * kOneLevel;
  graph_case("dense", dense_layer).options(as_codes).tol(0, level).gives({{"QuantizeLinear", 2}, {"Gemm", 1}, {"Floor", 0}, {"Round", 0}}).only_opsets({13, 21}).check();
  graph_case("conv", conv_layer).options(as_codes).tol(0, level).gives({{"QuantizeLinear", 2}, {"Conv", 1}, {"Floor", 0}, {"Round", 0}}).only_opsets({13, 21}).check();
  graph_case("dense", dense_layer).options(as_float).tol(0, 0.5).gives({{"QuantizeLinear", 0}, {"DequantizeLinear", 0}, {"Round", 0}}).only_opsets({21}).check();
  graph_case("conv", conv_layer).options(as_float).tol(0, 0.5).gives({{"QuantizeLinear", 0}, {"DequantizeLinear", 0}, {"Round", 0}, {"Conv", 1}}).only_opsets({21}).check();
}

// Levels of 32 bits with bounds of their own cut the numbers.
TEST(UniformQuantMode, NarrowSums) {
  for (const auto mode : {as_codes, as_float})
    graph_case("narrow", [](Builder& b) {
      const auto narrow = [](Layer l, const std::string& whose) {
        l.attrs.push_back({whose + "quantization_min_val", std::int64_t{-1000}});
        l.attrs.push_back({whose + "quantization_max_val", std::int64_t{800}});
        return l;
      };
      const std::string x = narrow(Layer{b, {{"Tout", qi32}}}, "").make("UniformQuantize", {b.input(f32, {6, 40}, verify::Range{-6, 6})}, {kSum});
      numbers(b, narrow(Layer{b, {{"Tout", qi8}}}, "input_").bound("output_", qi8).make("UniformRequantize", {x}, {kSum, {0.01F, -20}}), 0.01F);
    }).options(mode).tol(0, 0.0101).only_opsets({13, 21}).check();
}

// Levels that are read with another zero point or along another axis are other numbers.
TEST(UniformQuantMode, LevelsWithTwoMeanings) {
  const auto there_and_back = [](DType t, Ints scale_dims, std::int64_t from_axis, std::int64_t to_axis, std::int32_t from_zero, std::int32_t to_zero) {
    graph_case("two meanings", [=](Builder& b) {
      const auto parameters = [&](std::vector<TfInput>& in, std::int32_t zero) {
        const bool per_axis = !scale_dims.empty();
        in.emplace_back(b.constant_of<float>(scale_dims, per_axis ? std::vector<float>{0.25F, 0.5F, 1} : std::vector<float>{0.5F}));
        in.emplace_back(b.constant_of<std::int32_t>(scale_dims, std::vector<std::int32_t>(per_axis ? 3 : 1, zero)));
      };
      const auto attrs = [t](std::int64_t axis, const std::string& type, DType of) {
        return std::vector<TfAttr>{{type, of}, {"quantization_min_val", lowest(t)}, {"quantization_max_val", highest(t)}, {"quantization_axis", axis}};
      };
      std::vector<TfInput> in{b.input(f32, {3, 3}, verify::Range{-20, 20})};
      parameters(in, from_zero);
      std::vector<TfInput> levels{b.op("UniformQuantize", in, attrs(from_axis, "Tout", t))};
      parameters(levels, to_zero);
      b.output(b.op("UniformDequantize", levels, attrs(to_axis, "Tout", f32)));
    }).options(as_float).tol(0, 1.01).only_opsets({21}).check();
  };
  for (const DType t : {qi8, qi32}) {
    there_and_back(t, {}, -1, -1, 0, 10);
    there_and_back(t, {3}, 0, 1, 0, 0);
    there_and_back(t, {3}, 1, 1, 0, 10);
    there_and_back(t, {}, -1, -1, 0, 0);
  }
}

// One operator alone: 32-bit levels as its result.
TEST(UniformQuantMode, SumsOf32Bits) {
  for (const bool per_axis : {false, true}) {
    Case c = op_case("UniformQuantizedDot");
    c.in(qi8, {6, 40}).range(-128, 127).in(qi8, {40, 3}, constant).range(-128, 127).attr("Tout", qi32);
    scales(c, false, 0.1F);
    if (per_axis) c.values<float>({3}, {0.02F, 0.01F, 0.03F}, constant).values<std::int32_t>({3}, {0, 1, 2}, constant);
    else c.scalar(0.02F).scalar<std::int32_t>(1);
    if (per_axis) c.values<float>({3}, {0.015F, 0.02F, 0.01F}, constant).values<std::int32_t>({3}, {0, 0, 0}, constant);
    else c.scalar(0.015F).scalar<std::int32_t>(0);
    for (const char* whose : {"lhs_", "rhs_"}) bounds(c, whose, qi8);
    bounds(c, "output_", qi32);
    with_axis(with_axis(c, "rhs_", per_axis), "output_", per_axis).options(as_codes).tol(0, kOneLevel).gives({{"MatMul", 1}, {"Floor", 0}}, 13).check();
  }
}

}  // namespace
}  // namespace t2o::numeric
