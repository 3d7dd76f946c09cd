#include "tf/lost_changes.h"

#include <gtest/gtest.h>

#include "tf_import.h"

namespace t2o::tf {
namespace {

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
  const auto sums = import(kX + kV + node("one", "AssignAddVariableOp", {"v", "x"}, kRead) +
                               node("two", "AssignSubVariableOp", {"v", "x"}, kRead) +
                               node("r", "ReadVariableOp", {"v", "^one", "^two"}, kRead) + node("y", "Neg", {"r"}, kT),
                           fetch({{"y"}}));
  ASSERT_TRUE(sums.graph) << "sums are the same in both orders";
  EXPECT_EQ(ops(*sums.graph), "AddV2 Sub Neg");
  const auto [g, d] = import(kX + kV + node("one", "AssignAddVariableOp", {"v", "x"}, kRead) +
                                 node("two", "AssignVariableOp", {"v", "x"}, kRead) +
                                 node("r", "ReadVariableOp", {"v", "^one", "^two"}, kRead) +
                                 node("y", "Neg", {"r"}, kT),
                             fetch({{"y"}}));
  EXPECT_FALSE(g);
  EXPECT_TRUE(mentions(d, "'two': changes variable 'v', and 'one' changes it too: the graph does not say which is first"));
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
            "Neg AddV2 AddV2 Neg");
  EXPECT_EQ(ops_of(one + change("two", "Assign", {"v", "v", "^one"}) + node("y", "Neg", {"two"}, kT)), "AddV2 Neg");
  EXPECT_EQ(ops_of(one + change("two", "AssignAdd", {"v", "v", "^one"}) + y), "AddV2 AddV2 Neg");
  EXPECT_EQ(ops_of(change("two", "AssignAdd", {"v", "v"}) + y), "AddV2 Neg") << "both are read before the change";
  const std::string two = change("two", "AssignAdd", {"v", "x", "^one", "^z"});
  EXPECT_EQ(ops_of(z + change("one", "AssignAdd", {"v", "x", "^z"}) + two + node("y", "Sub", {"one", "z", "^two"}, kT)), "Neg AddV2 AddV2 Sub");
  EXPECT_EQ(ops_of(z + change("one", "AssignAdd", {"v", "x", "^z"}) + two + node("y", "Sub", {"two", "z"}, kT)), "Neg AddV2 AddV2 Sub");
  EXPECT_EQ(ops_of(one + node("r", "Neg", {"one"}, kT) + change("two", "AssignSub", {"v", "x", "^r"}) + node("y", "Neg", {"r", "^two"}, kT)), "AddV2 Neg Sub Neg");
  const std::string held = node("r", "Identity", {"v"}, kT) + node("q", "Neg", {"r"}, kT);
  EXPECT_EQ(ops_of(held + change("one", "AssignAdd", {"v", "x", "^q"}) + node("y", "Sub", {"q", "one"}, kT)), "Neg AddV2 Sub");
  EXPECT_EQ(ops_of(held + change("one", "AssignAdd", {"v", "x", "^q"}) + node("y", "Neg", {"r", "^one"}, kT)), stale) << "an Identity is no copy";
  EXPECT_EQ(ops_of(one + node("r", "Identity", {"one"}, kT) + change("two", "AssignAdd", {"v", "x", "^r"}) + node("y", "Neg", {"r", "^two"}, kT)),
            "reads variable 'v' after 'two' has changed it");
  EXPECT_EQ(ops_of(held + change("one", "Assign", {"v", "x", "^q"}) + node("y", "Neg", {"r", "^one"}, kT)), stale) << "it may be written in place";
  const auto memory = import(variables + held + change("one", "AssignAdd", {"v", "x", "^q"}) + node("y", "Neg", {"r", "^one"}, kT), fetch({{"y"}}));
  EXPECT_TRUE(mentions(memory.diagnostics, stale)) << "also where no change is exported";
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
  const std::string z = node("z", "Neg", {"x", "^set", "^again"}, kT);
  error(node("set", "AssignVariableOp", {"v", "x"}, kRead) + node("again", "AssignAddVariableOp", {"v", "x"}, kRead) + z, "the graph does not say which is first");
  error(node("set", "ResourceApplyGradientDescent", {"v", "x", "x"}, kT) + node("again", "NoOp", {}) + z, "in a way that --stateful-io does not support");
  const std::string p = node("p", "Placeholder", {}, attr("dtype", "type: DT_BOOL"));
  error(p + node("side", "Switch", {"x", "p"}, kT) + node("set", "AssignVariableOp", {"v", "side:1"}, kRead) + node("again", "NoOp", {}) + z,
        "changes a variable in a loop or a branch");
}

TEST(Import, AGeneratorInABranchIsTold) {
  ir::Graph main;
  GraphPtr branch = main.make_subgraph();
  branch->add({.op = "RngReadAndSkip", .outputs = {{{}, DType::i64, Shape({3})}}, .name = "draw"});
  main.add({.op = "StatelessIf", .attrs = {{"then_branch", branch}}, .outputs = {{{}, DType::i64, Shape({3})}}, .name = "if"});
  ImportRequest request;
  request.keep_state = true;
  Diagnostics d;
  tell_lost_changes(main, {}, {}, request, d);
  EXPECT_TRUE(mentions(d, "tf.random.Generator", Severity::warning));
}

}  // namespace
}  // namespace t2o::tf
