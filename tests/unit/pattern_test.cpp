#include "rewriters/pattern.h"

#include <gtest/gtest.h>

#include <thread>

namespace t2o {
namespace {

class PatternTest : public testing::Test {
 protected:
  Value* node(const std::string& op, Values in, Attrs attrs = {}) {
    return g.add({op, std::move(in), std::move(attrs), {{"", DType::f32, {}}}}).output();
  }
  std::size_t count(std::string_view op) const {
    std::size_t n = 0;
    for (const ir::Node& m : g.nodes()) n += m.op() == op;
    return n;
  }
  ir::Graph g;
  Value* x = g.add_input("x", DType::f32, Shape(Ints{2}));
  Value* y = g.add_input("y", DType::f32, Shape(Ints{2}));
};

// x * sigmoid(x) -> t2o.Swish
Rewriter swish() {
  const Pat v = any();
  return rewriter("swish", op("Mul", v, op("Sigmoid", v)), [=](const Match& m, Rewrite& r) { return r.make("t2o.Swish", {m[v]}); });
}

TEST_F(PatternTest, ReplacesAMatch) {
  g.set_outputs({node("Mul", {x, node("Sigmoid", {x})})});
  EXPECT_EQ(swish().run(g), 1);
  EXPECT_EQ(g.node_count(), 1U);
  EXPECT_EQ(g.outputs()[0]->producer()->op(), "t2o.Swish");
}

TEST_F(PatternTest, MatchesCommutedOperands) {
  g.set_outputs({node("Mul", {node("Sigmoid", {x}), x})});
  EXPECT_EQ(swish().run(g), 1);
}

TEST_F(PatternTest, WhatCannotTakeTheRootsPlaceLeavesNothing) {
  g.set_outputs({node("Neg", {node("Neg", {x})})});
  const Pat v = any();
  const Rewriter r = rewriter("r", op("Neg", op("Neg", v)), [=](const Match& m, Rewrite& w) {
    w.make("Relu", {m[v]});
    return m[v];
  });
  trace_matches({"r"});
  testing::internal::CaptureStderr();
  EXPECT_EQ(r.run(g), 0);  // a graph output is no graph input
  const std::string told = testing::internal::GetCapturedStderr();
  trace_matches({});
  EXPECT_EQ(g.node_count(), 2U);
  EXPECT_EQ(told.find("replaced"), std::string::npos) << told;
  EXPECT_NE(told.find("refused"), std::string::npos) << told;
}

TEST_F(PatternTest, OnePatIsOneValue) {
  g.set_outputs({node("Mul", {y, node("Sigmoid", {x})})});
  EXPECT_EQ(swish().run(g), 0);
}

TEST_F(PatternTest, RefusesWhenAnInnerValueIsReadElsewhere) {
  Value* s = node("Sigmoid", {x});
  g.set_outputs({node("Mul", {x, s}), node("Neg", {s})});
  EXPECT_EQ(swish().run(g), 0);
  EXPECT_EQ(count("Mul"), 1U);
}

TEST_F(PatternTest, RefusesWhenAnInnerValueIsAnOutput) {
  Value* s = node("Sigmoid", {x});
  g.set_outputs({node("Mul", {x, s}), s});
  EXPECT_EQ(swish().run(g), 0);
}

TEST_F(PatternTest, AnOuterValueCannotBeTheOutputOfASubgraph) {
  Value* outer = node("Relu", {x});
  const GraphPtr sub = g.make_subgraph();
  Value* inner = sub->add({"Mul", {outer, outer}, {}, {{"inner", DType::f32, {}}}}).output();
  sub->set_outputs({inner});
  EXPECT_FALSE(take_over(*sub, inner, outer));
  EXPECT_EQ(sub->outputs()[0], inner);
}

TEST_F(PatternTest, SecondRunChangesNothing) {
  g.set_outputs({node("Mul", {x, node("Sigmoid", {x})})});
  swish().run(g);
  EXPECT_EQ(swish().run(g), 0);
}

TEST_F(PatternTest, ADeclinedMatchLeavesTheGraph) {
  const Pat v = any();
  g.set_outputs({node("Mul", {x, node("Sigmoid", {x})})});
  const Rewriter declines = rewriter("declines", op("Mul", v, op("Sigmoid", v)), [](const Match&, Rewrite&) { return nullptr; });
  EXPECT_EQ(declines.run(g), 0);
  EXPECT_EQ(g.node_count(), 2U);
}

TEST_F(PatternTest, AttributesPredicatesAlternativesAndConstants) {
  const Pat v = any(), c = constant(), inner = op("Elu", v).with("alpha", Attr(2.0F)) | op("Relu|Relu6", v);
  const Pat root = op("Add", inner, c.where([](const Value* k) { return k->constant()->elements() == 1; }));
  const Rewriter r = rewriter("r", root, [=](const Match& m, Rewrite& w) { return w.make("t2o.Found", {m[v], m[c]}); });
  Value* one = g.add_constant("one", Tensor::scalar<float>(1));
  Value* two = g.add_constant("two", Tensor::of<float>({2}, {1, 2}));
  g.set_outputs({node("Add", {node("Relu6", {x}), one}),                                  // yes
                 node("Add", {one, node("Elu", {x}, {{"alpha", 2.0F}})}),                 // yes, commuted
                 node("Add", {node("Elu", {x}, {{"alpha", 1.0F}}), one}),                 // another alpha
                 node("Add", {node("Relu", {x}), two}),                                   // two elements
                 node("Add", {node("Relu", {x}), y})});                                   // no constant
  EXPECT_EQ(r.run(g), 2);
  EXPECT_EQ(count("t2o.Found"), 2U);
}

TEST_F(PatternTest, AFailedOperandOrderLeavesNoBinding) {
  // Add(Mul(a, b), Neg(a)): tried first with the operands swapped, where a is bound to the wrong value.
  const Pat a = any(), b = any();
  const Pat root = op("Add", op("Mul", a, b), op("Neg", a));
  g.set_outputs({node("Add", {node("Neg", {x}), node("Mul", {x, y})})});
  const Rewriter r = rewriter("r", root, [=, this](const Match& m, Rewrite& w) {
    EXPECT_EQ(m[a], x);
    EXPECT_EQ(m[b], y);
    return w.make("t2o.Found", {m[a], m[b]});
  });
  EXPECT_EQ(r.run(g), 1);
}

TEST_F(PatternTest, AFailedAlternativeLeavesNoBinding) {
  const Pat a = any(), b = any();
  const Pat refused = op("Sub", a, b).where([](const Value*) { return false; });
  g.set_outputs({node("Neg", {node("Sub", {x, y})})});
  const Rewriter r = rewriter("r", op("Neg", refused | op("Sub", b, a)), [=, this](const Match& m, Rewrite& w) {
    EXPECT_EQ(m[refused], nullptr);
    EXPECT_EQ(m[a], y);
    EXPECT_EQ(m[b], x);
    return w.make("t2o.Found", {m[a], m[b]});
  });
  EXPECT_EQ(r.run(g), 1);
}

TEST_F(PatternTest, WhatIsTracedIsAMatterOfTheThread) {
  g.set_outputs({node("Mul", {x, node("Sigmoid", {x})})});
  trace_matches({"swish"});
  testing::internal::CaptureStderr();
  std::thread([this] { EXPECT_EQ(swish().run(g), 1); }).join();
  trace_matches({});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace
}  // namespace t2o
