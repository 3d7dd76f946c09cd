#include "tf_import.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace t2o::tf {
namespace {

TEST(Import, ConstantsAndPassThroughOpsAreNoNodes) {
  const auto [g, d] =
      import(kX + kC + node("c/read", "Identity", {"c"}, kT) + node("y", "Mul", {"x", "c/read"}, kT),
             fetch({{"y:0", "out"}}));
  ASSERT_TRUE(g) << (d.empty() ? "" : to_string(d[0]));
  EXPECT_EQ(ops(*g), "Mul");
  EXPECT_EQ(g->dialect(), "tf");
  ASSERT_EQ(g->inputs().size(), 1U);
  EXPECT_EQ(g->inputs()[0]->name(), "x:0");
  EXPECT_EQ(g->inputs()[0]->shape(), Shape({-1, 2}));
  EXPECT_EQ(g->outputs()[0]->name(), "out");
  EXPECT_EQ(g->outputs()[0]->dtype(), DType::f32);
  EXPECT_EQ(g->first()->input(1)->constant()->float_at(0), 3.0);
}

TEST(Import, StrippedAttributesComeBack) {
  const auto g = import(kX + node("y", "LeakyRelu", {"x"}), fetch({{"y"}})).graph;
  ASSERT_TRUE(g);
  EXPECT_EQ(*g->first()->attr("alpha"), Attr(0.2F));
  EXPECT_EQ(g->outputs()[0]->name(), "y");
}

TEST(Import, FeedsCutTheGraphAndStayInOrder) {
  const std::string graph = kX + node("a", "Relu", {"x"}, kT) + node("y", "Neg", {"a"}, kT);
  const auto g =
      import(graph,
             fetch({{"y"}}, {{"x", "unused"}, {.tensor = "a:0", .shape = Shape({5}), .shape_given = true}}))
          .graph;
  ASSERT_TRUE(g);
  EXPECT_EQ(ops(*g), "Neg");
  EXPECT_EQ(g->inputs()[0]->name(), "unused");
  EXPECT_EQ(g->inputs()[1]->name(), "a:0");
  EXPECT_EQ(g->inputs()[1]->shape(), Shape({5}));
}

TEST(Import, AnOutputThatNoNodeMakesGetsAnIdentity) {
  const auto g =
      import(kX + node("y", "Neg", {"x"}, kT), fetch({{"x", "same"}, {"y", "a"}, {"y", "b"}})).graph;
  ASSERT_TRUE(g);
  EXPECT_EQ(ops(*g), "Neg Identity Identity");
  EXPECT_EQ(g->outputs()[0]->name(), "same");
  EXPECT_EQ(g->outputs()[2]->name(), "b");
}

TEST(Import, AnOutputsNameGoesBeforeAnInnerOne) {
  const auto g =
      import(kX + node("out", "Relu", {"x"}, kT) + node("y", "Neg", {"out"}, kT), fetch({{"y:0", "out"}}))
          .graph;
  ASSERT_TRUE(g);
  EXPECT_EQ(g->outputs()[0]->name(), "out");
  EXPECT_NE(g->first()->output()->name(), "out");
}

TEST(Import, FindsTheInterface) {
  const auto g = import(kX + node("other", "Placeholder", {}, kRead) + node("y", "Neg", {"x"}, kT) +
                            node("init", "NoOp", {"^y"}),
                        fetch({}))
                     .graph;
  ASSERT_TRUE(g);
  ASSERT_EQ(g->inputs().size(), 1U);  // nothing needs "other"
  EXPECT_EQ(g->outputs().size(), 1U);
  EXPECT_EQ(g->outputs()[0]->name(), "y:0");
}

TEST(Import, ReportsAllMistakesAtOnce) {
  const auto [g, d] = import(kX + node("y", "AddV2", {"x", "gone"}, kT) + node("z", "Neg", {"x:3"}, kT) +
                                 node("z", "Neg", {"x"}, kT) + node("w", "Neg", {"x", "x"}, kT),
                             fetch({{"y"}, {"z"}, {"w"}}));
  EXPECT_FALSE(g);
  EXPECT_TRUE(mentions(d, "two nodes are called 'z'"));
}

TEST(Import, NamesWhatIsWrongWithAnEdge) {
  const auto [g, d] = import(kX + node("y", "AddV2", {"x", "gone"}, kT) + node("z", "Neg", {"x:3"}, kT) +
                                 node("w", "Neg", {"x", "x"}, kT),
                             fetch({{"y"}, {"z"}, {"w"}}));
  EXPECT_FALSE(g);
  EXPECT_TRUE(mentions(d, "reads 'gone', which does not exist"));
  EXPECT_TRUE(mentions(d, "reads 'x:3', which does not exist"));
  EXPECT_TRUE(mentions(d, "2 inputs instead of 1"));
}

TEST(Import, CountsTheMissingInputsOfANode) {
  const std::string n = attr("N", "i: 4");
  const auto [g, d] = import(kX + node("y", "AddN", {"a", "x", "b", "c"}, kT + n), fetch({{"y"}}));
  EXPECT_FALSE(g);
  EXPECT_TRUE(mentions(d, "reads 'a' and 2 more, which do not exist"));
  EXPECT_EQ(std::count_if(d.begin(), d.end(), [](const Diagnostic& one) { return one.severity == Severity::error; }), 1);
}

TEST(Import, SuggestsTheNearestName) {
  const auto [g, d] = import(kX + node("dense/BiasAdd", "Neg", {"x"}, kT), fetch({{"dense/BiasAd"}}));
  EXPECT_FALSE(g);
  EXPECT_TRUE(mentions(d, "Did you mean 'dense/BiasAdd'?"));
}

TEST(Import, RefusesACycleButAllowsALoop) {
  const auto [g, d] = import(node("a", "Neg", {"b"}, kT) + node("b", "Neg", {"a"}, kT), fetch({{"a"}}));
  EXPECT_FALSE(g);
  EXPECT_TRUE(mentions(d, "cycle"));
  const std::string n = attr("N", "i: 2"), flag = attr("T", "type: DT_BOOL");
  const auto loop = import(
      kX + node("enter", "Enter", {"x"}, kT + attr("frame_name", "s: 'f'")) +
          node("merge", "Merge", {"enter", "next"}, kT + n) + node("sign", "IsNan", {"merge"}, kT) +
          node("any", "Any", {"sign", "axes"}, flag) + kAxes + node("go", "LoopCond", {"any"}) +
          node("switch", "Switch", {"merge", "go"}, kT) + node("neg", "Neg", {"switch:1"}, kT) +
          node("next", "NextIteration", {"neg"}, kT) + node("exit", "Exit", {"switch"}, kT),
      fetch({{"exit"}}));
  ASSERT_TRUE(loop.graph) << to_string(loop.diagnostics.at(0));
  EXPECT_EQ(ops(*loop.graph), "StatelessWhile");
}

// A branch of constants reads nothing of the Switch: only its control edge tells which side it belongs to.
TEST(Import, ControlEdgesTellTheSideOfAConstant) {
  const std::string constant = attr("dtype", "type: DT_FLOAT") +
                               attr("value", "tensor { dtype: DT_FLOAT tensor_shape { } float_val: 3 }");
  const std::string p = node("p", "Placeholder", {}, attr("dtype", "type: DT_BOOL")) +
                        node("switch", "Switch", {"p", "p"}, attr("T", "type: DT_BOOL")) +
                        node("on", "Identity", {"switch:1"}, attr("T", "type: DT_BOOL")) +
                        node("off", "Identity", {"switch:0"}, attr("T", "type: DT_BOOL")) +
                        node("group", "NoOp", {"^off"}) + node("a", "Const", {"^on"}, constant);
  const std::string merge = attr("N", "i: 2") + kT;
  const auto [g, d] = import(p + node("b", "Const", {"^group"}, constant) + node("y", "Merge", {"b", "a"}, merge),
                             fetch({{"y"}}));
  ASSERT_TRUE(g) << to_string(d.at(0));
  EXPECT_EQ(ops(*g), "StatelessIf");
  const auto lost = import(p + node("b", "Const", {}, constant) + node("c", "Const", {}, constant) +
                               node("y", "Merge", {"b", "c"}, merge),
                           fetch({{"y"}}));
  EXPECT_FALSE(lost.graph);
  EXPECT_TRUE(mentions(lost.diagnostics, "no Switch decides between them"));
}

TEST(Import, ReadsOfVariablesInConditionals) {
  const std::string p = node("p", "Placeholder", {}, attr("dtype", "type: DT_BOOL"));
  const std::string resource = attr("T", "type: DT_RESOURCE"), merge = attr("N", "i: 2") + kT;
  const std::string sides = kX + kV + p + node("sx", "Switch", {"x", "p"}, kT) +
                            node("sv", "Switch", {"v", "p"}, resource) +
                            node("r", "ReadVariableOp", {"sv:1"}, kRead) + node("y", "Merge", {"sx", "r"}, merge);
  const auto [g, d] = import(sides, fetch({{"y"}}));
  ASSERT_TRUE(g) << to_string(d.at(0));
  EXPECT_EQ(ops(*g), "StatelessIf");
  const ir::Graph& taken = **g->first()->attr_if<GraphPtr>("then_branch");
  EXPECT_EQ(taken.first()->input(0)->constant()->to_floats(), (std::vector<double>{1, 2}));
  const auto changed = import(sides + node("add", "AssignAddVariableOp", {"v", "x"}, kRead) +
                                  node("z", "Neg", {"y", "^add"}, kT) +
                                  node("late", "Switch", {"v", "p", "^add"}, resource) +
                                  node("again", "ReadVariableOp", {"late:1"}, kRead) +
                                  node("w", "Merge", {"sx", "again"}, merge),
                              fetch({{"w"}}));
  ASSERT_TRUE(changed.graph) << to_string(changed.diagnostics.at(0));
  EXPECT_EQ(ops(*changed.graph), "AddV2 StatelessIf");
  const auto inside = import(sides + node("set", "AssignVariableOp", {"sv:1", "sx:1"}, kRead) +
                                 node("again", "ReadVariableOp", {"v", "^set"}, kRead) + node("w", "Neg", {"again"}, kT),
                             fetch({{"w"}}));
  EXPECT_FALSE(inside.graph);
  EXPECT_TRUE(mentions(inside.diagnostics, "'set': changes a variable in a loop or a branch of TensorFlow 1, and the new value is read"));
}

TEST(Import, AReadBehindASwitchOfManySidesIsAReadOfTheVariable) {
  const std::string k = node("k", "Placeholder", {}, attr("dtype", "type: DT_INT32")), sides = attr("num_outs", "i: 2");
  const std::string many = kX + kV + k + node("sx", "_SwitchN", {"x", "k"}, kT + sides) +
                           node("sv", "_SwitchN", {"v", "k"}, attr("T", "type: DT_RESOURCE") + sides) +
                           node("add", "AssignAddVariableOp", {"v", "x"}, kRead);
  const std::string merge = node("y", "Merge", {"sx", "r"}, attr("N", "i: 2") + kT);
  EXPECT_TRUE(import(many + node("r", "ReadVariableOp", {"sv:1"}, kRead) + merge, fetch({{"y"}})).graph);
  const auto [g, d] = import(many + node("r", "ReadVariableOp", {"sv:1", "^add"}, kRead) + merge, fetch({{"y"}}));
  EXPECT_FALSE(g);
  EXPECT_TRUE(mentions(d, "'r': reads variable 'v', which has been changed since a loop or a branch"));
}

// ---- graphs that were frozen with their input pipelines

const std::string kPair = attr("output_types", "list { type: DT_FLOAT type: DT_INT64 type: DT_STRING }");
const std::string kPairShapes = attr("output_shapes", "list { shape { dim { size: -1 } dim { size: 2 } } shape { dim { size: -1 } } shape { } }");
const std::string kNext = node("iterator", "IteratorV2", {}, kPair + kPairShapes) + node("next", "IteratorGetNext", {"iterator"}, kPair + kPairShapes);

TEST(Import, ElementsOfAnIteratorAreInputs) {
  const auto [g, d] = import(kNext + node("label", "Cast", {"next:1"}, attr("SrcT", "type: DT_INT64") + attr("DstT", "type: DT_FLOAT")) +
                                 node("y", "Neg", {"next"}, kT),
                             fetch({}));
  ASSERT_TRUE(g) << (d.empty() ? "" : to_string(d[0]));
  ASSERT_EQ(g->inputs().size(), 2U);  // nothing reads the third
  EXPECT_EQ(g->inputs()[0]->name(), "next:0");
  EXPECT_EQ(g->inputs()[0]->shape(), Shape({-1, 2}));
  EXPECT_EQ(g->inputs()[1]->name(), "next:1");
  EXPECT_EQ(g->inputs()[1]->dtype(), DType::i64);
  EXPECT_EQ(g->outputs().size(), 2U);
  EXPECT_TRUE(mentions(d, "IteratorGetNext 'next'", Severity::note));
}

TEST(Import, ElementsThatAreNotListedBecomeInputs) {
  const auto [g, d] = import(kX + kNext + node("y", "AddV2", {"next", "x"}, kT), fetch({{"y"}}, {{"x"}}));
  ASSERT_TRUE(g) << (d.empty() ? "" : to_string(d[0]));
  ASSERT_EQ(g->inputs().size(), 2U);
  EXPECT_EQ(g->inputs()[1]->name(), "next:0");
  EXPECT_TRUE(mentions(d, "they are not among the inputs", Severity::warning));
}

TEST(Import, ElementsOfAQueueAreInputs) {
  const std::string types = attr("component_types", "list { type: DT_FLOAT }");
  const std::string queue = node("queue", "FIFOQueueV2", {}, types + attr("shapes", "list { shape { dim { size: 2 } } }"));
  const std::string count = node("n", "Const", {}, attr("dtype", "type: DT_INT32") + attr("value", "tensor { dtype: DT_INT32 int_val: 4 }"));
  const auto shape_of = [&](const std::string& op, const std::vector<std::string>& inputs) {
    const auto [g, d] = import(queue + count + node("next", op, inputs, types) + node("size", "QueueSizeV2", {"queue"}) + node("y", "Neg", {"next"}, kT), fetch({}));
    return g && g->inputs().size() == 1 && g->outputs().size() == 1 ? g->inputs()[0]->shape() : Shape({-7});
  };
  EXPECT_EQ(shape_of("QueueDequeueV2", {"queue"}), Shape({2}));
  EXPECT_EQ(shape_of("QueueDequeueManyV2", {"queue", "n"}), Shape({4, 2}));
  EXPECT_EQ(shape_of("QueueDequeueUpToV2", {"queue", "n"}), Shape({-1, 2}));
}

TEST(Import, ElementsInsideOfFunctionsAreRefused) {
  const auto [g, d] = import("library { function { signature { name: 'f' input_arg { name: 'i' type: DT_RESOURCE } output_arg { name: 'o' type: DT_FLOAT } } " +
                                 ("node_def" + node("next", "IteratorGetNext", {"i"}, kPair + kPairShapes).substr(4)) + " ret { key: 'o' value: 'next:components:0' } } }" +
                                 node("iterator", "IteratorV2", {}, kPair + kPairShapes) +
                                 node("y", "PartitionedCall", {"iterator"}, attr("f", "func { name: 'f' }") + attr("Tin", "list { type: DT_RESOURCE }") + attr("Tout", "list { type: DT_FLOAT }")),
                             fetch({{"y"}}));
  EXPECT_FALSE(g);
  EXPECT_TRUE(mentions(d, "inside of a function"));
}

TEST(Import, WhatADebuggerOrAServerPutBetween) {
  const auto [g, d] = import("library { function { signature { name: 'f' input_arg { name: 'a' type: DT_FLOAT } input_arg { name: 'b' type: DT_FLOAT } output_arg { name: 'o' type: DT_FLOAT } } "
                             "node_def { name: 'n' op: 'Mul' input: 'a' input: 'b' attr { key: 'T' value { type: DT_FLOAT } } } ret { key: 'o' value: 'n:z:0' } } }" +
                                 kX + kC + node("seen", "DebugIdentityV2", {"x"}, kT) +
                                 node("y", "BatchFunction", {"seen", "c"}, attr("f", "func { name: 'f' }") + attr("Tin", "list { type: DT_FLOAT }") + attr("Tcaptured", "list { type: DT_FLOAT }") + attr("Tout", "list { type: DT_FLOAT }")),
                             fetch({{"y"}}));
  ASSERT_TRUE(g) << (d.empty() ? "" : to_string(d[0]));
  EXPECT_EQ(ops(*g), "Mul");
}

TEST(Import, ManyNodesNeedNoStack) {
  std::string text = kX;
  for (int i = 20000; i > 0; --i)  // consumers first
    text += node("n" + std::to_string(i), "Neg", {i == 1 ? "x" : "n" + std::to_string(i - 1)}, kT);
  const auto g = import(text, fetch({{"n20000"}})).graph;
  ASSERT_TRUE(g);
  EXPECT_EQ(g->node_count(), 20000U);
}

}  // namespace
}  // namespace t2o::tf
