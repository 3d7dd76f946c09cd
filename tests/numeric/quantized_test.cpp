#include <gtest/gtest.h>

#include <algorithm>

#include "harness.h"

namespace t2o::numeric {
namespace {

struct Ends {
  float min, max;
};
const std::vector<Ends> kRanges = {{-1, 2}, {0, 6}, {-10, 20}};

Case& levels(Case& c, DType t, const Ints& dims, Kind kind = fed) {
  const double high = t == qu8 ? 255 : t == qi8 ? 127 : 1e6;
  return c.in(t, dims, kind).range(t == qu8 ? 0 : -high, high);
}

// One operand: its levels and its range.
struct Operand {
  DType type;
  Ints dims;
  Ends range;
  Kind kind = fed;
};

// TensorFlow shifts fixed-point numbers from levels to levels, which rounds some of them the other way: one level.
Case one_level(Case c) {
  c.tol(0, 1.01);
  return c;
}

// All tensors, then all ranges, as most of these ops want them.
Case quantized(const std::string& op, const std::vector<Operand>& operands, Kind ranges = fed) {
  Case c = op_case(op);
  for (const Operand& o : operands) levels(c, o.type, o.dims, o.kind);
  for (const Operand& o : operands) c.scalar(o.range.min, ranges).scalar(o.range.max, ranges);
  return c;
}

// Each tensor with its range behind it.
Case quantized_in_order(const std::string& op, const std::vector<Operand>& operands) {
  Case c = op_case(op);
  for (const Operand& o : operands) levels(c, o.type, o.dims, o.kind).scalar(o.range.min, fed).scalar(o.range.max, fed);
  return c;
}

TEST(Quantized, Elementwise) {
  for (const Ends& r : kRanges)
    for (const Kind kind : {fed, constant}) {
      for (const char* op : {"QuantizedRelu", "QuantizedRelu6"})
        quantized(op, {{qu8, {2, 3, 40}, r}}, kind).check();
      quantized("QuantizedMul", {{qu8, {3, 5}, r}, {qu8, {3, 5}, {-3, 1}}}, kind)
          .attr("Toutput", qi32)
          .check();
      quantized("QuantizedAdd", {{qu8, {3, 5}, r}, {qu8, {3, 5}, {-3, 1}}}, kind)
          .attr("Toutput", qi32)
          .check();
      quantized("QuantizedAdd", {{qu8, {3, 5}, r}, {qu8, {}, {-3, 1}}}, kind).attr("Toutput", qi32).check();
      quantized("QuantizedAdd", {{qu8, {3, 5}, r}, {qu8, {5}, {-3, 1}}}, kind)
          .attr("Toutput", qi32)
          .check();
      quantized("QuantizedBiasAdd", {{qu8, {3, 5}, r}, {qu8, {5}, {-3.5, 1.75}}}, kind)
          .attr("out_type", qi32)
          .check();
      one_level(quantized("QuantizedBiasAdd", {{qu8, {3, 5}, {-1, 1}}, {qu8, {5}, {-1, 1}}}, kind))  // 0 lies between two levels
          .attr("out_type", qi32)
          .check();
    }
}

// The smaller tensor goes round and round along the larger one, also where broadcasting would say otherwise.
TEST(Quantized, TwoShapes) {
  for (const char* op : {"QuantizedMul", "QuantizedAdd"})
    for (const auto& [x, y] : std::vector<std::pair<Ints, Ints>>{
             {{4, 5}, {4, 1}}, {{2, 1}, {2, 7}}, {{1, 5}, {4, 5}}, {{2, 3, 4}, {3, 4}}, {{4, 5}, {1, 1}}})
      quantized(op, {{qu8, x, {-2, 6}}, {qu8, y, {-3, 1}}}, fed).attr("Toutput", qi32).check();
}

TEST(Quantized, Pools) {
  for (const char* op : {"QuantizedMaxPool", "QuantizedAvgPool"})
    for (const char* padding : {"SAME", "VALID"})
      quantized(op, {{qu8, {2, 5, 6, 3}, {-1, 2}}})
          .attr("ksize", Ints{1, 2, 2, 1})
          .attr("strides", Ints{1, 2, 2, 1})
          .attr("padding", padding)
          .check();
}

TEST(Quantized, Reshape) {
  op_case("QuantizedReshape").in(qu8, {2, 6}).i32s({3, -1}).scalar(-1.0F, fed).scalar(1.0F, fed).check();
}

TEST(Quantized, Concat) {
  for (const Ends& r : kRanges)
    for (const Kind kind : {fed, constant})
      op_case("QuantizedConcat")
          .scalar<std::int32_t>(1)
          .in(qu8, {2, 30})
          .range(0, 255)
          .in(qu8, {2, 20})
          .range(0, 255)
          .as_list(2)
          .scalar(-1.0F, kind)
          .scalar(r.min, kind)
          .as_list(2)
          .scalar(2.0F, kind)
          .scalar(r.max, kind)
          .as_list(2)
          .check();
}

TEST(Quantized, ConcatOfSymmetricRanges) {  // 0 lies between two levels; a part that has the common range stays as it is
  for (const Kind kind : {fed, constant})
    for (const float second : {4.1F, 4.9F})
      op_case("QuantizedConcat").scalar<std::int32_t>(0).in(qu8, {3, 30}).range(0, 255).in(qu8, {2, 30}).range(0, 255).as_list(2)
          .scalar(-4.3F, kind).scalar(-second, kind).as_list(2).scalar(4.3F, kind).scalar(second, kind).as_list(2).check();
}

TEST(Quantized, MulOfARangeWithoutZero) {
  quantized("QuantizedMul", {{qu8, {3, 5}, {-1, 6}}, {qu8, {3, 5}, {-4.6F, -1}}}, constant).attr("Toutput", qi32).check();
}

TEST(Quantized, Normalizations) {
  for (const bool scale : {false, true})
    one_level(quantized_in_order("QuantizedBatchNormWithGlobalNormalization",
                                 {{qu8, {2, 3, 4, 5}, {-2, 6}}, {qu8, {5}, {-1, 2}}, {qu8, {5}, {0.5F, 2}}, {qu8, {5}, {-1, 1}}, {qu8, {5}, {-3, 1}}}))
        .attr("out_type", qi32)
        .attr("variance_epsilon", 0.001F)
        .attr("scale_after_normalization", scale)
        .check();
  one_level(quantized_in_order("QuantizedInstanceNorm", {{qu8, {2, 3, 4, 5}, {-2, 6}}})).check();
  one_level(quantized_in_order("QuantizedInstanceNorm", {{qu8, {2, 3, 4, 5}, {-2, 6}}}))
      .attr("output_range_given", true)
      .attr("given_y_min", -1.0F)
      .attr("given_y_max", 1.5F)
      .attr("variance_epsilon", 0.1F)
      .check();
}

TEST(Quantized, ResizeBilinear) {
  struct Centers {
    bool align, half;
  };
  for (const Centers& centers : std::vector<Centers>{{false, false}, {true, false}, {false, true}})
    for (const std::vector<std::int32_t>& size : std::vector<std::vector<std::int32_t>>{{8, 3}, {3, 9}, {5, 4}})
      for (const DType t : {qu8, qi32, f32})
        op_case("QuantizedResizeBilinear")
            .in(t, {2, 5, 4, 3})
            .range(t == qi32 ? -100000 : 0, t == qi32 ? 100000 : 255)
            .i32s(size)
            .scalar(-1.0F, fed)
            .scalar(2.0F, fed)
            .attr("align_corners", centers.align)
            .attr("half_pixel_centers", centers.half)
            .check();
  op_case("QuantizedResizeBilinear").in(qi32, {1, 5, 4, 1}).range(-100000, 100000).i32s({5, 4}, fed).scalar(-1.0F).scalar(2.0F).check();
}

TEST(Quantized, To8Bits) {
  for (const Ends& r : std::vector<Ends>{{-150, 50}, {-50, 50}, {-500, 1000}}) {
    quantized("RequantizationRange", {{qi32, {4, 30}, r}}).check();
    one_level(quantized("QuantizeDownAndShrinkRange", {{qi32, {4, 30}, {-50, 50}}})).attr("out_type", qu8).check();
    for (const Kind kind : {fed, constant})
      quantized("Requantize", {{qi32, {4, 30}, r}})
          .scalar(-0.03F, kind)
          .scalar(0.04F, kind)
          .attr("out_type", qu8)
          .check();
  }
}

TEST(Quantized, MatMul) {
  for (const Ends& r : kRanges)
    for (const bool turned : {false, true})
      quantized("QuantizedMatMul", {{qu8, turned ? Ints{5, 3} : Ints{3, 5}, r},
                                    {qu8, turned ? Ints{4, 5} : Ints{5, 4}, {-3, 1}, constant}})
          .attr("Toutput", qi32)
          .attr("transpose_a", turned)
          .attr("transpose_b", turned)
          .check();
}

TEST(Quantized, Conv) {
  for (const char* padding : {"SAME", "VALID"})
    for (const std::int64_t stride : {1, 2, 3})
      quantized("QuantizedConv2D", {{qu8, {2, 7, 6, 3}, {-1, 2}}, {qu8, {3, 3, 3, 4}, {-1.5F, 1}, constant}})
          .attr("out_type", qi32)
          .attr("strides", Ints{1, stride, stride, 1})
          .attr("padding", padding)
          .check();
}

TEST(Quantized, ConvBeginsInside) {
  quantized("QuantizedConv2D", {{qu8, {2, 7, 6, 3}, {-1, 2}}, {qu8, {3, 3, 3, 4}, {-1.5F, 1}, constant}})
      .attr("out_type", qi32)
      .attr("strides", Ints{1, 4, 4, 1})
      .attr("padding", "VALID")
      .refuses(Code::unsupported_attr, "strides so wide")
      .check();
}

// ---- what only oneDNN has kernels for, as it computes them: symmetric levels, from one number of plain
// operators to the next

struct OneDnn {
  std::string op;
  DType result;
  bool conv() const { return op.find("Conv") != op.npos; }
  bool depthwise() const { return op.find("Depthwise") != op.npos; }
  bool bias() const { return op.find("Bias") != op.npos; }
  bool relu() const { return op.find("Relu") != op.npos; }
  bool requantized() const { return op.find("Requantize") != op.npos; }
  bool summed() const { return op.find("Sum") != op.npos; }
  DType summand() const { return op.find("Signed") != op.npos ? qi8 : qu8; }
  bool per_channel() const { return conv() && ((bias() && requantized()) || op.ends_with("PerChannel")); }
  Ints input() const { return conv() ? Ints{2, 7, 6, 4} : Ints{3, 4}; }
  Ints filter() const { return !conv() ? Ints{4, 4} : depthwise() ? Ints{3, 3, 4, 1} : Ints{3, 3, 4, 4}; }
};

const std::vector<float> kBias = {-0.5F, 3, 0.25F, 1}, kLow = {-1, -0.5F, -2, -0.25F},
                         kHigh = {1, 0.7F, 1, 0.1F};
const float kEnd = 2, kResultLow = -5, kResultHigh = 9, kSummandHigh = 7;
const std::vector<TfAttr> kConv = {{"strides", Ints{1, 1, 1, 1}}, {"padding", "SAME"}};

TensorPtr scalar(float v) { return Tensor::scalar<float>(v); }

TensorPtr summand(const OneDnn& d) {
  verify::Random random(11);
  const bool is_signed = d.summand() == qi8;
  return verify::random_tensor(d.summand(), d.input(), random, verify::Range{is_signed ? -127.0 : 0.0, is_signed ? 127.0 : 255.0});
}

engines::TfGraph fused(const OneDnn& d, const TensorPtr& filter, const char* mode, const char* result = "y") {
  engines::TfGraph g;
  const auto number = [&](const char* name, float v) { return g.constant(name, scalar(v)); };
  std::vector<TfInput> in = {
      g.add({"Bitcast", "levels", {g.placeholder("x", u8, Shape(d.input()))}, {{"type", qu8}}}),
      g.constant("w", filter)};
  if (d.bias()) in.emplace_back(g.constant("b", Tensor::of<float>({4}, kBias)));
  in.emplace_back(number("x_min", 0));
  in.emplace_back(number("x_max", kEnd));
  in.emplace_back(d.per_channel() ? g.constant("w_min", Tensor::of<float>({4}, kLow))
                                  : number("w_min", -1.5F));
  in.emplace_back(d.per_channel() ? g.constant("w_max", Tensor::of<float>({4}, kHigh)) : number("w_max", 1));
  if (d.op.find("quantize") != d.op.npos) {
    in.emplace_back(number("y_min", kResultLow));
    in.emplace_back(number("y_max", kResultHigh));
  }
  if (d.summed()) {
    in.emplace_back(g.constant("s", summand(d)));
    in.emplace_back(number("s_min", d.summand() == qu8 ? 0 : -kSummandHigh));
    in.emplace_back(number("s_max", kSummandHigh));
  }
  std::vector<TfAttr> attrs = d.conv() ? kConv : std::vector<TfAttr>{{"input_quant_mode", mode}};
  attrs.push_back({d.conv() ? "out_type" : "Toutput", d.result});
  g.add({d.op, result, in, attrs});
  return g;
}

engines::TfGraph plain(const OneDnn& d, const TensorPtr& filter) {
  engines::TfGraph g;
  int names = 0;
  const auto op = [&](const char* name, std::vector<TfInput> in, std::vector<TfAttr> attrs = {}) {
    return g.add({name, "t" + std::to_string(names++), std::move(in), std::move(attrs)});
  };
  const auto constant = [&](const TensorPtr& t) { return g.constant("c" + std::to_string(names++), t); };
  const auto real = [&](const std::string& v) { return op("Cast", {v}, {{"DstT", f32}}); };
  const std::string x = real(g.placeholder("x", u8, Shape(d.input())));
  const std::string w = real(op("Bitcast", {constant(filter)}, {{"type", i8}}));
  std::string y = d.depthwise() ? op("DepthwiseConv2dNative", {x, w}, kConv)
                  : d.conv()    ? op("Conv2D", {x, w}, kConv)
                                : op("MatMul", {x, w});
  std::vector<float> step;
  for (std::size_t i = 0; i < 4; ++i)
    step.push_back(kEnd / 255 * (d.per_channel() ? std::max(-kLow[i], kHigh[i]) : 1.5F) / 127);
  const std::string steps = constant(Tensor::of<float>({4}, step));
  const bool levels = d.result == qi32;
  if (!levels) y = op("Mul", {y, steps});
  if (d.bias()) {
    const std::string bias = constant(Tensor::of<float>({4}, kBias));
    y = op("AddV2", {y, levels ? op("Round", {op("Div", {bias, steps})}) : bias});
  }
  if (d.summed()) {
    const bool is_signed = d.summand() == qi8;
    const std::string s = real(op("Bitcast", {constant(summand(d))}, {{"type", is_signed ? i8 : u8}}));
    y = op("AddV2", {y, op("Mul", {s, constant(scalar(kSummandHigh / (is_signed ? 127 : 255)))})});
  }
  if (d.relu()) y = op("Relu", {y});
  const DType type = levels ? i32 : d.result == qi8 ? i8 : d.result == qu8 ? u8 : f32;
  if (d.requantized()) {
    y = op("Round", {op("Div", {y, constant(scalar(kResultHigh / (type == u8 ? 255 : 127)))})});
    y = op("ClipByValue",
           {y, constant(scalar(type == u8 ? 0 : -128)), constant(scalar(type == u8 ? 255 : 127))});
  }
  g.add({"Cast", "y", {y}, {{"DstT", type}}});
  return g;
}

void check_one_dnn(const OneDnn& d, const char* mode = "") {
  if (engines_missing()) return;
  verify::Random random(7);
  const verify::Range bytes{0, 255}, signed_bytes{-127, 127};
  const TensorPtr filter = verify::random_tensor(qi8, d.filter(), random, signed_bytes);
  const engines::Feeds feeds = {{"x", verify::random_tensor(u8, d.input(), random, bytes)}};
  check_against(plain(d, filter), fused(d, filter, mode), feeds, {11, 18, 26});
}

TEST(Quantized, FusedConv) {
  for (const char* op : {"QuantizedConv2DAndRelu", "QuantizedConv2DWithBias",
                         "QuantizedConv2DWithBiasAndRelu", "QuantizedConv2D", "QuantizedConv2DPerChannel"})
    check_one_dnn({op, qi32});
  for (const char* op : {"QuantizedConv2DAndRequantize", "QuantizedConv2DWithBiasAndRequantize"})
    check_one_dnn({op, qi8});
  for (const char* op :
       {"QuantizedConv2DAndReluAndRequantize", "QuantizedConv2DWithBiasAndReluAndRequantize"})
    check_one_dnn({op, qu8});
}

TEST(Quantized, FusedSum) {  // TensorFlow 2.21 ends the process
  for (const char* op : {"QuantizedConv2DWithBiasSumAndReluAndRequantize",
                         "QuantizedConv2DWithBiasSignedSumAndReluAndRequantize"})
    check_one_dnn({op, qu8});
}

// In oneDNN's kernels signed bytes have 254 steps, as TensorFlow 2.21 gives it for x from 0 to 2.
TEST(Quantized, RangesOfProducts) {
  if (engines_missing()) return;
  verify::Random random(7);
  const auto check = [&](const OneDnn& d, const TensorPtr& expected) {
    const TensorPtr filter = verify::random_tensor(qi8, d.filter(), random, verify::Range{-127, 127});
    const engines::Feeds feeds = {{"x", verify::random_tensor(u8, d.input(), random, verify::Range{0, 255})}};
    for (const bool is_max : {false, true}) {
      engines::TfGraph g = fused(d, filter, "SCALED", "product"), truth;
      g.add({"Identity", "y", {is_max ? "product:2" : "product:1"}});
      const std::string x = truth.placeholder("x", u8, Shape(d.input()));
      const std::string end = truth.constant("end", expected);
      truth.add({is_max ? "Identity" : "Neg", "y", {end}});
      check_against(truth, g, feeds, {11, 18});
    }
  };
  for (const char* op : {"QuantizedConv2D", "QuantizedConv2DWithBias", "QuantizedMatMulWithBias"}) check({op, qi32}, scalar(165777.66F));
  check({"QuantizedConv2DPerChannel", qi32}, Tensor::of<float>({4}, {132622.12F, 79573.27F, 198933.2F, 23208.87F}));
}

TEST(Quantized, FusedDepthwise) {
  for (const char* op : {"QuantizedDepthwiseConv2D", "QuantizedDepthwiseConv2DWithBias",
                         "QuantizedDepthwiseConv2DWithBiasAndRelu"})
    check_one_dnn({op, qi32});
  check_one_dnn({"QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize", qu8});
}

TEST(Quantized, FusedMatMul) {
  for (const char* mode : {"SCALED", "MIN_FIRST"}) {
    for (const char* op : {"QuantizedMatMulWithBias", "QuantizedMatMulWithBiasAndRelu"})
      check_one_dnn({op, qi32}, mode);
    for (const char* op :
         {"QuantizedMatMulWithBiasAndRequantize", "QuantizedMatMulWithBiasAndReluAndRequantize"})
      check_one_dnn({op, qu8}, mode);
    check_one_dnn({"QuantizedMatMulWithBiasAndDequantize", f32}, mode);
  }
}

TEST(Quantized, RangesOfChannels) {
  const std::vector<float> mins{-500, -20, 0}, maxes{200, 900, 70};
  for (const float limit : {1e9F, 0.01F})
    for (const double low : {-2e5, 0.0})
      op_case("RequantizationRangePerChannel").in(qi32, {2, 3, 4, 3}).range(low, 2e5).values<float>({3}, mins).values<float>({3}, maxes)
          .attr("clip_value_max", limit).tol(1e-6, 0).check();
  for (const DType t : {qi8, qu8})
    op_case("RequantizePerChannel").in(qi32, {2, 3, 4, 3}).range(-2e5, 2e5).values<float>({3}, mins).values<float>({3}, maxes)
        .scalar(t == qi8 ? -0.03F : 0.0F, fed).scalar(0.02F, fed).attr("out_type", t).check();
}

}  // namespace
}  // namespace t2o::numeric
