#include <gtest/gtest.h>

#include "tf/body.h"
#include "tf/import.h"
#include "tf/text_proto.h"

namespace t2o::tf {
namespace {

struct Imported {
  GraphPtr graph;
  Diagnostics diagnostics;
};

Imported import(const std::string& text) {
  const auto binary = std::make_shared<const std::string>(graph_def_from_text(text, "test"));
  ImportRequest request;
  request.fetches = {{"y:0"}};
  request.find_interface = true;
  request.variable = [](const VariableRef&) { return Tensor::of<float>({2}, {1, 2}); };
  Imported r;
  r.graph = import_graph(parse_graph_def(std::as_bytes(std::span(*binary)), binary), request, r.diagnostics);
  return r;
}

std::string ops(const ir::Graph& g) {
  std::string s;
  for (const ir::Node& n : g.nodes()) s += (s.empty() ? "" : " ") + n.op();
  return s;
}

const std::string kInputs = R"(
    node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node { name: 'p' op: 'Placeholder' attr { key: 'dtype' value { type: DT_BOOL } } attr { key: 'shape' value { shape { } } } }
    node { name: 'v' op: 'VarHandleOp' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value { shape { dim { size: 2 } } } } })";

std::string call(const std::string& name, const std::string& f, const std::string& inputs) {
  return "node { name: '" + name + "' op: 'StatefulPartitionedCall' " + inputs +
         " attr { key: 'f' value { func { name: '" + f + "' } } } } ";
}

std::string function(const std::string& name, const std::string& args, const std::string& body,
                     const std::string& ret) {
  return "function { signature { name: '" + name + "' " + args +
         " output_arg { name: 'r' type: DT_FLOAT } } " + body + " ret { key: 'r' value: '" + ret + "' } } ";
}

const std::string kFloatArg = "input_arg { name: 'a' type: DT_FLOAT }";
const std::string kHandleArg = " input_arg { name: 'h' type: DT_RESOURCE }";
const std::string kReadAndMul = R"(
    node_def { name: 'dense/read' op: 'ReadVariableOp' input: 'h' attr { key: 'dtype' value { type: DT_FLOAT } } }
    node_def { name: 'dense/mul' op: 'Mul' input: 'a' input: 'dense/read:value:0' attr { key: 'T' value { type: DT_FLOAT } } } )";

TEST(Functions, CallsAreInlinedWithTheirVariables) {
  const auto [g, d] = import(kInputs + call("y", "f", "input: 'x' input: 'v'") + "library {" +
                             function("f", kFloatArg + kHandleArg, kReadAndMul, "dense/mul:z:0") + "}");
  ASSERT_TRUE(g) << to_string(d.at(0));
  EXPECT_EQ(ops(*g), "Mul");
  EXPECT_TRUE(g->first()->input(1)->constant());
  EXPECT_EQ(g->first()->origin().node, "y/dense/mul");
  EXPECT_EQ(g->first()->origin().function, "f");
}

TEST(Functions, LevelsThatTellNothingLeaveTheNames) {
  const auto [g, d] = import(kInputs + call("StatefulPartitionedCall", "outer", "input: 'x' input: 'v'") +
                             "node { name: 'y' op: 'Neg' input: 'StatefulPartitionedCall' attr { key: 'T' "
                             "value { type: DT_FLOAT } } } library {" +
                             function("outer", kFloatArg + kHandleArg,
                                      "node_def { name: 'PartitionedCall_1' op: 'f' input: 'a' input: 'h' }",
                                      "PartitionedCall_1:r:0") +
                             function("f", kFloatArg + kHandleArg, kReadAndMul, "dense/mul:z:0") + "}");
  ASSERT_TRUE(g) << to_string(d.at(0));
  EXPECT_EQ(ops(*g), "Mul Neg");
  EXPECT_EQ(g->first()->name(), "dense/mul");
  EXPECT_EQ(g->first()->origin().node, "StatefulPartitionedCall/PartitionedCall_1/dense/mul");
}

