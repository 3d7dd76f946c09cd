#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes kFloats = {f32, f64, f16, bf16};

void check_unary(const std::vector<std::string>& ops, double low, double high, const DTypes& types = kFloats) {
  for (const std::string& op : ops) op_case(op).in(any, {3, 4, 5}).range(low, high).dtypes(types).nan_inf().empty().check();
}

TEST(Elementwise, FloatFunctions) {
  check_unary({"Abs", "Neg", "Sign", "Floor", "Ceil", "Round", "Square", "Reciprocal", "Inv", "Sigmoid", "Tanh", "Relu",
               "Relu6", "Elu", "Selu", "LeakyRelu", "Softplus", "Softsign"},
              -8, 8);
  check_unary({"Erf", "Erfc"}, -8, 8, {f32, f16, bf16, f64});  // of infinities Erf of f64 is NaN
  check_unary({"Exp", "Expm1", "Sin", "Cos", "Sinh", "Cosh", "Asinh", "Atan"}, -3, 3);
  check_unary({"Sqrt", "Rsqrt", "Log"}, 0.01, 50);
  check_unary({"Log1p"}, -0.9, 50);
  check_unary({"Asin", "Acos", "Atanh", "Tan"}, -0.99, 0.99);
  check_unary({"Acosh"}, 1, 20);
  check_unary({"Rint"}, -8, 8, {f32, f64});
  check_unary({"IsNan", "IsInf", "IsFinite"}, -8, 8);
}

TEST(Elementwise, HalvesRoundToEven) {
  for (const char* op : {"Round", "Rint"})
    op_case(op).values<float>({6}, {-2.5F, -1.5F, -0.5F, 0.5F, 1.5F, 2.5F}).check();
}

TEST(Elementwise, RoundOfIntegersIsRefused) {
  op_case("Round").in(any, {3}).dtypes({i32, i64}).refuses(Code::unsupported_type, "zeros").check();
}

TEST(Elementwise, HyperbolicsBeyondSinglePrecision) {
  for (const char* op : {"Sinh", "Cosh"})
    op_case(op).values<double>({6}, {200, -300, 700, 1e-9, -1e-3, 0}).tol(1e-12, 0).check();
}

TEST(Elementwise, SmallArgumentsKeepTheirDigits) {
  op_case("Expm1").values<float>({4}, {1e-6F, -1e-4F, 80, -80}).tol(1e-5, 0).check();
}

TEST(Elementwise, Integers) {
  for (const char* op : {"Sign", "Relu", "Relu6"}) op_case(op).in(i64, {5, 9}).range(-16e9, 16e9).check();  // beyond 32 bits
  op_case("Softplus").values_as(f16, {4}, {1000, 12, -1000, 0.5}).only_opsets({13, 18, 19, 20, 23}).check();
  for (const char* op : {"Abs", "Neg", "Sign"}) op_case(op).in(any, {3, 4}).dtypes({i8, i16, i32, i64}).empty().check();
  op_case("Square").in(any, {3, 4}).dtypes({i32, i64}).check();
  op_case("Square").values<std::int32_t>({2}, {70000, -70001}).note("wraps").check();
  for (const char* op : {"Relu", "Relu6"}) op_case(op).in(any, {3, 4}).dtypes({i8, u8, i16, u16, i32, i64}).check();
  op_case("Neg").values<std::int8_t>({2}, {-128, 127}).check();
}

TEST(Elementwise, BeyondTheRangeOfF32) {
  for (const char* op : {"Elu", "Selu", "LeakyRelu"}) op_case(op).values<double>({6}, {1e300, -1e300, 1e-300, -0.5, 0, 40}).check();
}

TEST(Elementwise, LeakyReluAlpha) {
  for (const float alpha : {0.0F, 0.3F, 1.5F, -0.5F}) op_case("LeakyRelu").in(f32, {3, 4}).attr("alpha", alpha).check();
}

TEST(Elementwise, Atan2) {
  op_case("Atan2").in(any, {4, 5}).in(any, {4, 5}).dtypes(kFloats).nan_inf().check();
  op_case("Atan2").in(f32, {4, 1}).in(f32, {5}).empty().check();
  op_case("Atan2").values<float>({8}, {0, 0, -0.0F, -0.0F, 1, -1, 1, -1}).values<float>({8}, {0, -0.0F, 0, -0.0F, 0, 0, -0.0F, -0.0F}).check();
}

