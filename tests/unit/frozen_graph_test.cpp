#include "tf/frozen_graph.h"

#include <gtest/gtest.h>

#include <map>

#include "support/wire.h"
#include "tf/text_proto.h"

namespace t2o::tf {
namespace {

struct Frozen {
  Diagnostics diagnostics;
  FrozenGraph frozen;
  std::string bytes;
  GraphDef graph;
  std::map<std::string, std::string> nodes;  // "Identity(v, ^x)" by name
};

std::string text_of(const NodeDef& n) {
  std::string text = std::string(n.op) + "(";
  for (const std::string_view i : n.inputs) text += (text.back() == '(' ? "" : ", ") + std::string(i);
  return text + ")";
}

// Variables are of f32[2], or of i32[] where their name begins with 'n'.
TensorPtr value_of(const VariableRef& v) {
  return v.node.starts_with('n') ? Tensor::scalar<std::int32_t>(7) : Tensor::of<float>({2}, {1, 2});
}

Frozen frozen(const std::string& text, const Strings& outputs, const std::vector<FrozenInput>& inputs = {}) {
  const auto source = std::make_shared<const std::string>(graph_def_from_text(text, "test"));
  Frozen f;
  f.frozen = freeze(parse_graph_def(std::as_bytes(std::span(*source)), source), inputs, outputs, value_of, f.diagnostics);
  f.frozen.graph_def.stream([&](Bytes b) { f.bytes += as_text(b); });
  EXPECT_EQ(f.bytes.size(), f.frozen.graph_def.size());
  f.graph = parse_graph_def(std::as_bytes(std::span(f.bytes)), Owner{});
  for (const NodeDef& n : f.graph.body.nodes) f.nodes[std::string(n.name)] = text_of(n);
  return f;
}

std::string variable(const std::string& name) {
  return "node { name: '" + name + "' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_FLOAT } } }";
}
std::string read(const std::string& name, const std::string& handle) {
  return "node { name: '" + name + "' op: 'ReadVariableOp' input: '" + handle + "' attr { key: 'dtype' value { type: DT_FLOAT } } }";
}
std::string call(const std::string& name, const std::string& input, const std::string& function, const std::string& type) {
  return "node { name: '" + name + "' op: 'PartitionedCall' input: '" + input + "' attr { key: 'Tin' value { list { type: " + type +
         " } } } attr { key: 'Tout' value { list { type: DT_FLOAT } } } attr { key: 'f' value { func { name: '" + function + "' } } } }";
}
const std::string kReader = R"(
  library { function { signature { name: 'f' input_arg { name: 'v' type: DT_RESOURCE } output_arg { name: 'r' type: DT_FLOAT } }
    node_def { name: 'get' op: 'ReadVariableOp' input: 'v' attr { key: 'dtype' value { type: DT_FLOAT } } }
    ret { key: 'r' value: 'get:value:0' } } })";

TEST(FrozenGraph, WhatTheOutputsNeed) {
  const Frozen f = frozen(variable("v") + variable("unread") + read("y", "v") + read("z", "unread"), {"y:0"});
  EXPECT_TRUE(f.diagnostics.empty());
  EXPECT_EQ(f.nodes, (std::map<std::string, std::string>{{"v", "Const()"}, {"y", "Identity(v)"}}));
  const Attr value = decode_attr(*f.graph.body.nodes[0].attr("value"), {});
  EXPECT_TRUE(same_content(*std::get<TensorPtr>(value), *value_of({"v", "", "", ""})));
  EXPECT_EQ(std::get<DType>(decode_attr(*f.graph.body.nodes[1].attr("T"), {})), DType::f32);
  EXPECT_EQ(f.graph.body.nodes[1].attr("dtype"), nullptr);
}

// A function that gets variables of different types is there once for each.
TEST(FrozenGraph, FunctionsForEachTypeOfVariable) {
  const Frozen f = frozen(variable("a") + variable("b") + variable("n") + call("x", "a", "f", "DT_RESOURCE") + call("y", "b", "f", "DT_RESOURCE") +
                              call("z", "n", "f", "DT_RESOURCE") + kReader,
                          {"x", "y", "z"});
  EXPECT_TRUE(f.diagnostics.empty()) << to_string(f.diagnostics[0]);
  ASSERT_EQ(f.graph.functions.size(), 2U);
  const FunctionDef of_float = parse_function(f.graph.functions[0].bytes, {}), of_int = parse_function(f.graph.functions[1].bytes, {});
  EXPECT_EQ(of_float.signature.name, "f");
  EXPECT_EQ(of_int.signature.name, "f_frozen_1");
  EXPECT_EQ(of_float.signature.inputs[0].type, DType::f32);
  EXPECT_EQ(of_int.signature.inputs[0].type, DType::i32);
  EXPECT_EQ(text_of(of_float.body.nodes[0]), "Identity(v)");
  EXPECT_EQ(of_float.ret[0].second, "get:output:0");
  const auto function = [&](std::size_t node) { return std::get<Func>(decode_attr(*f.graph.body.nodes[node].attr("f"), {})).name; };
  EXPECT_EQ(function(3) + function(4) + function(5), "fff_frozen_1");
  EXPECT_EQ(std::get<DTypes>(decode_attr(*f.graph.body.nodes[5].attr("Tin"), {}, "list(type)")), DTypes{DType::i32});
}

TEST(FrozenGraph, ReadersOfOtherKinds) {
  const Frozen f = frozen(variable("v") + R"(
    node { name: 'i' op: 'Placeholder' attr { key: 'dtype' value { type: DT_INT64 } } }
    node { name: 'g' op: 'ResourceGather' input: 'v' input: 'i' input: '^v' attr { key: 'dtype' value { type: DT_FLOAT } }
           attr { key: 'Tindices' value { type: DT_INT64 } } attr { key: 'validate_indices' value { b: true } } }
    node { name: 's' op: 'VariableShape' input: 'v' attr { key: 'out_type' value { type: DT_INT32 } } }
    node { name: 'set' op: 'VarIsInitializedOp' input: 'v' })",
                          {"g", "s", "set"});
  EXPECT_TRUE(f.diagnostics.empty());
  EXPECT_EQ(f.nodes.at("g"), "GatherV2(v, i, g/axis, ^v)");
  EXPECT_EQ(f.nodes.at("s"), "Shape(v)");
  EXPECT_EQ(f.nodes.at("set"), "Const()");
}

