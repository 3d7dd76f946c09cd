// What goes into an engine comes out unchanged, in every dtype.
#include <gtest/gtest.h>

#include <cstdlib>

#include "diagnostics.h"
#include "engines/onnxruntime.h"
#include "engines/tensorflow.h"
#include "verify/compare.h"
#include "verify/random.h"

namespace t2o::engines {
namespace {

TensorPtr sample(DType dtype, const Ints& dims) {
  verify::Random random(7);
  return verify::random_tensor(dtype, dims, random);
}

bool there(std::string (*version)(const std::string&)) {
  try {
    return !version("").empty();
  } catch (const ConversionError&) {
    return false;
  }
}

class TensorFlowEngine : public testing::Test {
  void SetUp() override {
    if (!there(tensorflow_version) && std::getenv("T2O_REQUIRE_ENGINES")) FAIL() << "TensorFlow is not there";
    if (!there(tensorflow_version)) GTEST_SKIP() << "TensorFlow is not there";
  }
};

TEST_F(TensorFlowEngine, EveryDtypePassesThrough) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i16,
                            DType::u16, DType::i32, DType::u32, DType::i64, DType::u64, DType::boolean,
                            DType::string, DType::c64, DType::c128}) {
    for (const Ints& dims : {Ints{}, Ints{0}, Ints{2, 3}}) {
      TfGraph graph;
      graph.placeholder("x", dtype, Shape(dims));
      graph.add({.op = "Identity", .name = "y", .inputs = {"x"}});
      const TensorPtr value = sample(dtype, dims);
      const auto got = TfSession(graph, {.single_threaded = true}).run({{"x", value}}, {"y:0"});
      EXPECT_TRUE(same_content(*value, *got[0])) << name(dtype) << verify::shape_text(dims);
    }
  }
}

TEST_F(TensorFlowEngine, StringsMayBeLongAndHoldZeros) {
  TfGraph graph;
  const Strings strings = {std::string("a\0b", 3), std::string(1000, 'x')};
  graph.constant("c", std::make_shared<Tensor>(Ints{2}, strings));
  EXPECT_EQ(TfSession(graph).run({}, {"c"})[0]->strings(), strings);
}

TEST_F(TensorFlowEngine, AttributesOfAllTypes) {
  TfGraph graph;
  graph.placeholder("x", DType::f32, Shape({2, -1}));
  graph.placeholder("y", DType::f32, Shape());
  graph.add({.op = "MatMul", .name = "m", .inputs = {"x", "y"}, .attrs = {{"transpose_a", true}}});
  graph.add({.op = "Cast", .name = "cast", .inputs = {"m"}, .attrs = {{"DstT", DType::i64}}});
  graph.add({.op = "IdentityN", .name = "n", .inputs = {Strings{"x", "cast"}}});
  graph.add({.op = "Squeeze", .name = "s", .inputs = {"x"}, .attrs = {{"squeeze_dims", Ints{1}}}});
  EXPECT_EQ(graph.shape("m"), Shape::unknown_dims(2));
  EXPECT_EQ(graph.dtype("n:1"), DType::i64);
  EXPECT_EQ(graph.outputs("n"), 2);
  EXPECT_FALSE(graph.shape("y").ranked());
  EXPECT_TRUE(graph.has("n:1"));
  EXPECT_FALSE(graph.has("n:2"));
}

TEST_F(TensorFlowEngine, ImportsWhatItSerializes) {
  TfGraph graph, other;
  graph.placeholder("x", DType::f32, Shape({2}));
  graph.add({.op = "Neg", .name = "y", .inputs = {"x"}});
  const std::string bytes = graph.graph_def();
  other.placeholder("a", DType::f32, Shape({2}));
  other.import(std::as_bytes(std::span(bytes)), "p", {{"x:0", "a:0"}});
  const TensorPtr value = Tensor::of<float>({2}, {1, -2});
  EXPECT_EQ(TfSession(other).run({{"a", value}}, {"p/y:0"})[0]->to_floats(), (std::vector<double>{-1, 2}));
}