TEST(Functions, AttributesOfTheCallReplacePlaceholders) {
  const auto [g, d] = import(
      kInputs + "node { name: 'y' op: 'f' input: 'x' attr { key: 'K' value { type: DT_FLOAT } } } library {" +
      function("f", kFloatArg,
               "node_def { name: 'n' op: 'Neg' input: 'a' attr { key: 'T' value { placeholder: 'K' } } }",
               "n:y:0") +
      "}");
  ASSERT_TRUE(g) << to_string(d.at(0));
  EXPECT_EQ(*g->first()->attr("T"), Attr(DType::f32));
}

TEST(Functions, BranchesAreSubgraphsThatSeeOuterVariables) {
  const std::string branches =
      " attr { key: 'then_branch' value { func { name: 'f' } } } attr { key: 'else_branch' value { func { "
      "name: 'g' } } }";
  const std::string types =
      R"( attr { key: 'Tcond' value { type: DT_BOOL } } attr { key: 'Tin' value { list { type: DT_FLOAT type: DT_RESOURCE } } }
                                attr { key: 'Tout' value { list { type: DT_FLOAT } } })";
  const auto [g, d] =
      import(kInputs + "node { name: 'y' op: 'If' input: 'p' input: 'x' input: 'v'" + branches + types +
             "} library {" + function("f", kFloatArg + kHandleArg, kReadAndMul, "dense/mul:z:0") +
             function("g", kFloatArg + kHandleArg, "", "a") + "}");
  ASSERT_TRUE(g) << to_string(d.at(0));
  EXPECT_EQ(ops(*g), "If");
  const ir::Graph& then_branch = **g->first()->attr_if<GraphPtr>("then_branch");
  EXPECT_EQ(then_branch.inputs().size(), 2U);
  EXPECT_EQ(then_branch.first()->input(1), g->first()->input(2));
  EXPECT_EQ(ops(**g->first()->attr_if<GraphPtr>("else_branch")), "Identity");
}

TEST(Functions, LoopsKeepTheirArguments) {
  const std::string cond = "function { signature { name: 'c' " + kFloatArg + kHandleArg +
                           " output_arg { name: 'r' type: DT_BOOL } } node_def { name: 'k' op: 'Const' attr "
                           "{ key: 'dtype' value { type: DT_BOOL } } "
                           "attr { key: 'value' value { tensor { dtype: DT_BOOL bool_val: true } } } } ret { "
                           "key: 'r' value: 'k:output:0' } }";
  const std::string body = "function { signature { name: 'b' " + kFloatArg + kHandleArg +
                           " output_arg { name: 'r' type: DT_FLOAT } "
                           "output_arg { name: 's' type: DT_RESOURCE } } " +
                           kReadAndMul +
                           "ret { key: 'r' value: 'dense/mul:z:0' } ret { key: 's' value: 'h' } }";
  const auto [g, d] = import(
      kInputs +
      "node { name: 'w' op: 'While' input: 'x' input: 'v' attr { key: 'cond' value { func { name: 'c' } } } "
      "attr { key: 'body' value { func { name: 'b' } } } attr { key: 'T' value { list { type: DT_FLOAT type: "
      "DT_RESOURCE } } } } "
      "node { name: 'y' op: 'Neg' input: 'w' attr { key: 'T' value { type: DT_FLOAT } } } library {" +
      cond + body + "}");
  ASSERT_TRUE(g) << to_string(d.at(0));
  EXPECT_EQ(ops(*g), "While Neg");
  const ir::Graph& loop = **g->first()->attr_if<GraphPtr>("body");
  EXPECT_EQ(ops(loop), "Mul");
  EXPECT_TRUE(loop.first()->input(1)->constant());
  EXPECT_EQ(loop.outputs().size(), 2U);
}

