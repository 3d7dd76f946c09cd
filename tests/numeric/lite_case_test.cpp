// The harness for operators of .tflite models, and that `verify` sees their kinds of numbers.
#include "lite_case.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "tests/support/litert.h"
#include "verify/report.h"
#include "verify/verify.h"

namespace t2o::numeric {
namespace {

using enum t2o::DType;

TEST(LiteCase, FloatsWithAnActivation) {
  lite_case(B::ADD).in(f32, {2, 3}).in(f32, {3}).out(f32, {2, 3}).options(O::AddOptions, [](Fbb& b) { return schema::CreateAddOptions(b, A::RELU).Union(); }).check();
}

TEST(LiteCase, OpenSizes) {
  lite_case(B::MUL).in(f32, {-1, 3}).in(f32, {3}).out(f32, {-1, 3}).options(O::MulOptions, [](Fbb& b) { return schema::CreateMulOptions(b).Union(); }).check();
}

TEST(LiteCase, QuantizedInputsAndOutputs) {
  lite_case(B::ADD).in(i8, {1, 4, 4, 2}, codes(0.02F, 3)).in(i8, {1, 4, 4, 2}, codes(0.05F, -7)).out(i8, {1, 4, 4, 2}, codes(0.06F, 1)).version(2)
      .options(O::AddOptions, [](Fbb& b) { return schema::CreateAddOptions(b).Union(); }).check();
}

TEST(LiteCase, QuantizedWeights) {
  lite_case(B::FULLY_CONNECTED).in(i8, {4, 16}, codes(0.05F, 3)).random_constant(i8, {8, 16}, codes(0.01F)).missing().out(i8, {4, 8}, codes(0.2F, -3)).version(4)
      .options(O::FullyConnectedOptions, [](Fbb& b) { return schema::CreateFullyConnectedOptions(b).Union(); }).check();
}

TEST(LiteCase, WhatIsRefused) {
  lite_case(B::RELU).in(i8, {4}, codes(-0.1F)).out(i8, {4}, codes(-0.1F)).refuses(Code::bad_model, "scale").check();
  lite_case(B::SKIP_GRAM).in(string, {2}).out(string, {2}).refuses(Code::unsupported_op, "SKIP_GRAM").check();
}

TEST(LiteCase, Files) {
  for (const char* name : {"cnn", "cnn_batch", "cnn_half", "cnn_int8", "cnn_int8io", "dynamic_range"}) lite_file(name).check();
}

void dequantize(Options& o) { o.dequantize = true; }

TEST(LiteCase, DequantizedFiles) {
  for (const char* name : {"cnn_int8", "cnn_int8io", "cnn_int16", "dynamic_range", "lstm_keras_int8", "moves_int8io", "variable_stream_int8"})
    lite_file(name).convert_with(dequantize).gives({{"QuantizeLinear", 0}, {"DequantizeLinear", 0}}).check();
}

// A range that begins at 0 is an activation that the file does not state.
TEST(LiteCase, DequantizedActivations) {
  const auto sum = [](Codes y) {
    return lite_case(B::ADD).in(i8, {1, 4, 4, 2}, codes(0.1F, 3)).in(i8, {1, 4, 4, 2}, codes(0.05F, -7)).out(i8, {1, 4, 4, 2}, y).version(2)
        .options(O::AddOptions, [](Fbb& b) { return schema::CreateAddOptions(b).Union(); }).convert_with(dequantize);
  };
  sum(codes(6.0F / 255, -128)).gives({{"Clip", 1}, {"Add", 1}}).check();
  sum(codes(0.03F, -128)).gives({{"Clip", 1}, {"Add", 1}}).check();
  sum(codes(0.15F, 2)).gives({{"Clip", 0}, {"Add", 1}}).check();
}

TEST(LiteCase, DequantizedLayers) {
  lite_case(B::FULLY_CONNECTED).in(i8, {4, 16}, codes(0.05F, 3)).random_constant(i8, {8, 16}, codes_by(0, {0.01F, 0.02F, 0.03F, 0.01F, 0.02F, 0.03F, 0.01F, 0.02F}))
      .random_constant(i32, {8}, codes(1), verify::Range{-900, 900}).out(i8, {4, 8}, codes(0.5F, -3)).version(5)
      .options(O::FullyConnectedOptions, [](Fbb& b) { return schema::CreateFullyConnectedOptions(b).Union(); }).convert_with(dequantize).gives({{"Gemm", 1}}).check();
  lite_case(B::AVERAGE_POOL_2D).in(i8, {1, 6, 6, 3}, codes(0.05F, 3)).out(i8, {1, 3, 3, 3}, codes(0.05F, 3)).version(2)
      .options(O::Pool2DOptions, [](Fbb& b) { return schema::CreatePool2DOptions(b, schema::Padding::SAME, 2, 2, 2, 2).Union(); }).convert_with(dequantize).gives({{"AveragePool", 1}, {"Cast", 0}}).check();
  lite_case(B::LEAKY_RELU).in(i8, {64}, codes(0.05F, 3)).out(i8, {64}, codes(0.04F, -3)).version(2)
      .options(O::LeakyReluOptions, [](Fbb& b) { return schema::CreateLeakyReluOptions(b, 0.2F).Union(); }).convert_with(dequantize).gives({{"LeakyRelu", 1}, {"Gather", 0}}).check();
}

// LiteRT rounds twice where the codes become less than half as large.
TEST(LiteCase, RescaledCodes) {
  for (const B op : {B::RELU, B::RELU6, B::RELU_N1_TO_1, B::ABS})
    for (const float scale : {0.04F, 0.1F, 0.3F, 0.9F}) lite_case(op).in(i8, {512}, codes(0.04F, 3)).out(i8, {512}, codes(scale, -3)).note(std::to_string(scale)).check();
  lite_case(B::RELU).in(u8, {512}, codes(0.04F, 120)).out(u8, {512}, codes(0.1F, 7)).check();
}

// A cast takes the codes of a quantized tensor, not its numbers, and gives codes to one.
TEST(LiteCase, CastsOfCodes) {
  const std::map<std::string, std::size_t> kCastAlone = {{"Cast", 1}, {"QuantizeLinear", 0}, {"DequantizeLinear", 0}};
  const auto cast = [] { return lite_case(B::CAST).options(O::CastOptions, [](Fbb& b) { return schema::CreateCastOptions(b).Union(); }); };
  cast().in(i8, {64}, codes(0.5F, 3)).out(f32, {64}).gives(kCastAlone).check();
  cast().in(u8, {64}, codes(0.5F, 3)).out(i32, {64}).gives(kCastAlone).check();
  cast().in(i16, {64}, codes(0.5F)).out(f32, {64}).gives(kCastAlone).check();
  cast().in(i8, {64}, codes(0.5F, 3)).out(u8, {64}, codes(0.25F, 5)).gives(kCastAlone).check();
  cast().in(f32, {64}).out(i8, {64}, codes(0.25F, 5)).gives(kCastAlone).check();
  cast().in(i8, {64}, codes(0.5F, 3)).out(f32, {64}).convert_with(dequantize).refuses(Code::unsupported_op, "codes").check();
}

// What `verify` says of two models that differ: the export of one against the other.
verify::VerifyReport report_on(const std::string& source, const std::string& exported_from, const std::string& library) {
  const std::string folder = T2O_SOURCE_DIR "/tests/data/tflite/", onnx = ::testing::TempDir() + "other.onnx";
  verify::VerifyOptions v;
  v.source.model = folder + exported_from + ".tflite";
  EXPECT_FALSE(has_errors(write_model(convert(v.source), v.source, onnx)));
  v.source.model = folder + source + ".tflite";
  v.onnx = onnx;
  v.litert_library = library;
  return verify::verify(v);
}

TEST(LiteVerify, NamesTheRuntimeAndCountsCodes) {
  for (const std::string& library : test::litert_libraries()) {
    const verify::VerifyReport r = report_on("cnn_int8io", "cnn_int8io", library);
    EXPECT_TRUE(r.ok());
    EXPECT_TRUE(r.in_codes);
    EXPECT_NE(r.cpu, "") << "how this CPU adds matters to quantized models";
    EXPECT_EQ(r.runtime.name, "LiteRT");
    ASSERT_TRUE(r.samples.at(0).outputs.at(0).comparison.codes);
    EXPECT_TRUE(r.samples[0].outputs[0].other_kernels);
    EXPECT_NE(verify::to_text(r).find("LiteRT " + r.runtime.version + " (XNNPACK kernels) against ONNX Runtime"), std::string::npos);
  }
}

TEST(LiteVerify, FloatsMadeOfCodesCountInCodes) {
  for (const std::string& library : test::litert_libraries()) {
    const verify::VerifyReport r = report_on("cnn_int8", "cnn_int8", library);
    EXPECT_TRUE(r.ok());
    EXPECT_TRUE(r.samples.at(0).outputs.at(0).comparison.codes);
    EXPECT_FALSE(r.tolerance_reason.empty());
    EXPECT_TRUE(report_on("cnn", "cnn", library).tolerance_reason.empty());
    EXPECT_EQ(report_on("cnn", "cnn", library).cpu, "");
  }
}

// Other numbers are a mismatch, whatever quantization allows.
TEST(LiteVerify, AnotherModelDiffers) {
  for (const std::string& library : test::litert_libraries()) EXPECT_FALSE(report_on("cnn_int8", "cnn", library).ok() && report_on("cnn", "cnn_int8", library).ok());
}

}  // namespace
}  // namespace t2o::numeric