TEST_F(TensorFlowEngine, WhatItRefusesIsAnError) {
  TfGraph graph;
  graph.placeholder("x", DType::f32, Shape({2}));
  EXPECT_THROW(graph.add({.op = "NoSuchOp", .name = "y", .inputs = {"x"}}), ConversionError);
  EXPECT_THROW(graph.add({.op = "MatMul", .name = "z", .inputs = {"x", "x"}}), ConversionError);
  EXPECT_THROW(graph.add({.op = "Neg", .name = "w", .inputs = {"nowhere"}}), ConversionError);
  EXPECT_THROW(TfSession(graph).run({}, {"x"}), ConversionError);
  EXPECT_THROW(TfSession::load_saved_model("/nowhere", {"serve"}), ConversionError);
}

class OnnxRuntimeEngine : public testing::Test {
  void SetUp() override {
    if (!there(onnxruntime_version) && std::getenv("T2O_REQUIRE_ENGINES")) FAIL() << "ONNX Runtime is not there";
    if (!there(onnxruntime_version)) GTEST_SKIP() << "ONNX Runtime is not there";
  }
};

// ModelProto { ir_version: 8, opset_import { version: 16 }, graph { node { Identity x -> y }, name: "g",
// input x, output y } }
std::string identity_model(char elem_type) {
  const std::string node = "\x0a\x01x\x12\x01y\x22\x08Identity";
  const auto field = [](char tag, const std::string& s) {
    return std::string{tag, static_cast<char>(s.size())} + s;
  };
  const auto value = [&](const std::string& name) {
    const std::string tensor = std::string("\x08") + elem_type;
    return field('\x0a', name) + field('\x12', field('\x0a', tensor));
  };
  const std::string graph =
      field('\x0a', node) + field('\x12', "g") + field('\x5a', value("x")) + field('\x62', value("y"));
  return std::string("\x08\x08") + field('\x3a', graph) + field('\x42', "\x10\x10");
}

TEST_F(OnnxRuntimeEngine, EveryDtypePassesThrough) {
  const std::vector<std::pair<DType, char>> types = {
      {DType::f32, 1},  {DType::u8, 2},   {DType::i8, 3},     {DType::u16, 4},     {DType::i16, 5},
      {DType::i32, 6},  {DType::i64, 7},  {DType::string, 8}, {DType::boolean, 9}, {DType::f16, 10},
      {DType::f64, 11}, {DType::u32, 12}, {DType::u64, 13},   {DType::bf16, 16}};
  for (const auto& [dtype, code] : types) {
    const std::string model = identity_model(code);
    const auto session =
        OrtSession::from_bytes(std::as_bytes(std::span(model)), {.threads = 1, .arena = false});
    EXPECT_EQ(session.inputs()[0].dtype, dtype);
    for (const Ints& dims : {Ints{}, Ints{0}, Ints{2, 3}}) {
      const TensorPtr value = sample(dtype, dims);
      EXPECT_TRUE(same_content(*value, *session.run({{"x", value}})[0]))
          << name(dtype) << verify::shape_text(dims);
    }
  }
}

TEST_F(OnnxRuntimeEngine, WhatItRefusesIsAnError) {
  const std::string junk = "junk";
  EXPECT_THROW(OrtSession::from_bytes(std::as_bytes(std::span(junk))), ConversionError);
  EXPECT_THROW(OrtSession::from_file("/nowhere.onnx"), ConversionError);
  const std::string model = identity_model(1);
  const auto session = OrtSession::from_bytes(std::as_bytes(std::span(model)));
  EXPECT_THROW(session.run({{"wrong", Tensor::scalar<float>(1)}}), ConversionError);
  EXPECT_THROW(session.run({{"x", Tensor::scalar<std::int64_t>(1)}}), ConversionError);
}

TEST(Engines, MissingOnesSayHowToGetThem) {
  try {
    onnxruntime_version("/nowhere/libonnxruntime.so");
    FAIL();
  } catch (const ConversionError& e) {
    EXPECT_EQ(e.diagnostic().code, Code::engine_missing);
    EXPECT_NE(e.diagnostic().remedy.find("scripts/setup.sh"), std::string::npos);
  }
}

}  // namespace
}  // namespace t2o::engines
