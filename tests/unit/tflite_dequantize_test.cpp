#include "tflite/dequantize.h"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

#include "diagnostics.h"
#include "ir/text.h"
#include "tflite/format.h"
#include "tflite_maker.h"

// What --dequantize keeps of the range of codes.
namespace t2o::tflite {
namespace {

using schema::BuiltinOperator;
using schema::TensorType;

// The graph of the dequantized model, or its errors.
std::string dequantized(const MadeSubgraph& g, const std::set<std::string>& custom_ops = {}) {
  Diagnostics diagnostics;
  std::string text;
  collect(diagnostics, [&] {
    tf2onnx::Options o;
    o.format = tf2onnx::Format::tflite;
    o.dequantize = true;
    o.custom_ops = {custom_ops.begin(), custom_ops.end()};
    const auto owner = std::make_shared<const std::string>(Maker().model({g}));
    const Prepared p = open_bytes(o, std::as_bytes(std::span(*owner)), owner)->prepare(o, {}, diagnostics);
    if (p.graph) text = ir::to_text(*p.graph);
  });
  for (const Diagnostic& d : diagnostics) text += to_string(d) + "\n";
  return text;
}

MadeTensor codes(const std::string& name, float scale, std::int64_t zero_point, TensorType type = TensorType::INT8) {
  return {name, {4}, type, {}, {scale}, {zero_point}};
}

// x -> op -> y; operators with two inputs take x twice.
std::string of_one(BuiltinOperator op, const MadeTensor& x, const MadeTensor& y, std::size_t inputs = 1) {
  return dequantized({{x, y}, {0}, {1}, {{op, std::vector<std::int32_t>(inputs, 0), {1}}}});
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }
bool is_cut(const std::string& text) { return has(text, "Relu6(") || has(text, "ClipByValue("); }

const MadeTensor kX = codes("x", 0.05F, 3);

TEST(TfliteDequantize, InterfaceIsFloats) {
  const std::string text = of_one(BuiltinOperator::ADD, kX, codes("y", 0.1F, 5), 2);
  EXPECT_TRUE(has(text, "x: f32[4]")) << text;
  EXPECT_FALSE(has(text, "Quantize") || has(text, "Dequantize") || is_cut(text)) << text;
}

TEST(TfliteDequantize, RangeThatBeginsAtZeroIsALostActivation) {
  EXPECT_TRUE(has(of_one(BuiltinOperator::ADD, kX, codes("y", 6.0F / 255, -128), 2), "Relu6("));
  EXPECT_TRUE(has(of_one(BuiltinOperator::ADD, kX, codes("y", 6.0F / 255, 0, TensorType::UINT8), 2), "Relu6("));
  const std::string text = of_one(BuiltinOperator::ADD, kX, codes("y", 0.02F, -128), 2);
  EXPECT_TRUE(has(text, "ClipByValue(")) << text;
  EXPECT_TRUE(has(text, "5.1")) << text;
}

TEST(TfliteDequantize, MeasuredRangesCutNothing) {
  for (const std::int64_t zero : {-127, 0, 127}) EXPECT_FALSE(is_cut(of_one(BuiltinOperator::ADD, kX, codes("y", 6.0F / 255, zero), 2))) << zero;
}

// Where the numbers lie in the range anyway, nothing is added.
TEST(TfliteDequantize, NumbersThatLieInTheRange) {
  EXPECT_FALSE(is_cut(of_one(BuiltinOperator::LOGISTIC, kX, codes("y", 1.0F / 256, -128))));
  EXPECT_FALSE(is_cut(of_one(BuiltinOperator::RELU, kX, codes("y", 0.05F, -128))));
  const std::string text = of_one(BuiltinOperator::RELU6, kX, codes("y", 6.0F / 255, -128));
  EXPECT_EQ(text.find("Relu6("), text.rfind("Relu6(")) << text;
  EXPECT_TRUE(has(of_one(BuiltinOperator::RELU, kX, codes("y", 6.0F / 255, -128)), "Relu6("));
  EXPECT_FALSE(is_cut(of_one(BuiltinOperator::ADD, codes("x", 0.05F, -128), codes("y", 0.1F, -128), 2))) << "an input lies in its range";
  EXPECT_TRUE(is_cut(of_one(BuiltinOperator::SUB, codes("x", 0.05F, -128), codes("y", 0.1F, -128), 2)));
  const MadeTensor image{"image", {4}}, made = codes("codes", 1.0F / 255, -128);
  EXPECT_FALSE(is_cut(of_one(BuiltinOperator::QUANTIZE, image, made))) << "the range of an image is no activation";
}

// A chain of sums, of `x + x` or of `x + |x|` as in a residual net. All of them lie in ranges that begin at 0.
std::string of_sums(int length, bool is_residual) {
  MadeSubgraph g{{codes("x0", 0.05F, -128)}, {0}, {0}, {}};
  for (int i = 1; i <= length; ++i) {
    const std::int32_t x = g.outputs[0];
    std::int32_t y = x, last = static_cast<std::int32_t>(g.tensors.size());
    if (is_residual) {
      g.tensors.push_back(codes("y" + std::to_string(i), 0.05F, 3));
      g.operators.push_back({BuiltinOperator::ABS, {x}, {last}});
      y = last++;
    }
    g.tensors.push_back(codes("x" + std::to_string(i), 0.05F, -128));
    g.operators.push_back({BuiltinOperator::ADD, {x, y}, {last}});
    g.outputs = {last};
  }
  return dequantized(g);
}

// The search for a range takes each operand once, however many ways lead to it.
TEST(TfliteDequantize, LongChainsTakeNoTime) {
  const auto start = std::chrono::steady_clock::now();
  for (const bool is_residual : {false, true}) {
    const std::string text = of_sums(60, is_residual);
    EXPECT_TRUE(has(text, "%x60: ")) << text;
    EXPECT_FALSE(is_cut(text)) << "a sum of such numbers is not below 0\n" << text;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

// The range of a value is known however far from the input it is.
TEST(TfliteDequantize, RangesAreKnownFarFromTheInput) {
  EXPECT_FALSE(is_cut(of_sums(200, false)));
}

// A custom operator that is kept may have the name of one of TensorFlow's, and fewer inputs.
TEST(TfliteDequantize, RangesOfCustomOperators) {
  MadeOperator custom{BuiltinOperator::CUSTOM, {0}, {1}};
  custom.custom = "AddV2";
  const std::string text = dequantized({{kX, codes("y", 0.05F, -128)}, {0}, {1}, {custom}}, {"AddV2"});
  EXPECT_TRUE(is_cut(text)) << text;
}

TEST(TfliteDequantize, WeightsBecomeFloats) {
  const MadeTensor weights{"w", {2, 4}, TensorType::INT8, {1, 2, 3, 4, 0xFF, 0xFE, 0xFD, 0xFC}, {0.5F, 0.25F}, {0, 0}, 0};
  const MadeTensor bias{"b", {2}, TensorType::INT32, {4, 0, 0, 0, 0xFC, 0xFF, 0xFF, 0xFF}, {99.0F}, {0}};
  const MadeTensor x{"x", {1, 4}, TensorType::INT8, {}, {0.5F}, {3}}, y{"y", {1, 2}, TensorType::INT8, {}, {0.1F}, {0}};
  const std::string text = dequantized({{x, weights, bias, y}, {0}, {3}, {{BuiltinOperator::FULLY_CONNECTED, {0, 1, 2}, {3}}}});
  EXPECT_TRUE(has(text, "0.5, 1, 1.5, 2, -0.25, -0.5, -0.75, -1")) << text;
  EXPECT_TRUE(has(text, "0.25, 0.125")) << "steps of the products, whatever the file states of the bias\n" << text;
}

TEST(TfliteDequantize, ScalesAlongAnInnerAxis) {
  const std::vector<std::uint8_t> all = {1, 2, 3, 4, 0xFF, 0xFE, 0xFD, 0xFC};
  const auto t = std::make_shared<Tensor>(DType::i8, Ints{2, 2, 2}, heap_storage({reinterpret_cast<const std::byte*>(all.data()), reinterpret_cast<const std::byte*>(all.data()) + all.size()}));
  EXPECT_EQ(tflite::dequantized(t, {{1, 10}, {0, 1}, 1})->to_floats(), (std::vector<double>{1, 2, 20, 30, -1, -2, -40, -50}));
}

// The bits of codes are no floats.
TEST(TfliteDequantize, WhatTakesTheCodesThemselvesIsRefused) {
  EXPECT_TRUE(has(of_one(BuiltinOperator::BITCAST, kX, {"y", {4}, TensorType::UINT8}), "codes"));
  EXPECT_TRUE(has(of_one(BuiltinOperator::CAST, kX, {"y", {4}, TensorType::INT32}), "codes"));
}

}  // namespace
}  // namespace t2o::tflite
