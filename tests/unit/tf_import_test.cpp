#include "tf/import.h"

#include <gtest/gtest.h>

#include "tf/text_proto.h"

namespace t2o::tf {
namespace {

struct Imported {
  GraphPtr graph;
  Diagnostics diagnostics;
};

Imported import(const std::string& text, const ImportRequest& request) {
  const auto binary = std::make_shared<const std::string>(graph_def_from_text(text, "test"));
  Imported r;
  r.graph = import_graph(parse_graph_def(std::as_bytes(std::span(*binary)), binary), request, r.diagnostics);
  return r;
}

ImportRequest fetch(std::vector<Fetch> fetches, std::vector<Feed> feeds = {}) {
  ImportRequest r;
  r.fetches = std::move(fetches);
  r.feeds = std::move(feeds);
  r.find_interface = true;
  r.variable = [](const VariableRef& v) -> TensorPtr {
    return v.node == "lost" ? nullptr : Tensor::of<float>({2}, {1, 2});
  };
  return r;
}

std::string ops(const ir::Graph& g) {
  std::string s;
  for (const ir::Node& n : g.nodes()) s += (s.empty() ? "" : " ") + n.op();
  return s;
}

bool mentions(const Diagnostics& all, std::string_view text, Severity severity = Severity::error) {
  for (const Diagnostic& d : all)
    if (d.severity == severity && to_string(d).find(text) != std::string::npos) return true;
  return false;
}

std::string node(const std::string& name, const std::string& op, const std::vector<std::string>& inputs,
                 const std::string& attrs = "") {
  std::string s = "node { name: '" + name + "' op: '" + op + "'";
  for (const std::string& i : inputs) s += " input: '" + i + "'";
  return s + attrs + " }\n";
}

std::string attr(const std::string& key, const std::string& value) {
  return " attr { key: '" + key + "' value { " + value + " } }";
}
const std::string kT = attr("T", "type: DT_FLOAT");
const std::string kX =
    node("x", "Placeholder", {},
         attr("dtype", "type: DT_FLOAT") + attr("shape", "shape { dim { size: -1 } dim { size: 2 } }"));
const std::string kAxes = node(
    "axes", "Const", {},
    attr("dtype", "type: DT_INT32") +
        attr("value", "tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: 0 int_val: 1 }"));
const std::string kC =
    node("c", "Const", {},
         attr("dtype", "type: DT_FLOAT") + attr("value", "tensor { dtype: DT_FLOAT float_val: 3 }"));
const std::string kV = node("v", "VarHandleOp", {},
                            attr("dtype", "type: DT_FLOAT") + attr("shape", "shape { dim { size: 2 } }"));
const std::string kRead = attr("dtype", "type: DT_FLOAT");

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
  EXPECT_TRUE(mentions(lost.diagnostics, "which of them is there"));
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
  EXPECT_FALSE(changed.graph);
  EXPECT_TRUE(mentions(changed.diagnostics, "reads variable 'v' after 'add' has changed it"));
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
  EXPECT_TRUE(mentions(d, "reads variable 'v' after 'add' has changed it"));
}

TEST(Import, VariablesAreConstants) {
  const auto [g, d] = import(
      kX + kV + node("r", "ReadVariableOp", {"v"}, kRead) + node("y", "Mul", {"x", "r"}, kT), fetch({{"y"}}));
  ASSERT_TRUE(g);
  EXPECT_EQ(ops(*g), "Mul");
  EXPECT_EQ(g->first()->input(1)->name(), "v");
  EXPECT_EQ(g->first()->input(1)->constant()->to_floats(), (std::vector<double>{1, 2}));
}

TEST(Import, AVariableWithoutAValueIsAnErrorOnce) {
  const std::string lost = node("lost", "VarHandleOp", {}, kRead);
  const auto [g, d] = import(
      lost + node("r", "ReadVariableOp", {"lost"}, kRead) + node("y", "Mul", {"r", "r"}, kT), fetch({{"y"}}));
  EXPECT_FALSE(g);
  EXPECT_EQ(d.size(), 1U);
  EXPECT_TRUE(mentions(d, "variable 'lost' has no value"));
}

TEST(Import, AReadAfterAChangeIsWhatTheChangeLeaves) {
  const std::string change = kX + kV + node("add", "AssignAddVariableOp", {"v", "x"}, kRead);
  const auto [g, d] =
      import(change + node("r", "ReadVariableOp", {"v", "^add"}, kRead) + node("y", "Neg", {"r"}, kT),
             fetch({{"y"}}));
  ASSERT_TRUE(g) << to_string(d.at(0));
  EXPECT_EQ(ops(*g), "AddV2 Neg");
  EXPECT_TRUE(mentions(d, "the change of variable 'v' is not exported", Severity::warning));
  const auto before =
      import(change + node("r", "ReadVariableOp", {"v"}, kRead) + node("y", "Neg", {"r", "^add"}, kT),
             fetch({{"y"}}));
  EXPECT_TRUE(before.graph);
  EXPECT_EQ(ops(*before.graph), "Neg");
  EXPECT_TRUE(mentions(before.diagnostics, "the change of variable 'v' is not exported", Severity::warning));
}

// As of Keras's seeds, which each draw reads and moves on. What nobody reads is left out.
TEST(Import, ReadsBetweenChanges) {
  const std::string graph = kX + kV + node("one", "AssignAddVariableOp", {"v", "x"}, kRead) +
                            node("r", "ReadVariableOp", {"v", "^one"}, kRead) + node("n", "Neg", {"r"}, kT) +
                            node("two", "AssignVariableOp", {"v", "n"}, kRead) +
                            node("s", "ReadVariableOp", {"v", "^two"}, kRead) +
                            node("three", "AssignSubVariableOp", {"v", "x", "^s"}, kRead) +
                            node("t", "ReadVariableOp", {"v", "^three"}, kRead);
  const auto first = import(graph + node("y", "Exp", {"r"}, kT), fetch({{"y"}}));
  ASSERT_TRUE(first.graph) << to_string(first.diagnostics.at(0));
  EXPECT_EQ(ops(*first.graph), "AddV2 Exp");
  const auto second = import(graph + node("y", "Exp", {"s"}, kT), fetch({{"y"}}));
  ASSERT_TRUE(second.graph) << to_string(second.diagnostics.at(0));
  EXPECT_EQ(ops(*second.graph), "AddV2 Neg Exp");
  const auto third = import(graph + node("y", "Exp", {"t"}, kT), fetch({{"y"}}));
  ASSERT_TRUE(third.graph) << to_string(third.diagnostics.at(0));
  EXPECT_EQ(ops(*third.graph), "AddV2 Neg Sub Exp");
}

TEST(Import, OfTwoChangesInNoOrderNoneIsTheLast) {
  const auto [g, d] = import(kX + kV + node("one", "AssignAddVariableOp", {"v", "x"}, kRead) +
                                 node("two", "AssignSubVariableOp", {"v", "x"}, kRead) +
                                 node("r", "ReadVariableOp", {"v", "^one", "^two"}, kRead) +
                                 node("y", "Neg", {"r"}, kT),
                             fetch({{"y"}}));
  EXPECT_FALSE(g);
  EXPECT_TRUE(mentions(d, "reads variable 'v' after 'one' has changed it"));
}

Imported import_with_state(const std::string& text, const std::string& output, Interface& interface) {
  const auto binary = std::make_shared<const std::string>(graph_def_from_text(text, "test"));
  ImportRequest request = fetch({{output}});
  request.keep_state = true;
  Imported r;
  r.graph = import_graph(parse_graph_def(std::as_bytes(std::span(*binary)), binary), request, r.diagnostics, &interface);
  return r;
}

TEST(Import, AStateIsAnInputAndAnOutput) {
  Interface interface;
  const auto [g, d] = import_with_state(kX + kV + node("r", "ReadVariableOp", {"v"}, kRead) + node("y", "Mul", {"x", "r"}, kT) +
                                            node("add", "AssignAddVariableOp", {"v", "x"}, kRead) + node("z", "Neg", {"y", "^add"}, kT),
                                        "z", interface);
  ASSERT_TRUE(g) << to_string(d.at(0));
  EXPECT_TRUE(d.empty());
  EXPECT_EQ(ops(*g), "Mul AddV2 Neg");
  ASSERT_EQ(g->inputs().size(), 2U);
  ASSERT_EQ(g->outputs().size(), 2U);
  EXPECT_EQ(g->inputs()[1]->name(), "v");
  EXPECT_EQ(g->outputs()[1]->name(), "v_out");
  EXPECT_EQ(g->outputs()[1]->producer()->op(), "AddV2");
  EXPECT_EQ(g->first()->input(1), g->inputs()[1]) << "read before it is changed";
  ASSERT_EQ(interface.states.size(), 1U);
  EXPECT_EQ(interface.states[0].input, "v");
  EXPECT_EQ(interface.states[0].output, "v_out");
  EXPECT_EQ(interface.states[0].initial->to_floats(), (std::vector<double>{1, 2}));
}

TEST(Import, AStateThatIsReadAfterItsChange) {
  Interface interface;
  const auto [g, d] = import_with_state(kX + kV + node("y", "Mul", {"x", "r"}, kT) + node("r", "ReadVariableOp", {"v", "^set"}, kRead) +
                                            node("set", "AssignVariableOp", {"v", "n"}, kRead) + node("n", "Neg", {"x"}, kT),
                                        "y", interface);
  ASSERT_TRUE(g) << to_string(d.at(0));
  EXPECT_EQ(ops(*g), "Neg Mul");
  EXPECT_EQ(g->outputs()[0]->producer()->input(1), g->outputs()[1]);
}

TEST(Import, AStateThatIsChangedTwice) {
  Interface interface;
  const auto [g, d] = import_with_state(
      kX + kV + node("one", "AssignAddVariableOp", {"v", "x"}, kRead) + node("r", "ReadVariableOp", {"v", "^one"}, kRead) +
          node("two", "AssignSubVariableOp", {"v", "r"}, kRead) + node("y", "Neg", {"r", "^two"}, kT),
      "y", interface);
  ASSERT_TRUE(g) << to_string(d.at(0));
  EXPECT_EQ(ops(*g), "AddV2 Sub Neg");
  EXPECT_EQ(g->outputs()[1]->producer()->op(), "Sub");
  EXPECT_EQ(g->outputs()[1]->producer()->input(0), g->outputs()[1]->producer()->input(1));
}

// A network that is trained as it stands changes hundreds.
TEST(Import, ManyLostChangesAreToldAtOnce) {
  std::string text = kX, deps;
  std::vector<std::string> inputs = {"x"};
  for (const char* v : {"a", "b", "c", "d", "e"}) {
    const std::string set = std::string("set_") + v;
    text += node(v, "VarHandleOp", {}, kRead + attr("shape", "shape { dim { size: 2 } }")) + node(set, "AssignVariableOp", {v, "x"}, kRead);
    inputs.push_back("^" + set);
  }
  const auto [g, d] = import(text + node("y", "Neg", inputs, kT), fetch({{"y"}}));
  ASSERT_TRUE(g);
  ASSERT_EQ(d.size(), 1U);
  EXPECT_TRUE(mentions(d, "5 variables are not exported", Severity::warning)) << to_string(d[0]);
  EXPECT_TRUE(mentions(d, "and 2 more", Severity::warning));
}

// A delay: each takes what the one behind it was before.
TEST(Import, AStateThatBecomesAnother) {
  Interface interface;
  const std::string w = node("w", "VarHandleOp", {}, kRead + attr("shape", "shape { dim { size: 2 } }"));
  const auto [g, d] = import_with_state(
      kX + kV + w + node("r", "ReadVariableOp", {"w"}, kRead) + node("one", "AssignVariableOp", {"v", "r"}, kRead) +
          node("two", "AssignVariableOp", {"w", "x", "^one"}, kRead) + node("y", "Neg", {"x", "^two"}, kT),
      "y", interface);
  ASSERT_TRUE(g) << to_string(d.at(0));
  ASSERT_EQ(g->outputs().size(), 3U);
  for (const Value* v : {g->outputs()[1], g->outputs()[2]}) {
    const std::string source = v->name() == "v_out" ? "w" : "x:0";
    EXPECT_EQ(v->producer()->input(0)->name(), source) << v->name();
  }
}

// TF1's nodes read a variable by any of their inputs, and its changes give the variable itself back.
TEST(Import, AChangeThatReadsAVariableAfterAnother) {
  const auto reference = [](const std::string& name) {
    return node(name, "VariableV2", {}, attr("dtype", "type: DT_FLOAT") + attr("shape", "shape { dim { size: 2 } }"));
  };
  const auto change = [](const std::string& name, const std::string& op, const std::vector<std::string>& inputs) { return node(name, op, inputs, kT); };
  const std::string variables = kX + reference("v") + reference("w"), one = change("one", "AssignAdd", {"v", "x"});
  const auto ops_of = [&](const std::string& text) {
    Interface interface;
    const auto [g, d] = import_with_state(variables + text, "y", interface);
    EXPECT_EQ(g == nullptr, mentions(d, "reads variable '"));
    return g ? ops(*g) : d.empty() ? "no error" : d[0].message;
  };
  const std::string z = node("z", "Neg", {"v"}, kT), y = node("y", "Neg", {"x", "^two"}, kT);
  const std::string stale = "reads variable 'v' after 'one' has changed it";
  EXPECT_EQ(ops_of(change("one", "AssignAdd", {"w", "x"}) + z + change("two", "AssignAdd", {"v", "w", "^one", "^z"}) + node("y", "Neg", {"z", "^two"}, kT)),
            "reads variable 'w' after 'one' has changed it");
  EXPECT_EQ(ops_of(one + change("two", "Assign", {"v", "v", "^one"}) + node("y", "Neg", {"two"}, kT)), stale);
  EXPECT_EQ(ops_of(one + change("two", "AssignAdd", {"v", "v", "^one"}) + y), stale);
  EXPECT_EQ(ops_of(change("two", "AssignAdd", {"v", "v"}) + y), "AddV2 Neg") << "both are read before the change";
  const std::string two = change("two", "AssignAdd", {"v", "x", "^one", "^z"});
  EXPECT_EQ(ops_of(z + change("one", "AssignAdd", {"v", "x", "^z"}) + two + node("y", "Sub", {"one", "z", "^two"}, kT)), stale);
  EXPECT_EQ(ops_of(z + change("one", "AssignAdd", {"v", "x", "^z"}) + two + node("y", "Sub", {"two", "z"}, kT)), "Neg AddV2 AddV2 Sub");
  EXPECT_EQ(ops_of(one + node("r", "Neg", {"one"}, kT) + change("two", "AssignSub", {"v", "x", "^r"}) + node("y", "Neg", {"r", "^two"}, kT)), "AddV2 Neg Sub Neg");
  const std::string held = node("r", "Identity", {"v"}, kT) + node("q", "Neg", {"r"}, kT);
  EXPECT_EQ(ops_of(held + change("one", "AssignAdd", {"v", "x", "^q"}) + node("y", "Sub", {"q", "one"}, kT)), "Neg AddV2 Sub");
  EXPECT_EQ(ops_of(held + change("one", "AssignAdd", {"v", "x", "^q"}) + node("y", "Neg", {"r", "^one"}, kT)), stale) << "an Identity is no copy";
  EXPECT_EQ(ops_of(one + node("r", "Identity", {"one"}, kT) + change("two", "AssignAdd", {"v", "x", "^r"}) + node("y", "Neg", {"r", "^two"}, kT)), stale);
  const auto lost = import(variables + change("one", "AssignAdd", {"w", "x"}) + change("two", "AssignAdd", {"v", "w", "^one"}) + z + node("y", "Neg", {"z", "^two"}, kT), fetch({{"y"}}));
  ASSERT_TRUE(lost.graph) << to_string(lost.diagnostics.at(0));
  EXPECT_EQ(ops(*lost.graph), "Neg Neg") << "nobody reads what the changes leave";
}

// One tensor cannot be two outputs, nor a constant one; what is given back unchanged is so all the same.
TEST(Import, AStateThatIsAnOutputOrItself) {
  Interface interface;
  const auto twice = import_with_state(kX + kV + node("y", "Neg", {"x"}, kT) + node("set", "AssignVariableOp", {"v", "y"}, kRead) +
                                           node("z", "Identity", {"y", "^set"}, kT),
                                       "z", interface);
  ASSERT_TRUE(twice.graph);
  EXPECT_EQ(ops(*twice.graph), "Neg Identity");
  const auto itself = import_with_state(kX + kV + node("r", "ReadVariableOp", {"v"}, kRead) + node("set", "AssignVariableOp", {"v", "r"}, kRead) +
                                            node("z", "Neg", {"x", "^set"}, kT),
                                        "z", interface);
  ASSERT_TRUE(itself.graph);
  EXPECT_EQ(itself.graph->outputs()[1]->producer()->op(), "Identity");
  EXPECT_EQ(itself.graph->outputs()[1]->producer()->input(0), itself.graph->inputs()[1]);
}

TEST(Import, AStateOfWhichAPartIsChanged) {
  const std::string at = node("at", "Const", {}, attr("dtype", "type: DT_INT32") + attr("value", "tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 1 }"));
  const std::string part = node("part", "Placeholder", {}, attr("dtype", "type: DT_FLOAT") + attr("shape", "shape { dim { size: 1 } }"));
  const std::string z = node("z", "Neg", {"x", "^set"}, kT), index = attr("Tindices", "type: DT_INT32");
  const auto ops_of = [&](const std::string& set) {
    Interface interface;
    const auto [g, d] = import_with_state(kX + kV + at + part + set + z, "z", interface);
    return g && interface.states.size() == 1 ? ops(*g) : d.empty() ? "no state" : to_string(d[0]);
  };
  EXPECT_EQ(ops_of(node("set", "ResourceScatterUpdate", {"v", "at", "part"}, kRead + index)), "ExpandDims TensorScatterUpdate Neg");
  EXPECT_EQ(ops_of(node("set", "ResourceScatterNdAdd", {"v", "at", "part"}, kT + index)), "TensorScatterAdd Neg");
  EXPECT_EQ(ops_of(node("set", "ResourceStridedSliceAssign", {"v", "at", "at", "at", "part"}, kT + attr("Index", "type: DT_INT32") + attr("end_mask", "i: 1"))),
            "TensorStridedSliceUpdate Neg");
}

TEST(Import, ChangesThatAreNoStateAreRefused) {
  Interface interface;
  const auto error = [&](const std::string& text, const std::string& message) {
    const auto [g, d] = import_with_state(kX + kV + text, "z", interface);
    EXPECT_FALSE(g);
    EXPECT_TRUE(mentions(d, message)) << message << " is not: " << (d.empty() ? "no error" : to_string(d[0]));
  };
  const std::string set = node("set", "AssignVariableOp", {"v", "x"}, kRead), z = node("z", "Neg", {"x", "^set", "^again"}, kT);
  error(set + node("again", "AssignAddVariableOp", {"v", "x", "^set"}, kRead) + z, "which another node has changed before it");
  error(node("set", "ResourceApplyGradientDescent", {"v", "x", "x"}, kT) + node("again", "NoOp", {}) + z, "in a way that is not handed on as a state");
  const std::string p = node("p", "Placeholder", {}, attr("dtype", "type: DT_BOOL"));
  error(p + node("side", "Switch", {"x", "p"}, kT) + node("set", "AssignVariableOp", {"v", "side:1"}, kRead) + node("again", "NoOp", {}) + z,
        "changes a variable in a loop or a branch");
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
  EXPECT_TRUE(mentions(d, "which is not among the inputs", Severity::warning));
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