TEST(FrozenGraph, InputsAreCut) {
  const std::string text = variable("v") + read("r", "v") + R"(
    node { name: 'm' op: 'Neg' input: 'r' attr { key: 'T' value { type: DT_FLOAT } } }
    node { name: 'y' op: 'Relu' input: 'm' attr { key: 'T' value { type: DT_FLOAT } } })";
  const Frozen f = frozen(text, {"y"}, {{"m:0", DType::f32, Shape({kUnknownDim, 3})}});
  EXPECT_EQ(f.nodes, (std::map<std::string, std::string>{{"m", "Placeholder()"}, {"y", "Relu(m)"}}));
}

TEST(FrozenGraph, AChangeOfAVariableIsRefused) {
  const Frozen f = frozen(variable("v") + read("r", "v") + R"(
    node { name: 'set' op: 'AssignVariableOp' input: 'v' input: 'r' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'y' op: 'Identity' input: 'r' input: '^set' attr { key: 'T' value { type: DT_FLOAT } } })",
                          {"y"});
  ASSERT_EQ(f.diagnostics.size(), 1U);
  EXPECT_EQ(f.diagnostics[0].origin.node, "set");
  EXPECT_NE(f.diagnostics[0].remedy.find("leave out --output-frozen-graph"), std::string::npos);
}

TEST(FrozenGraph, MoreThanAGraphDefHolds) {
  const std::string text = graph_def_from_text(variable("v") + read("y", "v"), "test");
  Diagnostics diagnostics;
  const float one = 1;
  const auto big = [&](const VariableRef&) { return Tensor::filled(DType::f32, {600'000'000}, std::as_bytes(std::span(&one, 1))); };
  const FrozenGraph f = freeze(parse_graph_def(std::as_bytes(std::span(text)), {}), {}, {"y"}, big, diagnostics);
  try {
    check_size(f);
    FAIL();
  } catch (const ConversionError& e) {
    EXPECT_EQ(e.diagnostic().code, Code::output);
    EXPECT_NE(e.diagnostic().message.find("at most 2147483647"), std::string::npos) << e.what();
  }
}

}  // namespace
}  // namespace t2o::tf
