// Codes that LiteRT computes in arithmetic of its own: the export gives the same codes, all of them.
#include <gtest/gtest.h>

#include "lite_case.h"

namespace t2o::numeric {
namespace {

constexpr DType i8 = DType::i8, u8 = DType::u8;

void for_any(Options& o) { o.target_runtime = "any"; }

// All of the codes, for both targets and with few opsets.
void is_exact(const LiteCase& c) {
  LiteCase(c).tol(0, 0).opsets({13, 21}).check();
  LiteCase(c).tol(0, 0).opsets({13}).note("for any runtime").convert_with(for_any).check();
}

LiteCase requantized(DType t, const Codes& from, const Codes& to) {
  return lite_case(B::QUANTIZE).version(2).in(t, {64, 64}, from).out(t, {64, 64}, to);
}

// Factors with few and with many halves, of codes on both sides of zero and on one side.
TEST(LiteExact, CodesOfOtherScales) {
  for (const auto& [from, to] : std::vector<std::pair<float, float>>{
           {0.1F, 0.27678F}, {0.1F, 0.3071F}, {0.1F, 0.11611F}, {0.1F, 0.0346F}, {0.1F, 0.2F}, {0.1F, 0.1001F}, {0.00390625F, 0.0039215689F}})
    for (const std::int64_t zero : {-128, 0, 77}) {
      requantized(i8, codes(from, zero), codes(to, zero == 0 ? 3 : zero)).tol(0, 0).check();
      if (from == 0.1F && zero == 0) is_exact(requantized(i8, codes(from, zero), codes(to, -11)));
    }
  is_exact(requantized(u8, codes(0.1F, 128), codes(0.27678F, 3)));
}

TEST(LiteExact, CodesOfTheSameScaleStay) {
  requantized(i8, codes(0.1F, 5), codes(0.1001F, 5)).convert_with(for_any).tol(0, 0).gives({{"QuantizeLinear", 0}, {"DequantizeLinear", 0}}).check();
}

template <class Make>
LiteCase sum(B op, DType t, const Codes& x, const Codes& y, const Codes& z, O type, Make&& make) {
  return lite_case(op).in(t, {512, 512}, x).in(t, {512, 512}, y).out(t, {512, 512}, z).options(type, make);
}

LiteCase added(DType t, const Codes& x, const Codes& y, const Codes& z, A activation = A::NONE) {
  return sum(B::ADD, t, x, y, z, O::AddOptions, [=](Fbb& b) { return schema::CreateAddOptions(b, activation).Union(); });
}

// A quarter of the sums of 8 x 8 codes lies in the middle of two codes of the result.
TEST(LiteExact, MeansWithManyHalves) {
  is_exact(lite_case(B::MEAN).in(i8, {4, 8, 8, 64}, codes(16.0F / 255)).constant(Tensor::of<std::int32_t>({2}, {1, 2})).out(i8, {4, 64}, codes(4.0F / 255))
               .options(O::ReducerOptions, [](Fbb& b) { return schema::CreateReducerOptions(b).Union(); }).version(2));
}

// Bounds of an activation that lie in the middle of two codes, or at a code. A third of the sums lies at a bound; a few sums in a thousand
// are one code off.
TEST(LiteExact, BoundsOfActivations) {
  for (const float y : {6.0F / 255, 1.0F / 32.5F, 12.0F / 253, 0.05F}) {
    for (const A activation : {A::RELU_N1_TO_1, A::RELU6})
      for (const std::int64_t zero : {-7, 3}) added(i8, codes(0.05F, 3), codes(0.07F, -51), codes(y, zero), activation).opsets({13}).identical(0.995).check();
    for (const B op : {B::RELU_N1_TO_1, B::RELU6, B::RELU_0_TO_1})
      is_exact(lite_case(op).in(i8, {64, 64}, codes(y, 3)).out(i8, {64, 64}, codes(y, 3)));
  }
}

// With the scales of the file, a few of all pairs of codes are one code off.
TEST(LiteExact, Sums) {
  is_exact(added(i8, codes(0.03412248F, -128), codes(0.081856F, 20), codes(0.04998247F, -128), A::RELU));
  is_exact(added(i8, codes(0.035543516F, 3), codes(0.11936195F, -51), codes(0.1399971F, 5)));
  added(i8, codes(0.022921538F, 0), codes(0.016181288F, 0), codes(0.04487798F, -3)).tol(0, 0).check();
  added(u8, codes(0.022921538F, 128), codes(0.016181288F, 128), codes(0.04487798F, 131)).tol(0, 0).check();
}

TEST(LiteExact, Differences) {
  const auto without = [](const Codes& x, const Codes& y, const Codes& z) {
    return sum(B::SUB, i8, x, y, z, O::SubOptions, [](Fbb& b) { return schema::CreateSubOptions(b).Union(); }).version(2);
  };
  is_exact(without(codes(0.035543516F, -128), codes(0.11936195F, 3), codes(0.1399971F, 5)));
}

// A quarter of the sums of products lies in the middle of two codes; a sum of floats is beside it.
struct Conv {
  DType type = i8;
  std::int64_t channels = 3, zero_point = 5;
  A activation = A::NONE;
  bool by_channel = true, depthwise = false;
};

LiteCase convolution(const Conv& c) {
  const float x = 0.1F, w = 0.3F, y = 4 * (x * w);
  const std::int64_t outputs = c.depthwise ? c.channels : 8, zero_of_weights = c.type == u8 ? 128 : 0;
  const Ints kernel = c.depthwise ? Ints{1, 3, 3, outputs} : Ints{outputs, 3, 3, c.channels};
  const auto count = static_cast<std::size_t>(c.by_channel ? outputs : 1);
  Codes of_weights{std::vector<float>(count, w), Ints(count, zero_of_weights), c.depthwise ? 3 : 0};
  const Codes of_bias = codes_by(0, std::vector<float>(count, x * w));
  const double zero = static_cast<double>(zero_of_weights);
  LiteCase made = lite_case(c.depthwise ? B::DEPTHWISE_CONV_2D : B::CONV_2D);
  made.version(3).in(c.type, {1, 16, 16, c.channels}, codes(x, 9))
      .random_constant(c.type, kernel, of_weights, verify::Range{zero - 2, zero + 2})
      .random_constant(DType::i32, {outputs}, of_bias, verify::Range{-200, 200})
      .out(c.type, {1, 16, 16, outputs}, codes(y, c.zero_point));
  if (c.depthwise)
    return made.options(O::DepthwiseConv2DOptions, [=](Fbb& b) {
      return schema::CreateDepthwiseConv2DOptions(b, schema::Padding::SAME, 1, 1, 1, c.activation).Union();
    });
  return made.options(O::Conv2DOptions, [=](Fbb& b) {
    return schema::CreateConv2DOptions(b, schema::Padding::SAME, 1, 1, c.activation).Union();
  });
}

TEST(LiteExact, ConvolutionsInEverySession) {
  for (const Conv& c : std::vector<Conv>{{},
                                         {.zero_point = -128, .activation = A::RELU},
                                         {.channels = 1, .zero_point = -128, .activation = A::RELU},
                                         {.depthwise = true},
                                         {.by_channel = false},
                                         {.type = u8, .zero_point = 140, .by_channel = false}}) {
    const LiteCase made = convolution(c).tol(0, 0).gives({{"QLinearConv", 1}, {"Conv", 0}});
    const std::vector<int> opsets = c.by_channel ? std::vector{13, 26} : std::vector{11, 21};
    LiteCase(made).opsets(opsets).check();
    LiteCase(made).opsets(opsets).without_optimizer().note("without the optimizer").check();
  }
}

TEST(LiteExact, OtherRuntimesGetConvolutionsOfFloats) {
  convolution({}).convert_with(for_any).gives({{"QLinearConv", 0}, {"Conv", 1}}).opsets({20}).check();
}

}  // namespace
}  // namespace t2o::numeric
