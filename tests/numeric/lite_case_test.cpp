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
  lite_case(B::SKIP_GRAM).in(string, {2}).out(string, {2}).refuses(Code::unsupported_op, "SKIP_GRAM").check();
}

TEST(LiteCase, Files) {
  for (const char* name : {"cnn", "cnn_batch", "cnn_half", "cnn_int8", "cnn_int8io", "dynamic_range"}) lite_file(name).check();
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
  }
}

// Other numbers are a mismatch, whatever quantization allows.
TEST(LiteVerify, AnotherModelDiffers) {
  for (const std::string& library : test::litert_libraries()) EXPECT_FALSE(report_on("cnn_int8", "cnn", library).ok() && report_on("cnn", "cnn_int8", library).ok());
}

}  // namespace
}  // namespace t2o::numeric