TEST(Elementwise, L2Loss) { op_case("L2Loss").in(any, {3, 4}).dtypes({f32, f64, f16}).empty().nan_inf().check(); }

TEST(Elementwise, Cast) {
  const DTypes all = {f32, f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64, boolean};
  for (const DType to : all) {
    op_case("Cast").in(any, {2, 3}).range(0, 100).attr("DstT", to).dtypes(all).empty().check();
  }
  op_case("Cast").values<float>({6}, {1.9F, -1.9F, 0.5F, -0.5F, 100.99F, -0.0F}).attr("DstT", i32).check();
  op_case("Cast").values<float>({6}, {1.9F, -1.9F, 0.5F, -0.5F, 1e-30F, -0.0F}).attr("DstT", boolean).nan_inf().check();
  op_case("Cast").values<std::int32_t>({3}, {300, -1, 70000}).attr("DstT", u8).check();
  op_case("Cast").in(f32, {2, 3}).attr("DstT", f16).attr("Truncate", true).refuses(Code::unsupported_attr, "Truncate").check();
}

TEST(Elementwise, Bitcast) {
  op_case("Bitcast").in(i32, {2, 3}).attr("type", u32).check();
  op_case("Bitcast").in(u8, {2, 3}).attr("type", i8).check();
  op_case("Bitcast").in(f32, {2, 3}).attr("type", f32).check();
  const std::vector<double> odd = {0, -0.0, 1, -1, 1.5, 3.1415926, -65504, 1e-7, -6e-8, INFINITY, -INFINITY, 2047.5, 0.99999994, 1e-5, 4, 32767};
  for (const DType t : {i32, u32, u8, i16, u64}) {
    op_case("Bitcast").values_as(f32, {8, 2}, odd).attr("type", t).check();
    op_case("Bitcast").in(f32, {4, 2}).attr("type", t).check();
  }
  op_case("Bitcast").values<float>({7}, {1e-45F, -1e-40F, 3e38F, 1.17549435e-38F, 1.1754942e-38F, -3.4028235e38F, 1e-30F}).attr("type", i32).check();
  op_case("Bitcast").values_as(f16, {16}, odd).attr("type", u16).check();
  op_case("Bitcast").values_as(bf16, {16}, odd).attr("type", i16).since(13).check();
  op_case("Bitcast").values<std::int32_t>({9}, {0, INT32_MIN, 1, 0x7f800000, -8388608, 0x3f800001, 0x007fffff, 0x00800000, -1082130432}).attr("type", f32).check();
  op_case("Bitcast").values<std::uint16_t>({6}, {0, 0x8000, 1, 0x7c00, 0x3c01, 0xfbff}).attr("type", f16).check();
  op_case("Bitcast").in(i64, {2, 3}).attr("type", f64).refuses_below(26, Code::opset_too_low, "BitCast").check();
  for (const DType t : {u8, i16, i32}) op_case("Bitcast").values<std::int64_t>({3}, {-2, INT64_MAX, 1234567890123}).attr("type", t).check();
  op_case("Bitcast").values<std::uint8_t>({2, 4}, {1, 2, 3, 255, 0, 0, 128, 63}).attr("type", f32).check();
  op_case("Bitcast").values<std::uint8_t>({8}, {1, 2, 3, 255, 0, 0, 128, 255}).attr("type", i64).check();
  op_case("Bitcast").in(i16, {0, 2}).attr("type", i32).check();
}

TEST(Elementwise, NextAfter) {
  const auto inf = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {1, 1, -1, -1, 0, 0, -0.0F, 0, 2, 1e-45F, 3.4028235e38F, inf, -inf, 1, inf, 1.17549435e-38F};
  const std::vector<float> to = {2, 0, 2, -2, 1, -1, 1, 0, 1, 0, inf, 0, inf, 1, -inf, 0};
  op_case("NextAfter").values<float>({16}, x).values<float>({16}, to).tol(0, 0).check();
  op_case("NextAfter").in(f32, {3, 4}).in(f32, {4}).nan_inf().tol(0, 0).check();
  op_case("NextAfter").in(f64, {3, 4}).in(f64, {3, 1}).tol(0, 0).nan_inf().refuses_below(26, Code::opset_too_low, "BitCast").check();
}

}  // namespace
}  // namespace t2o::numeric
