#include "tflite/model.h"

#include <gtest/gtest.h>

#include <cstring>

#include "diagnostics.h"
#include "ir/text.h"
#include "tflite/format.h"
#include "tflite_maker.h"

namespace t2o::tflite {
namespace {

using schema::BuiltinOperator;
using schema::TensorType;

template <class T>
std::vector<std::uint8_t> bytes_of(const std::vector<T>& values) {
  std::vector<std::uint8_t> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

struct Read {
  std::string graph, errors;
};

// The graph of the model, and the errors. Without a graph there are errors.
Read read(const std::string& bytes, tf2onnx::Options o = {}) {
  Read r;
  Diagnostics diagnostics;
  collect(diagnostics, [&] {
    o.format = tf2onnx::Format::tflite;
    const auto owner = std::make_shared<const std::string>(bytes);
    const SourcePtr source = open_bytes(o, std::as_bytes(std::span(*owner)), owner);
    const Prepared p = source->prepare(o, {}, diagnostics);
    if (p.graph) r.graph = ir::to_text(*p.graph);
  });
  for (const Diagnostic& d : diagnostics) r.errors += to_string(d) + "\n";
  EXPECT_EQ(r.graph.empty(), has_errors(diagnostics)) << r.errors;
  return r;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

MadeSubgraph one_op(BuiltinOperator op, std::vector<MadeTensor> inputs, MadeTensor output) {
  MadeSubgraph g{std::move(inputs), {}, {}, {}};
  MadeOperator o{op, {}, {static_cast<std::int32_t>(g.tensors.size())}};
  for (std::int32_t i = 0; i < static_cast<std::int32_t>(g.tensors.size()); ++i) {
    o.inputs.push_back(i);
    if (g.tensors[static_cast<std::size_t>(i)].data.empty()) g.inputs.push_back(i);
  }
  g.outputs = o.outputs;
  g.tensors.push_back(std::move(output));
  g.operators.push_back(o);
  return g;
}

TEST(TfliteModel, OneOperator) {
  const Read r = read(Maker().model({one_op(BuiltinOperator::RELU, {{"x", {1, 2}}}, {"y", {1, 2}})}));
  EXPECT_EQ(r.errors, "");
  EXPECT_TRUE(has(r.graph, "input %x: f32[1,2]")) << r.graph;
  EXPECT_TRUE(has(r.graph, "Relu(%x)")) << r.graph;
  EXPECT_TRUE(has(r.graph, "output %y")) << r.graph;
}

// The bytes of a model in memory may begin anywhere.
TEST(TfliteModel, BytesNeedNotBeAligned) {
  const std::string model = Maker().model({one_op(BuiltinOperator::RELU, {{"x", {1}}}, {"y", {1}})});
  const std::string padded = "abc" + model;
  tf2onnx::Options o;
  const auto owner = std::make_shared<const std::string>(padded);
  EXPECT_NE(open_bytes(o, std::as_bytes(std::span(*owner)).subspan(3), owner), nullptr);
}

TEST(TfliteModel, ElementTypes) {
  EXPECT_EQ(dtype_of(TensorType::UINT4), DType::u4);
  EXPECT_EQ(dtype_of(TensorType::INT4), DType::i4);
  EXPECT_EQ(dtype_of(TensorType::INT2), DType::i2);
  EXPECT_EQ(dtype_of(TensorType::BFLOAT16), DType::bf16);
  EXPECT_EQ(dtype_of(TensorType::COMPLEX64), DType::c64);
  EXPECT_EQ(dtype_of(TensorType::VARIANT), DType::variant);
  EXPECT_EQ(dtype_of(static_cast<TensorType>(21)), DType::undefined);
  EXPECT_EQ(dtype_of(static_cast<TensorType>(-1)), DType::undefined);
}

TEST(TfliteModel, StringsAreChecked) {
  const std::vector<std::int32_t> head = {2, 12, 13, 15};
  std::vector<std::uint8_t> data = bytes_of(head);
  data.resize(12);
  for (const char c : {'a'}) data.push_back(static_cast<std::uint8_t>(c));
  std::vector<std::uint8_t> good = bytes_of(std::vector<std::int32_t>{2, 16, 17, 19});
  for (const char c : {'a', 'b', 'c'}) good.push_back(static_cast<std::uint8_t>(c));
  const auto graph = [](std::vector<std::uint8_t> strings) {
    MadeSubgraph g = one_op(BuiltinOperator::GATHER,
                            {{"table", {2}, TensorType::STRING, std::move(strings)}, {"i", {3}, TensorType::INT32}},
                            {"y", {3}, TensorType::STRING});
    return read(Maker().model({g}));
  };
  EXPECT_TRUE(has(graph(good).graph, "[\"a\", \"bc\"]")) << graph(good).graph << graph(good).errors;
  EXPECT_TRUE(has(graph(data).errors, "constant 'table'")) << graph(data).errors;
  EXPECT_TRUE(has(graph({1, 2}).errors, "ends within its strings"));
  EXPECT_TRUE(has(graph(bytes_of(std::vector<std::int32_t>{1 << 30, 8, 8})).errors, "ends within its strings"));
}

TEST(TfliteModel, SizesOfConstantsAreChecked) {
  const auto graph = [](std::size_t floats) {
    return read(Maker().model({one_op(BuiltinOperator::ADD, {{"x", {2}}, {"c", {2}, TensorType::FLOAT32, std::vector<std::uint8_t>(4 * floats)}},
                                      {"y", {2}})}));
  };
  EXPECT_EQ(graph(2).errors, "");
  EXPECT_TRUE(has(graph(3).errors, "'c' has 12 bytes instead of 8")) << graph(3).errors;
}

TEST(TfliteModel, IndicesAreChecked) {
  const auto errors = [](auto&& damage) {
    MadeSubgraph g = one_op(BuiltinOperator::RELU, {{"x", {1}}}, {"y", {1}});
    damage(g);
    return read(Maker().model({g})).errors;
  };
  EXPECT_TRUE(has(errors([](MadeSubgraph& g) { g.inputs = {7}; }), "an input of a subgraph is tensor 7, and there are 2"));
  EXPECT_TRUE(has(errors([](MadeSubgraph& g) { g.outputs = {-1}; }), "an output of a subgraph is tensor -1"));
  EXPECT_TRUE(has(errors([](MadeSubgraph& g) { g.operators[0].inputs = {-2}; }), "an input of an operator is tensor -2"));
  EXPECT_TRUE(has(errors([](MadeSubgraph& g) { g.operators[0].inputs = {-1}; }), "its input 0 is missing"));
  EXPECT_TRUE(has(errors([](MadeSubgraph& g) { g.operators[0].inputs = {1}; }), "no operator before it computes 'y'"));
  EXPECT_TRUE(has(errors([](MadeSubgraph& g) { g.outputs.clear(); }), "has no outputs"));
  EXPECT_TRUE(has(errors([](MadeSubgraph& g) { g.operators.clear(); }), "no operator before it computes 'y'"));
}

// A tensor without a shape is a scalar.
TEST(TfliteModel, WeightsNeedTheirAxes) {
  for (const BuiltinOperator op : {BuiltinOperator::DEPTHWISE_CONV_2D, BuiltinOperator::FULLY_CONNECTED}) {
    const Read r = read(Maker().model({one_op(op, {{"x", {1, 2}}, {"w", {}, TensorType::FLOAT32, {0, 0, 0, 0}}}, {"y", {1, 2}})}));
    EXPECT_TRUE(has(r.errors, "its input 1 has 0 axes instead of")) << r.errors;
  }
}

TEST(TfliteModel, RefusalsNameTheOperator) {
  MadeSubgraph g = one_op(BuiltinOperator::CUSTOM, {{"x", {1}}}, {"y", {1}});
  g.operators[0].custom = "MyOwn";
  const std::string custom = read(Maker().model({g})).errors;
  EXPECT_TRUE(has(custom, "MyOwn 'y' in function 'main, operator 0'")) << custom;
  const Read later = read(Maker().model({one_op(BuiltinOperator::STABLEHLO_RNG_BIT_GENERATOR, {{"x", {1}}}, {"y", {1}})}));
  EXPECT_TRUE(has(later.errors, "[not-yet]: STABLEHLO_RNG_BIT_GENERATOR 'y'")) << later.errors;
  const Read none = read(Maker().model({one_op(static_cast<BuiltinOperator>(999), {{"x", {1}}}, {"y", {1}})}));
  EXPECT_TRUE(has(none.errors, "operator number 999 'y'")) << none.errors;
}

TEST(TfliteModel, SubgraphsThatCallThemselves) {
  MadeSubgraph g = one_op(BuiltinOperator::CALL, {{"x", {1}}}, {"y", {1}});
  g.operators[0].subgraphs[0] = 0;
  EXPECT_TRUE(has(read(Maker().model({g})).errors, "calls itself"));
  g.operators[0].subgraphs[0] = 5;
  EXPECT_TRUE(has(read(Maker().model({g})).errors, "it names subgraph 5, and there are 1"));
}

// Each subgraph calls the next one twice: 2^40 operators.
TEST(TfliteModel, SubgraphsThatCallEachOtherTooOften) {
  std::vector<MadeSubgraph> all;
  for (int i = 0; i < 40; ++i) {
    MadeSubgraph g{{{"a", {1}}, {"b", {1}}, {"c", {1}}}, {0}, {2}, {}};
    g.operators = {{BuiltinOperator::CALL, {0}, {1}, {i + 1, -1}}, {BuiltinOperator::CALL, {1}, {2}, {i + 1, -1}}};
    all.push_back(g);
  }
  all.push_back(one_op(BuiltinOperator::RELU, {{"x", {1}}}, {"y", {1}}));
  const Read r = read(Maker().model(all));
  EXPECT_TRUE(has(r.errors, "call each other too often")) << r.errors;
}

// Each subgraph calls the next one: far more of them than calls fit on a stack.
TEST(TfliteModel, SubgraphsThatAreNestedTooDeep) {
  for (const int depth : {60, 200'000}) {
    MadeSubgraph g = one_op(BuiltinOperator::CALL, {{"x", {1}}}, {"y", {1}});
    std::vector<MadeSubgraph> all(static_cast<std::size_t>(depth), g);
    for (int i = 0; i < depth; ++i) all[static_cast<std::size_t>(i)].operators[0].subgraphs[0] = i + 1;
    all.push_back(one_op(BuiltinOperator::RELU, {{"x", {1}}}, {"y", {1}}));
    const std::string model = Maker().model(all);
    for (const bool keeps_states : {false, true}) {
      tf2onnx::Options o;
      o.stateful_io = keeps_states;
      const Read r = read(model, o);
      EXPECT_TRUE(has(r.errors, "is nested too deep")) << r.errors;
    }
  }
}

// A state that cannot be made is refused by each operator that reads it.
TEST(TfliteModel, StatesThatAreTooLarge) {
  const MadeTensor x{"x", {1, 3}}, features{"f", {2, 3}, TensorType::FLOAT32, bytes_of(std::vector<float>(6))},
      time{"t", {2, 4}, TensorType::FLOAT32, bytes_of(std::vector<float>(8))};
  MadeTensor state{"state", {1 << 15, 1 << 15}};
  state.is_variable = true;
  MadeSubgraph g{{x, features, time, state, {"y", {1, 2}}, {"z", {1, 2}}}, {0}, {4, 5}, {}};
  g.operators = {{BuiltinOperator::SVDF, {0, 1, 2, -1, 3}, {4}}, {BuiltinOperator::SVDF, {0, 1, 2, -1, 3}, {5}}};
  const std::string errors = read(Maker().model({g})).errors, message = "the state 'state' is too large";
  EXPECT_TRUE(has(errors, message)) << errors;
  EXPECT_NE(errors.find(message), errors.rfind(message)) << errors;
}

TEST(TfliteModel, CallsAreInlined) {
  MadeSubgraph outer = one_op(BuiltinOperator::CALL, {{"x", {1}}}, {"y", {1}});
  outer.operators[0].subgraphs[0] = 1;
  const Read r = read(Maker().model({outer, one_op(BuiltinOperator::RELU, {{"x", {1}}}, {"y", {1}})}));
  EXPECT_EQ(r.errors, "");
  EXPECT_TRUE(has(r.graph, "Relu(%x)")) << r.graph;
}

TEST(TfliteModel, SubgraphsOfLoopsMustFit) {
  MadeSubgraph outer = one_op(BuiltinOperator::WHILE, {{"x", {1}}}, {"y", {1}});
  outer.operators[0].subgraphs[0] = 1;
  outer.operators[0].subgraphs[1] = 2;
  const MadeSubgraph relu = one_op(BuiltinOperator::RELU, {{"x", {1}}}, {"y", {1}});
  EXPECT_TRUE(has(read(Maker().model({outer, relu, relu})).errors, "the results of its condition: number 0 is of type f32 instead of bool"));
  const MadeSubgraph less = one_op(BuiltinOperator::LESS, {{"x", {1}}, {"y", {1}}}, {"z", {1}, TensorType::BOOL});
  EXPECT_TRUE(has(read(Maker().model({outer, less, relu})).errors, "it has 1 inputs, and subgraph"));
}

TEST(TfliteModel, Signatures) {
  const std::vector<MadeSubgraph> graphs = {one_op(BuiltinOperator::RELU, {{"x", {1}}}, {"y", {1}}),
                                            one_op(BuiltinOperator::TANH, {{"x", {1}}}, {"y", {1}})};
  const std::string model =
      Maker().model(graphs, {{"first", 0, {{"in", 0}}, {{"out", 1}}}, {"second", 1, {{"in2", 0}}, {{"out2", 1}}}});
  EXPECT_TRUE(has(read(model).graph, "%out"));
  EXPECT_TRUE(has(read(model).graph, "Relu(%in)")) << read(model).graph;
  tf2onnx::Options o;
  o.signature = "second";
  EXPECT_TRUE(has(read(model, o).graph, "Tanh(%in2)")) << read(model, o).graph;
  o.signature = "secnd";
  EXPECT_TRUE(has(read(model, o).errors, "did you mean 'second'?"));
  o = {};
  o.use_graph_names = true;
  EXPECT_TRUE(has(read(model, o).graph, "Relu(%x)"));
  o = {};
  o.inputs = {"x[5]"};
  o.outputs = {"y:0"};
  EXPECT_TRUE(has(read(model, o).graph, "input %x: f32[5]")) << read(model, o).graph;
  o.inputs = {"nothing"};
  EXPECT_TRUE(has(read(model, o).errors, "there is no tensor 'nothing'")) << read(model, o).errors;
  EXPECT_TRUE(has(read(Maker().model(graphs, {{"a", 0, {}, {}}, {"a", 1, {}, {}}})).errors, "two signatures have the name 'a'"));
}

TEST(TfliteModel, OnePartOfAJoinedNameIsEnough) {
  const auto join = [](std::string middle, std::string last) {
    MadeSubgraph g = one_op(BuiltinOperator::RELU, {{"x", {2}}}, {std::move(middle), {2}});
    g.tensors.push_back({std::move(last), {2}});
    g.operators.push_back({BuiltinOperator::TANH, {1}, {2}});
    g.outputs = {2};
    return Maker().model({g});
  };
  tf2onnx::Options o;
  for (const char* name : {"block/relu", "block/bias", "block/bias:0", "StatefulPartitionedCall/block/bias", "block/relu;StatefulPartitionedCall/block/bias:0"}) {
    o.outputs = {name};
    const Read r = read(join("block/relu;StatefulPartitionedCall/block/bias:0", "out"), o);
    EXPECT_TRUE(has(r.graph, "Relu(%x)") && !has(r.graph, "Tanh")) << name << "\n" << r.errors;
  }
  o.outputs = {"block/relu"};
  const std::string both = read(join("block/relu;a", "block/relu;b"), o).errors;
  EXPECT_TRUE(has(both, "'block/relu;a', 'block/relu;b'")) << both;
  o.outputs = {"block/rely"};
  EXPECT_TRUE(has(read(join("block/relu;a", "out"), o).errors, "did you mean 'block/relu'?"));
}

TEST(TfliteModel, WeightsAreNotSuggested) {
  MadeSubgraph g = one_op(BuiltinOperator::ADD, {{"x", {2}}, {"layer/adds", {2}, TensorType::FLOAT32, bytes_of<float>({1, 2})}}, {"layer/addition", {2}});
  tf2onnx::Options o;
  o.outputs = {"layer/add"};
  const std::string errors = read(Maker().model({g}), o).errors;
  EXPECT_FALSE(has(errors, "layer/adds")) << errors;
}

TEST(TfliteModel, AWrongNumberOfNewNamesListsTheTensors) {
  tf2onnx::Options o;
  o.rename_outputs = {"a", "b"};
  const std::string errors = read(Maker().model({one_op(BuiltinOperator::RELU, {{"x", {2}}}, {"y", {2}})}), o).errors;
  EXPECT_TRUE(has(errors, "2 new names are given for 1 outputs") && has(errors, "'y'")) << errors;
}

TEST(TfliteModel, CodesKeepTheTypeOfTheFile) {
  const std::vector<float> scale = {0.5f};
  MadeSubgraph g = one_op(BuiltinOperator::ABS, {{"x", {2}, TensorType::INT8, {}, scale, {-3}}},
                          {"y", {2}, TensorType::INT8, {}, scale, {4}});
  const Read r = read(Maker().model({g}));
  EXPECT_EQ(r.errors, "");
  EXPECT_TRUE(has(r.graph, "input %x: i8[2]")) << r.graph;
  EXPECT_TRUE(has(r.graph, ": i8[] = -3")) << r.graph;
  EXPECT_TRUE(has(r.graph, ": i8[] = 4")) << r.graph;
  EXPECT_TRUE(has(r.graph, "%y: i8[*] = t2o.QuantizeLinear")) << r.graph;
}

// LiteRT rounds the results of such a convolution twice: the bias says so, in eighths of the products' steps.
TEST(TfliteModel, AConvolutionWithFourBitWeights) {
  const std::vector<std::uint8_t> filter = {0x71, 0xF8}, bias = {10, 0, 0, 0, 0, 0, 0, 0};  // 1 7, -8 -1
  const std::vector<float> one = {1.0f}, wide = {16.0f};
  MadeSubgraph g = one_op(BuiltinOperator::CONV_2D,
                          {{"x", {1, 2, 2, 2}, TensorType::INT8, {}, one, {0}},
                           {"w", {2, 1, 1, 2}, TensorType::INT4, filter, one, {0}},
                           {"b", {2}, TensorType::INT32, bias, one, {0}}},
                          {"y", {1, 2, 2, 2}, TensorType::INT8, {}, wide, {0}});
  const Read r = read(Maker().model({g}));
  EXPECT_EQ(r.errors, "");
  EXPECT_TRUE(has(r.graph, ": i8[2,1,1,2] = [8, 56, -64, -8]")) << r.graph;  // eight times the codes
  EXPECT_TRUE(has(r.graph, ": f32[] = 0.125")) << r.graph;                    // an eighth of the scale
  EXPECT_TRUE(has(r.graph, ": f32[2] = [11, 1]")) << r.graph;                 // 1 / 16 = 0.5 * 2^-3: half an eighth of 16 is 1
}

TEST(TfliteModel, QuantizationIsChecked) {
  const auto errors = [](MadeTensor x) {
    return read(Maker().model({one_op(BuiltinOperator::ABS, {std::move(x)}, {"y", {2}})})).errors;
  };
  EXPECT_TRUE(has(errors({"x", {2}, TensorType::INT8, {}, {1, 2, 3}, {0, 0, 0}}), "'x' has 3 scales, which do not fit its axis 0"));
  EXPECT_TRUE(has(errors({"x", {2}, TensorType::INT8, {}, {1, 2}, {0, 0, 0}}), "2 scales and 3 zero points"));
  EXPECT_TRUE(has(errors({"x", {2}, TensorType::INT8, {}, {1, 2}, {0, 0}, 1}), "do not fit its axis 1"));
  EXPECT_TRUE(has(errors({"x", {2}, TensorType::INT8, {}, {1}, {128}}), "has the zero point 128, which is no code of it"));
  EXPECT_TRUE(has(errors({"x", {2}, TensorType::UINT8, {}, {1}, {-1}}), "has the zero point -1"));
}

TEST(TfliteModel, DamagedFilesAreRefused) {
  const std::string model = Maker().model({one_op(BuiltinOperator::RELU, {{"x", {1}}}, {"y", {1}})});
  for (std::size_t size = 0; size < model.size(); ++size) read(model.substr(0, size));
  for (std::size_t at = 0; at < model.size(); ++at)
    for (const char bits : {'\xff', '\x01', '\x80'}) {
      std::string damaged = model;
      damaged[at] = static_cast<char>(damaged[at] ^ bits);
      read(damaged);
    }
  EXPECT_TRUE(has(read("abcdTFL3").errors, "damaged"));
  EXPECT_TRUE(has(read("0123456789abcdef").errors, "TFL3"));
}

}  // namespace
}  // namespace t2o::tflite
