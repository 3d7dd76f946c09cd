#include <gtest/gtest.h>

#include "rewriters/all.h"
#include "rewriters/tf/unrolled_steps.h"

namespace t2o {
namespace {

constexpr std::size_t kSteps = 4;

class UnrolledTest : public testing::Test {
 protected:
  UnrolledTest() { g.set_dialect("tf"); }

  Value* node(const std::string& op, Values in, Attrs attrs = {}, const Shape& shape = {}) {
    attrs.push_back({"T", DType::f32});
    return g.add({op, std::move(in), std::move(attrs), {{"", DType::f32, shape}}}).output();
  }
  Values rows(Value* v) {
    ir::NodeSpec spec{.op = "Unpack", .inputs = {v}, .attrs = {{"axis", std::int64_t{1}}}};
    for (std::size_t i = 0; i < kSteps; ++i) spec.outputs.push_back({"", DType::f32, Shape(Ints{-1, 2})});
    return g.add(std::move(spec)).outputs();
  }
  Value* times(Value* v, Value* by) {
    return node("MatMul", {v, by}, {{"transpose_a", false}, {"transpose_b", false}});
  }
  Value* pack(Values all) {
    return node("Pack", std::move(all), {{"axis", std::int64_t{1}}}, Shape(Ints{-1, kSteps, 2}));
  }
  // s = tanh(x W + s W); the third step may apply something else.
  Value* layer(Value* v, const std::string& third = "Tanh") {
    Values all;
    for (Value* row : rows(v)) {
      Value* sum = node("AddV2", {times(row, w), times(all.empty() ? h : all.back(), w)});
      all.push_back(node(all.size() == 2 ? third : "Tanh", {sum}));
    }
    return pack(std::move(all));
  }
  std::size_t count(std::string_view op) const {
    std::size_t n = 0;
    for (const ir::Node& m : g.nodes()) n += m.op() == op;
    return n;
  }

  ir::Graph g;
  Value* x = g.add_input("x", DType::f32, Shape(Ints{-1, kSteps, 2}));
  Value* h = g.add_input("h", DType::f32, Shape(Ints{-1, 2}));
  Value* w = g.add_constant("w", Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
};

TEST_F(UnrolledTest, WhatIsNoneCostsTheLayersBehindItNothing) {
  Value* v = x;
  for (int i = 0; i < 200; ++i) {
    Values all = rows(v);
    for (Value*& row : all) row = times(row, w);
    v = layer(pack(std::move(all)), "Relu");
  }
  for (int i = 0; i < 5000; ++i) v = node("Relu", {v}, {}, Shape(Ints{-1, kSteps, 2}));
  g.set_outputs({layer(layer(v))});
  EXPECT_EQ(rewriters::unrolled().run(g), 2);
  EXPECT_EQ(count("t2o.RNN"), 2U);
}

TEST_F(UnrolledTest, LayersOnLayers) {
  Value* v = x;
  for (int i = 0; i < 40; ++i) v = layer(v);
  g.set_outputs({v});
  EXPECT_EQ(rewriters::unrolled().run(g), 40);
  EXPECT_EQ(count("t2o.RNN"), 40U);
  EXPECT_EQ(count("MatMul"), 0U);
}

TEST_F(UnrolledTest, OtherSequencesInTheOrderTheyAreRead) {
  std::vector<Values> others;
  const Values own = rows(x);
  for (int i = 0; i < 8; ++i) others.push_back(rows(g.add_input("", DType::f32, Shape(Ints{-1, kSteps, 2}))));
  Values all;
  for (std::size_t step = 0; step < kSteps; ++step) {
    Value* sum = times(own[step], w);
    for (const Values& other : others) sum = node("AddV2", {sum, other[step]});
    all.push_back(node("Tanh", {node("AddV2", {sum, times(all.empty() ? h : all.back(), w)})}));
  }
  g.set_outputs({pack(all)});
  const rewriters::NodeOrder order(g);
  std::string why;
  const auto found = rewriters::UnrolledFinder(order, why).find(*own[0]->producer(), false);
  ASSERT_TRUE(found) << why;
  ASSERT_EQ(found->items.size(), others.size());
  for (std::size_t i = 0; i < others.size(); ++i) {
    EXPECT_EQ(found->items[i].first, others[i][1]);
    EXPECT_EQ(found->items[i].second, others[i][1]->producer());
  }
}

TEST_F(UnrolledTest, ABranchThatReadsAStepStaysBehindIt) {
  Values read;
  Value* v = layer(x);
  Value* early = v->producer()->input(0);
  const GraphPtr branch = g.make_subgraph();
  branch->set_outputs({branch->add({"Neg", {early}, {{"T", DType::f32}}, {{"", DType::f32, {}}}}).output()});
  Value* last = v->producer()->input(kSteps - 1);
  ir::Node& reader = g.add({"t2o.Holder", {h}, {{"body", branch}}, {{"", DType::f32, {}}}},
                           last->producer());  // in front of the last step
  g.set_outputs({v, reader.output()});
  EXPECT_EQ(rewriters::unrolled().run(g), 1);
  for (const ir::Node* n = &reader; n; n = n->next()) EXPECT_NE(n->op(), "t2o.RNN");
}

}  // namespace
}  // namespace t2o