TEST(Functions, RecursionIsRefused) {
  const auto [g, d] =
      import(kInputs + call("y", "f", "input: 'x'") + "library {" +
             function("f", kFloatArg, "node_def { name: 'n' op: 'f' input: 'a' }", "n:r:0") + "}");
  EXPECT_FALSE(g);
  ASSERT_EQ(d.size(), 1U);
  EXPECT_NE(d[0].message.find("calls itself"), std::string::npos);
}

TEST(Functions, AMissingFunctionIsNamed) {
  const auto [g, d] = import(kInputs + call("y", "f", "input: 'x'"));
  EXPECT_FALSE(g);
  EXPECT_NE(d.at(0).message.find("function 'f' is not in the model's library"), std::string::npos);
}

TEST(Functions, DeepNestsNeedNoStackAndBlowUpsEnd) {
  const auto nest = [](int depth, int calls) {
    std::string library;
    for (int i = 0; i < depth; ++i) {
      std::string body, last = "a";
      for (int c = 0; c < calls; ++c) {
        const std::string n = "n" + std::to_string(c);
        body += "node_def { name: '" + n + "' op: 'f" + std::to_string(i + 1) + "' input: '" + last + "' } ";
        last = n + ":r:0";
      }
      library += function("f" + std::to_string(i), kFloatArg, body, last);
    }
    library += function(
        "f" + std::to_string(depth), kFloatArg,
        "node_def { name: 'n' op: 'Neg' input: 'a' attr { key: 'T' value { type: DT_FLOAT } } }", "n:y:0");
    return kInputs + call("y", "f0", "input: 'x'") + "library {" + library + "}";
  };
  const auto deep = import(nest(10000, 1));
  ASSERT_TRUE(deep.graph);
  EXPECT_EQ(ops(*deep.graph), "Neg");
  const auto wide = import(nest(60, 2));
  EXPECT_FALSE(wide.graph);
  EXPECT_NE(wide.diagnostics.at(0).message.find("too large"), std::string::npos);
}

// A call takes room and time for the needed nodes only.
TEST(Functions, NodesThatNothingNeedsAreNotPlanned) {
  std::string nodes;
  for (int i = 0; i < 100; ++i) nodes += "node_def { name: 'dead" + std::to_string(i) + "' op: 'Neg' input: 'a' } ";
  const auto binary = std::make_shared<const std::string>(
      graph_def_from_text("library { " + function("f", kFloatArg + kHandleArg, nodes + kReadAndMul, "dense/mul:z:0") + "}", "test"));
  const GraphDef graph = parse_graph_def(std::as_bytes(std::span(*binary)), binary);
  Diagnostics d;
  Bodies bodies(graph, d);
  Body& f = *bodies.function("f");
  plan_nodes(f, f.needed);
  EXPECT_EQ(f.plan, (std::vector<std::uint32_t>{100, 101}));
  EXPECT_EQ(f.place[101], 1U);
  EXPECT_EQ(f.place[7], 2U);
  f.order = {101, 100};
  plan_nodes(f, f.needed);
  EXPECT_EQ(f.plan, (std::vector<std::uint32_t>{101, 100}));
}

