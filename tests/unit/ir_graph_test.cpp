#include "ir/graph.h"

#include <gtest/gtest.h>

#include "ir/findings.h"
#include "ir/text.h"
#include "ir/verify.h"

namespace t2o::ir {
namespace {

void expect_sound(const Graph& g) {
  for (const Diagnostic& d : verify_graph(g)) ADD_FAILURE() << to_string(d);
}

Node* node(const Graph& g, std::string_view name) {
  for (Node& n : g.nodes())
    if (n.name() == name) return &n;
  return nullptr;
}

GraphPtr diamond() {
  return parse_graph(R"(graph {
    input %x: f32[n]
    const %c: f32 = 1
    %a: f32[n] = Relu(%x)
    %b: f32[n] = Add(%a, %c)
    %d: f32[n] = Mul(%a, %b)
    output %d
  })");
}

TEST(Graph, NamesAreMadeUnique) {
  Graph g;
  EXPECT_EQ(g.add_input("x", DType::f32, {})->name(), "x");
  EXPECT_EQ(g.add_input("x", DType::f32, {})->name(), "x_1");
  EXPECT_EQ(g.add_constant("x", Tensor::scalar<float>(1))->name(), "x_2");
  EXPECT_EQ(g.add({.op = "Relu", .outputs = {{.name = "x"}}}).output()->name(), "x_3");
  const GraphPtr sub = g.make_subgraph();
  EXPECT_EQ(sub->add_input("x", DType::f32, {})->name(), "x_4");
  Node& n = g.add({.op = "Split", .outputs = {{}, {}}, .name = "s"});
  EXPECT_EQ(n.output(0)->name(), "s");
  EXPECT_EQ(n.output(1)->name(), "s:1");
}

TEST(Graph, RenameTakesAndFreesNames) {
  Graph g;
  Value* x = g.add_input("x", DType::f32, {});
  Value* y = g.add_input("y", DType::f32, {});
  g.rename(x, "y");
  EXPECT_EQ(x->name(), "y_1");
  g.rename(y, "z");
  g.rename(x, "y");
  EXPECT_EQ(x->name(), "y");
}

TEST(Graph, KeepsUseLists) {
  const GraphPtr g = diamond();
  expect_sound(*g);
  Value* a = node(*g, "a")->output();
  EXPECT_EQ(a->uses().size(), 2U);
  g->set_input(*node(*g, "d"), 0, g->inputs()[0]);
  EXPECT_EQ(a->uses().size(), 1U);
  g->set_input(*node(*g, "d"), 0, nullptr);
  g->add_node_input(*node(*g, "d"), a);
  expect_sound(*g);
  EXPECT_EQ(node(*g, "d")->input(0), nullptr);
  EXPECT_EQ(node(*g, "d")->input(2), a);
  EXPECT_EQ(node(*g, "d")->input(9), nullptr);
}

TEST(Graph, ReplacesUsesAlsoOfAnOutput) {
  const GraphPtr g = diamond();
  Value* d = node(*g, "d")->output();
  Value* b = node(*g, "b")->output();
  g->replace_all_uses(d, b);
  expect_sound(*g);
  EXPECT_EQ(g->outputs(), Values{b});
  EXPECT_FALSE(d->is_used());
  EXPECT_EQ(g->erase_dead(), 1U);
  expect_sound(*g);
  EXPECT_EQ(g->node_count(), 2U);
}

TEST(Graph, EraseDeadTakesConstantsToo) {
  const GraphPtr g = diamond();
  g->set_outputs({g->inputs()[0]});
  EXPECT_EQ(g->erase_dead(), 3U);
  EXPECT_TRUE(g->constants().empty());
  EXPECT_EQ(to_text(*g), "graph graph onnx {\n  input %x: f32[n]\n  output %x\n}\n");
  EXPECT_EQ(g->add_input("a", DType::f32, {})->name(), "a") << "names of the dead are free";
}

TEST(Graph, EraseRefusesWhatIsRead) {
  const GraphPtr g = diamond();
  EXPECT_THROW(g->erase(*node(*g, "a")), std::logic_error);
  EXPECT_THROW(g->remove_input(g->inputs()[0]), std::logic_error);
}

TEST(Graph, FindingsStayUntilSomethingThatWasThereChanges) {
  const GraphPtr g = diamond();
  const auto stay_behind = [&](auto&& change) {
    findings_of(*g) = std::make_shared<int>(1);
    change();
    return findings_of(*g) != nullptr;
  };
  Node& a = *node(*g, "a");
  Node* added = nullptr;
  EXPECT_TRUE(stay_behind([&] { added = &g->add({.op = "Add", .inputs = {a.output(), a.output()}, .outputs = {{{}, DType::f32, {}}}}); }));
  EXPECT_TRUE(stay_behind([&] { g->replace_all_uses(a.output(), g->inputs()[0]); })) << "by an equal value";
  EXPECT_FALSE(stay_behind([&] { g->set_input(*added, 0, a.output()); }));
  EXPECT_FALSE(stay_behind([&] { g->add_node_input(*added, a.output()); }));
  EXPECT_FALSE(stay_behind([&] { g->set_op(*added, "Sum"); }));
  EXPECT_FALSE(stay_behind([&] { g->set_attr(*added, "axis", std::int64_t{1}); }));
}

TEST(Graph, NodesMayBeErasedAndAddedDuringAWalk) {
  const GraphPtr g = diamond();
  std::string seen;
  for (Node& n : g->nodes()) {
    seen += n.name();
    if (n.name() != "b") continue;
    Node& neg = g->add({.op = "Neg", .inputs = {n.input(0)}, .outputs = {{"neg", DType::f32, {}}}}, &n);
    g->replace_all_uses(n.output(), neg.output());
    g->erase(n);
  }
  EXPECT_EQ(seen, "abd");
  expect_sound(*g);
  EXPECT_EQ(g->first()->next()->op(), "Neg");
}

TEST(Graph, ErasingANodeReleasesWhatItsSubgraphsRead) {
  const GraphPtr g = parse_graph(R"(graph {
    input %c: bool[]
    input %x: f32[]
    %a: f32[] = Relu(%x)
    %y: f32[] = If(%c) {then_branch=graph {
      %t: f32[] = If(%c) {then_branch=graph { %u: f32[] = Neg(%a) output %u }}
      output %t
    }, else_branch=graph { output %a }}
    output %x
  })");
  EXPECT_EQ(node(*g, "a")->output()->uses().size(), 1U);
  EXPECT_TRUE(node(*g, "a")->output()->is_graph_output());
  EXPECT_EQ(g->erase_dead(), 2U);
  EXPECT_EQ(g->node_count(), 0U);
  expect_sound(*g);
}

