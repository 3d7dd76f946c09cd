#include <gtest/gtest.h>

#include "ir/text.h"
#include "rewriters/tf/step_math.h"
#include "tfgraph/facts.h"
#include "tfgraph/loop.h"

namespace t2o::tfgraph {
namespace {

constexpr int kDeep = 100'000, kDoubled = 60;

class FactsTest : public testing::Test {
 protected:
  FactsTest() { g.set_dialect("tf"); }

  static Value* node(ir::Graph& in, const std::string& op, Values inputs, DType dtype = DType::f32) {
    return in.add({.op = op, .inputs = std::move(inputs), .outputs = {{"", dtype, {}}}, .name_later = true}).output();
  }
  // What `op` makes of v and v, of that and that ...
  static Value* doubled(ir::Graph& in, const std::string& op, Value* v, int times = kDoubled) {
    for (int i = 0; i < times; ++i) v = node(in, op, {v, v}, v->dtype());
    return v;
  }
  static Value* chain(ir::Graph& in, const std::string& op, Value* v) {
    for (int i = 0; i < kDeep; ++i) v = node(in, op, {v}, v->dtype());
    return v;
  }
  Value* number(std::int32_t n) { return g.add_constant("n", Tensor::scalar<std::int32_t>(n)); }

  ir::Graph g;
  Value* x = g.add_input("x", DType::f32, {});
};

TEST_F(FactsTest, EachValueIsLookedAtOnce) {
  EXPECT_EQ(known_ints(doubled(g, "AddV2", number(1), 20)), Ints{1 << 20});
  EXPECT_EQ(known_ints(doubled(g, "Pack", number(1), 8))->size(), 256U);
  EXPECT_EQ(known_ints(doubled(g, "Pack", number(1), 24)), std::nullopt);
  EXPECT_EQ(known_rank(doubled(g, "Mul", x)), -1);
  EXPECT_EQ(known_rank(doubled(g, "Mul", number(1))), 0);
  EXPECT_TRUE(is_zero(doubled(g, "Pack", number(0))));
  EXPECT_EQ(extent_value(doubled(g, "Minimum", node(g, "Size", {x}, DType::i32))), std::nullopt);
  EXPECT_TRUE(computed_alike(doubled(g, "AddV2", x, 40), doubled(g, "AddV2", x, 40)));
  EXPECT_EQ(conjuncts(doubled(g, "LogicalAnd", x)), Values{x});
}

TEST_F(FactsTest, ComputedAlike) {
  const auto size = [&](int from, const std::string& op = "AddV2") {
    return node(g, op, {node(g, "Shape", {x}, DType::i32), number(from)}, DType::i32);
  };
  EXPECT_TRUE(computed_alike(size(1), size(1)));
  EXPECT_TRUE(computed_alike(node(g, "Identity", {size(1)}, DType::i32), size(1)));
  EXPECT_FALSE(computed_alike(size(1), size(2)));
  EXPECT_FALSE(computed_alike(size(1), size(1, "Sub")));
  EXPECT_FALSE(computed_alike(node(g, "RandomUniform", {x}), node(g, "RandomUniform", {x})));
  EXPECT_FALSE(computed_alike(size(1), size(1), 1)) << "the steps are bounded";
}

class LoopTest : public FactsTest {
 protected:
  LoopTest() {
    cond->set_outputs({cond->add_constant("go", Tensor::scalar<bool>(true))});
    for (ir::Graph* sub : {body.get(), cond.get()})
      for (const char* name : {"h", "w"}) sub->add_input(name, DType::f32, {});
    h = body->inputs()[0];
    w = body->inputs()[1];
  }
  // while: h = next(h, w)
  Loop loop(Value* next) {
    body->set_outputs({next, w});
    Value* weight = g.add_input("weight", DType::f32, Shape(Ints{3}));
    ir::Node& n = g.add({.op = "While", .inputs = {x, weight}, .attrs = {{"cond", cond}, {"body", body}}, .outputs = {{"", DType::f32, {}}, {"", DType::f32, {}}}});
    g.set_outputs(n.outputs());
    node_ = &n;
    return *Loop::view(n);
  }

  GraphPtr body = g.make_subgraph(), cond = g.make_subgraph();
  Value *h, *w;
  ir::Node* node_ = nullptr;
};

TEST_F(LoopTest, InvariantsOfAnyDepthAreHoisted) {
  Value* deep = chain(*body, "Tanh", w);
  const Loop l = loop(node(*body, "AddV2", {h, deep}));
  EXPECT_TRUE(l.is_invariant(deep));
  EXPECT_FALSE(l.is_invariant(l.result(0)));
  rewriters::Hoister hoister(l, *node_);
  const Value* made = hoister.hoist(deep);
  EXPECT_EQ(made->graph(), &g);
  EXPECT_EQ(hoister.hoist(deep), made);
  EXPECT_EQ(g.node_count(), 1U + kDeep);
}

TEST_F(LoopTest, WidthsAndRanksOfAnyDepth) {
  Value* deep = chain(*body, "Tanh", node(*body, "Mul", {w, h}));
  const Loop l = loop(deep);
  rewriters::StepMath math(l);
  EXPECT_EQ(math.width(deep), 3);
  EXPECT_EQ(math.rank(deep), -1);
  EXPECT_EQ(math.rank(chain(*body, "Tanh", w)), 1);
}

TEST_F(LoopTest, SumsThatNobodyTakesAreNotSpelledOut) {
  Value* sum = doubled(*body, "AddV2", h);
  const Loop l = loop(sum);
  rewriters::StepMath math(l);
  EXPECT_GE(math.linear(math.all(sum)).others.size(), 2U);
  Value* differences = node(*body, "AddV2", {node(*body, "Sub", {w, w}), h});
  const rewriters::Linear terms = math.linear(math.all(differences));
  ASSERT_EQ(terms.others.size(), 1U);
  EXPECT_EQ(terms.others[0].value, h);
  EXPECT_EQ(terms.biases.size(), 1U) << "an invariant as a whole";
  Value* masked = h;
  for (int i = 0; i < kDoubled; ++i) masked = node(*body, "Select", {w, masked, masked});
  EXPECT_EQ(math.parts(masked).size(), 1U);
}

TEST(Loops, LimitsOfACounter) {
  const GraphPtr g = ir::parse_graph(R"(graph g tf {
    input %n: i32[]
    %i: i32[], %m: i32[] = While(const i32 = 0, %n) {cond=graph c {
      input %a: i32[]
      input %b: i32[]
      %less: bool[] = Less(%a, %b)
      %few: bool[] = Greater(const i32 = 9, %a)
      %both: bool[] = LogicalAnd(%less, %few)
      %all: bool[] = LogicalAnd(%both, %less)
      output %all
    }, body=graph b {
      input %j: i32[]
      input %o: i32[]
      %next: i32[] = AddV2(const i32 = 1, %j)
      output %next, %o
    }}
    output %i
  })");
  const auto loop = Loop::view(*g->first());
  ASSERT_TRUE(loop);
  EXPECT_TRUE(loop->is_counter(0));
  const auto limits = loop->limits();
  ASSERT_TRUE(limits);
  ASSERT_EQ(limits->size(), 2U);
  EXPECT_EQ((*limits)[0], g->inputs()[0]);
  EXPECT_TRUE(is_number((*limits)[1], 9));
}

}  // namespace
}  // namespace t2o::tfgraph