TEST(Functions, ResultsThatAreArgumentsAreKnown) {
  const std::string signature =
      "signature { name: 'f' input_arg { name: 'a' type: DT_FLOAT } input_arg { name: 'b' type: DT_FLOAT } "
      "output_arg { name: 'p' type: DT_FLOAT } output_arg { name: 'q' type: DT_FLOAT } output_arg { name: 'r' type: DT_FLOAT } "
      "output_arg { name: 's' type: DT_FLOAT } output_arg { name: 't' type: DT_FLOAT } } ";
  const std::string nodes =
      "node_def { name: 'i' op: 'Identity' input: 'b' } node_def { name: 'j' op: 'Identity' input: 'i:output:0' } "
      "node_def { name: 'n' op: 'Neg' input: 'a' } node_def { name: 'k' op: 'Identity' input: 'n:y:0' } "
      "node_def { name: 'u' op: 'Identity' input: 'v:output:0' } node_def { name: 'v' op: 'Identity' input: 'u:output:0' } ";
  const std::string rets =
      "ret { key: 'p' value: 'j:output:0' } ret { key: 'q' value: 'i:output:0' } ret { key: 'r' value: 'k:output:0' } "
      "ret { key: 's' value: 'a' } ret { key: 't' value: 'u:output:0' } ";
  const auto binary = std::make_shared<const std::string>(
      graph_def_from_text("library { function { " + signature + nodes + rets + "} }", "test"));
  const GraphDef graph = parse_graph_def(std::as_bytes(std::span(*binary)), binary);
  Diagnostics d;
  Bodies bodies(graph, d);
  EXPECT_EQ(bodies.function("f")->handed_on, (std::vector<std::int32_t>{1, 1, -1, 0, -1}));
}

TEST(Functions, OnlyALoopHasASecondRound) {  // whatever a function is called
  const std::string read_then_change = kReadAndMul +
      R"(node_def { name: 'add' op: 'AssignAddVariableOp' input: 'h' input: 'a' input: '^dense/read' attr { key: 'dtype' value { type: DT_FLOAT } } }
                                control_ret { key: 'add' value: 'add' })";
  const auto [g, d] = import(kInputs + "node { name: 'y' op: 'MyWhile' input: 'x' input: 'v' } library {" +
                             function("MyWhile", kFloatArg + kHandleArg, read_then_change, "dense/mul:z:0") + "}");
  ASSERT_TRUE(g) << to_string(d.at(0));
  EXPECT_EQ(ops(*g), "Mul");
}

TEST(Functions, AChangeInsideACallIsSeenByALaterRead) {
  const std::string change =
      R"(node_def { name: 'add' op: 'AssignAddVariableOp' input: 'h' input: 'a' attr { key: 'dtype' value { type: DT_FLOAT } } }
                                control_ret { key: 'add' value: 'add' })";
  const auto [g, d] = import(kInputs + call("update", "f", "input: 'x' input: 'v'") + R"(
      node { name: 'read' op: 'ReadVariableOp' input: 'v' input: '^update' attr { key: 'dtype' value { type: DT_FLOAT } } }
      node { name: 'y' op: 'Neg' input: 'read' attr { key: 'T' value { type: DT_FLOAT } } } library {)" +
                             function("f", kFloatArg + kHandleArg, change, "a") + "}");
  ASSERT_TRUE(g) << to_string(d.at(0));
  EXPECT_EQ(ops(*g), "AddV2 Neg");
}

TEST(Functions, AComputationHasArgumentsOfItsOwn) {
  const std::string sum = "node_def { name: 'sum' op: 'AddV2' input: 'a' input: 'b' attr { key: 'T' value { type: DT_FLOAT } } }";
  const auto [g, d] = import(kInputs + R"(
      node { name: 'zero' op: 'Const' attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { } float_val: 0 } } } }
      node { name: 'y' op: 'XlaReduce' input: 'x' input: 'zero' attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'dimensions_to_reduce' value { list { i: 0 } } }
             attr { key: 'reducer' value { func { name: 'f' } } } } library {)" +
                             function("f", kFloatArg + " input_arg { name: 'b' type: DT_FLOAT }", sum, "sum:z:0") + "}");
  ASSERT_TRUE(g) << to_string(d.at(0));
  const auto* reducer = g->first()->attr_if<GraphPtr>("reducer");
  ASSERT_TRUE(reducer);
  EXPECT_EQ(ops(**reducer), "AddV2");
  ASSERT_EQ((*reducer)->inputs().size(), 2U);
  EXPECT_TRUE((*reducer)->inputs()[1]->shape().is_scalar());
}

}  // namespace
}  // namespace t2o::tf