TEST(Graph, ASubgraphThatIsDroppedReadsNothingAnyMore) {
  Graph g;
  Value* x = g.add_input("x", DType::f32, {});
  {
    const GraphPtr sub = g.make_subgraph();
    const GraphPtr inner = sub->make_subgraph();
    inner->set_outputs({inner->add({.op = "Relu", .inputs = {x}, .outputs = {{}}}).output()});
    Node& n = sub->add({.op = "If", .inputs = {x}, .attrs = {{"then_branch", inner}}, .outputs = {{}}});
    sub->set_outputs({n.output(), x});
    EXPECT_EQ(x->uses().size(), 2U);
  }
  EXPECT_FALSE(x->is_used());
}

TEST(Graph, Attributes) {
  const GraphPtr g = diamond();
  Node& n = *node(*g, "a");
  g->set_attr(n, "k", std::int64_t{1});
  g->set_attr(n, "k", std::int64_t{2});
  EXPECT_EQ(*n.attr_if<std::int64_t>("k"), 2);
  EXPECT_EQ(n.attr_if<float>("k"), nullptr);
  g->remove_attr(n, "k");
  EXPECT_EQ(n.attr("k"), nullptr);
}

TEST(Verify, FindsWhatIsWrong) {
  const auto first_of = [](const std::string& text) {
    const Diagnostics ds = verify_graph(*parse_graph(text));
    return ds.empty() ? "" : ds[0].message;
  };
  EXPECT_EQ(first_of("graph { %a: f32[] = Neg(%b) %b: f32[] = Neg(%a) }"), "Neg 'a' reads '%b', which is made behind it");
  EXPECT_EQ(first_of("graph g tf { %a: f32[] = Merge(%b) %b: f32[] = Next(%a) }"), "");
  EXPECT_EQ(first_of("graph { %a = Op() output %a }"), "'%a' has no element type");
  EXPECT_EQ(first_of("graph { %a = Op() }"), "") << "nobody reads it";

  const GraphPtr g = diamond(), other = diamond();
  g->set_input(*node(*g, "a"), 0, other->inputs()[0]);
  EXPECT_EQ(verify_graph(*g)[0].message, "Relu 'a' reads '%x', which is not in the graph");
}

TEST(Verify, DeepNestingIsNoRecursion) {
  const auto main = std::make_shared<Graph>();
  GraphPtr g = main;
  for (int i = 0; i < 50000; ++i) {
    GraphPtr sub = g->make_subgraph();
    Node& n = g->add({.op = "If", .attrs = {{"b", sub}}, .outputs = {{{}, DType::f32, {}}}});
    g->add({.op = "Dead", .outputs = {{{}, DType::f32, {}}}});
    g->set_outputs(n.outputs());
    g = sub;
  }
  g.reset();
  expect_sound(*main);
  EXPECT_EQ(main->erase_dead(), 50000U);
  main->set_outputs({});
  EXPECT_EQ(main->erase_dead(), 1U);
}

}  // namespace
}  // namespace t2o::ir
