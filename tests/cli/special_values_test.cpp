#include <gtest/gtest.h>
#include <stdlib.h>

#include <nlohmann/json.hpp>

#include "cli/program.h"

// verify --special-values: what a level promises must agree, everything else is only reported.
namespace t2o::test {
namespace {

using Json = nlohmann::json;
constexpr int kDiffers = 3, kNoEngine = 5;

// x of [2, 3] (or another shape), then the nodes.
std::string model(const std::string& nodes, const std::string& dtype = "DT_FLOAT", const std::string& dims = "2 3") {
  std::string shape;
  for (std::size_t at = 0, end = 0; at < dims.size(); at = end + 1) {
    end = std::min(dims.find(' ', at), dims.size());
    shape += "dim { size: " + dims.substr(at, end - at) + " } ";
  }
  return "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: " + dtype + " } } "
         "attr { key: 'shape' value { shape { " + shape + "} } } }\n" + nodes;
}

std::string node(const std::string& name, const std::string& op, const std::vector<std::string>& inputs, const std::string& attrs = "T DT_FLOAT") {
  std::string text = "node { name: '" + name + "' op: '" + op + "' ";
  for (const std::string& in : inputs) text += "input: '" + in + "' ";
  for (std::size_t at = 0; at < attrs.size();) {
    const std::size_t space = attrs.find(' ', at), end = std::min(attrs.find(' ', space + 1), attrs.size());
    const std::string value = attrs.substr(space + 1, end - space - 1);
    text += "attr { key: '" + attrs.substr(at, space - at) + "' value { " + (value.starts_with("DT_") ? "type: " : "b: ") + value + " } } ";
    at = end + 1;
  }
  return text + "}\n";
}

std::string number(const std::string& name, const std::string& dtype, const std::string& value) {
  return "node { name: '" + name + "' op: 'Const' attr { key: 'dtype' value { type: " + dtype + " } } attr { key: 'value' value { tensor { dtype: " +
         dtype + " tensor_shape { } " + (dtype == "DT_INT32" ? "int_val: " : "float_val: ") + value + " } } } }\n";
}

std::string maximum(const std::string& of) {
  return number("axis", "DT_INT32", "1") + node("y", "Max", {of, "axis"}, "T DT_FLOAT Tidx DT_INT32 keep_dims false");
}

class SpecialValues : public testing::Test {
 protected:
  // Converts one model, and verifies the export against another one, or against itself.
  Json verified(const std::string& converted, const std::string& level, int exit_code, const std::string& source = "") {
    const std::string out = (dir_ / "m.onnx").string();
    const std::string from = dir_.file("m.pbtxt", converted);
    last_ = run({from, "--outputs", "y", "-o", out, "--fidelity", level});
    EXPECT_EQ(last_.exit_code, 0) << last_.err;
    const std::string original = source.empty() ? from : dir_.file("source.pbtxt", source);
    last_ = run({"verify", original, out, "--outputs", "y", "--special-values", "--json"});
    if (last_.exit_code == kNoEngine && !getenv("T2O_REQUIRE_ENGINES")) return {};
    EXPECT_EQ(last_.exit_code, exit_code) << last_.out << last_.err;
    const Json all = Json::parse(last_.out);
    EXPECT_EQ(all.at("ok"), exit_code == 0);
    EXPECT_EQ(all.at("special_values").at("level"), level);
    return all.at("special_values");
  }
  static Json kind(const Json& report, const std::string& name) {
    for (const Json& k : report.at("kinds"))
      if (k.at("kind") == name) return k;
    ADD_FAILURE() << "no " << name << " in " << report;
    return {};
  }
  bool has_engines() {
    const bool has = last_.exit_code != kNoEngine;
    EXPECT_TRUE(has || !getenv("T2O_REQUIRE_ENGINES"));
    return has;
  }
  TemporaryDirectory dir_;
  Finished last_;
};

TEST_F(SpecialValues, ThePlainLevelReportsAnUnpromisedNaN) {
  const Json plain = verified(model(maximum("x")), "plain", 0);
  if (!has_engines()) GTEST_SKIP();
  const Json nan = kind(plain, "NaN");
  EXPECT_EQ(nan.at("promised"), "no");
  EXPECT_GT(nan.at("differing"), 0);
  EXPECT_EQ(nan.at("failing"), 0);
  EXPECT_TRUE(nan.at("worst").at("element").get<std::string>().find("nan in TensorFlow") != std::string::npos) << nan;
  for (const char* name : {"infinities", "largest numbers", "smallest numbers", "zeros"}) EXPECT_EQ(kind(plain, name).at("differing"), 0) << name;
  const Finished text = run({"verify", (dir_ / "m.pbtxt").string(), (dir_ / "m.onnx").string(), "--outputs", "y", "--special-values"});
  EXPECT_NE(text.out.find("not promised at plain: "), std::string::npos) << text.out;
}

TEST_F(SpecialValues, TheStrictLevelKeepsWhatItPromises) {
  const Json strict = verified(model(maximum("x")), "strict", 0);
  if (!has_engines()) GTEST_SKIP();
  for (const Json& k : strict.at("kinds")) {
    EXPECT_EQ(k.at("promised"), "yes");
    EXPECT_EQ(k.at("differing"), 0) << k;
    EXPECT_GT(k.at("elements"), 0) << k;
  }
}

// An export in which a number beyond a million is cut agrees for all ordinary data.
TEST_F(SpecialValues, APromiseThatIsBroken) {
  const std::string cut = number("most", "DT_FLOAT", "1e6") + node("cut", "Minimum", {"x", "most"}) + maximum("cut");
  for (const char* level : {"plain", "strict"}) {
    const Json report = verified(model(cut), level, kDiffers, model(maximum("x")));
    if (!has_engines()) GTEST_SKIP();
    EXPECT_GT(kind(report, "largest numbers").at("failing"), 0) << level;
    EXPECT_EQ(kind(report, "zeros").at("differing"), 0) << level;
  }
}

// At plain, a number that TensorFlow itself makes infinite is not promised.
TEST_F(SpecialValues, NumbersThatOverflow) {
  const std::string large = number("least", "DT_FLOAT", "-3.4e38");
  const std::string from_below = large + node("square", "Mul", {"x", "x"}) + node("y", "Maximum", {"square", "least"});
  const std::string cut = number("most", "DT_FLOAT", "1e30") + node("square", "Mul", {"x", "x"}) + node("y", "Minimum", {"square", "most"});
  const Json report = verified(model(cut), "plain", kDiffers, model(from_below));
  if (!has_engines()) GTEST_SKIP();
  const Json k = kind(report, "largest numbers");
  EXPECT_GT(k.at("failing"), 0);
  EXPECT_GT(k.at("differing"), k.at("failing")) << "the square of the largest number is infinite";
}

TEST_F(SpecialValues, WhatTensorFlowRefusesIsSkipped) {
  const std::string check = "node { name: 'y' op: 'CheckNumerics' input: 'x' attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'message' value { s: 'no' } } }\n";
  const Json report = verified(model(check), "strict", 0);
  if (!has_engines()) GTEST_SKIP();
  const Json k = kind(report, "NaN");
  EXPECT_EQ(k.at("skipped"), k.at("samples"));
  EXPECT_FALSE(k.at("why_skipped").get<std::string>().empty());
  EXPECT_EQ(kind(report, "zeros").at("skipped"), 0);
}

TEST_F(SpecialValues, IntegersHaveTheirExtremesAndIndicesDoNot) {
  const Json numbers = verified(model(node("y", "Maximum", {"x", "x"}, "T DT_INT64"), "DT_INT64"), "plain", 0);
  if (!has_engines()) GTEST_SKIP();
  EXPECT_EQ(numbers.at("kinds").size(), 1U);
  EXPECT_EQ(kind(numbers, "integer extremes").at("differing"), 0);
  const std::string table = number("axis", "DT_INT32", "0") +
                            "node { name: 'table' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor { dtype: DT_FLOAT "
                            "tensor_shape { dim { size: 3 } } float_val: 1 float_val: 2 float_val: 3 } } } }\n";
  const Json indices = verified(model(table + node("y", "GatherV2", {"table", "x", "axis"}, "Tparams DT_FLOAT Tindices DT_INT32 Taxis DT_INT32"), "DT_INT32"), "plain", 0);
  EXPECT_TRUE(indices.at("kinds").empty());
}

// The batch is empty; an empty cache is promised at plain too.
TEST_F(SpecialValues, EmptyTensors) {
  const std::string cache = number("axis", "DT_INT32", "1") + number("zeros", "DT_FLOAT", "0") + node("new", "AddV2", {"x", "zeros"}) +
                            "node { name: 'past' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape { dim { size: 2 } dim { size: -1 } } } } }\n"
                            "node { name: 'y' op: 'ConcatV2' input: 'past' input: 'new' input: 'axis' attr { key: 'N' value { i: 2 } } attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'Tidx' value { type: DT_INT32 } } }\n";
  const Json report = verified(model(cache), "plain", 0);
  if (!has_engines()) GTEST_SKIP();
  EXPECT_EQ(kind(report, "empty caches").at("promised"), "yes");
  EXPECT_EQ(kind(report, "empty caches").at("elements"), 6);
  EXPECT_EQ(kind(report, "empty tensors").at("promised"), "no");
}

TEST_F(SpecialValues, LiteRT) {
  const std::string source = T2O_SOURCE_DIR "/tests/data/litert/net_float.tflite", out = (dir_ / "lite.onnx").string();
  last_ = run({source, "-o", out, "--verify", "--special-values", "--json"});
  if (!has_engines()) GTEST_SKIP();
  EXPECT_EQ(last_.exit_code, 0) << last_.out << last_.err;
  EXPECT_GT(kind(Json::parse(last_.out).at("verification").at("special_values"), "NaN").at("elements"), 0);
}

}  // namespace
}  // namespace t2o::test
