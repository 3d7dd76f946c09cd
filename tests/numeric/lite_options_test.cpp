// Options of `verify` for .tflite models: sizes that the user gives, loops of several rows, and options that do not suit the export.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

#include "lite_case.h"
#include "tests/support/litert.h"
#include "verify/report.h"
#include "verify/verify.h"

namespace t2o::numeric {
namespace {

std::string sample(const std::string& name) { return T2O_SOURCE_DIR "/tests/data/tflite/" + name + ".tflite"; }

// Each row has a range of its own: with one range for all rows the results differ by up to their whole range.
TEST(LiteRows, RowsInLoopsHaveRangesOfTheirOwn) {
  for (const char* sizes : {"x:1,8", "x:2,8", "x:5,8"})
    lite_file("hybrid_loop_open").shapes({sizes}).opsets({13, 21}).tol(1e-4, 1e-4).note(sizes).check();
  lite_file("hybrid_loop_rows").tol(1e-4, 1e-4).gives({{"DynamicQuantizeLinear", 0}}).check();
  lite_file("hybrid_loop_one_row").tol(1e-4, 1e-4).check();
}

// The file states another size, which is not open.
TEST(LiteRows, SizesThatTheUserGives) {
  lite_file("dynamic_range").convert_with([](Options& o) { o.inputs = {"x[5,64]"}; }).reports({"x f32[5, 64]"}).check();
  lite_file("hybrid_loop_one_row").convert_with([](Options& o) { o.inputs = {"x[3,8]"}; }).tol(1e-4, 1e-4).reports({"x f32[3, 8]"}).check();
}

class LiteOptions : public testing::Test {
 protected:
  void SetUp() override {
    if (test::lacks_litert()) GTEST_SKIP() << "LiteRT is not there";
    options_.onnx = ::testing::TempDir() + "lite_options.onnx";
    options_.litert_library = test::litert_libraries()[0];
  }
  void TearDown() override { std::remove(options_.onnx.c_str()); }

  Conversion write(const std::string& model, bool dequantize) {
    options_.source.model = sample(model);
    options_.source.dequantize = dequantize;
    Conversion c = convert(options_.source);
    EXPECT_FALSE(has_errors(write_model(c, options_.source, options_.onnx)));
    return c;
  }
  Diagnostic refusal() {
    try {
      ADD_FAILURE() << verify::to_text(verify::verify(options_));
    } catch (const ConversionError& e) {
      return e.diagnostic();
    }
    return {};
  }
  verify::VerifyOptions options_;
};

TEST_F(LiteOptions, AnExportOfNumbersNeedsDequantize) {
  write("cnn_int8io", true);
  options_.source.dequantize = false;
  const Diagnostic d = refusal();
  EXPECT_EQ(d.code, Code::bad_option);
  EXPECT_NE(d.remedy.find("with --dequantize"), std::string::npos) << d.remedy;
}

TEST_F(LiteOptions, AnExportOfCodesNeedsNone) {
  write("cnn_int8io", false);
  options_.source.dequantize = true;
  EXPECT_EQ(refusal().remedy, "leave out --dequantize");
}

TEST_F(LiteOptions, AnIdleQuantizeModeIsToldAndLoosensNothing) {
  options_.source.quantize_mode = tf2onnx::QuantizeMode::qdq;
  for (const char* model : {"cnn", "cnn_int8"}) {
    const Conversion c = write(model, false);
    EXPECT_TRUE(std::ranges::any_of(c.diagnostics, [](const Diagnostic& d) {
      return d.severity == Severity::warning && d.message.find("--quantize-mode") != std::string::npos;
    })) << model;
    const std::string report = verify::to_text(verify::verify(options_));
    EXPECT_EQ(report.find("--quantize-mode"), std::string::npos) << report;
  }
}

}  // namespace
}  // namespace t2o::numeric
