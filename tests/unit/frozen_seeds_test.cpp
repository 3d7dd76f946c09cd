#include <gtest/gtest.h>

#include <algorithm>

#include "tf_import.h"

// Random numbers whose seed is a variable: the numbers of each run are those of the first, which is told.
namespace t2o::tf {
namespace {

const std::string kSeed = node("seed", "VarHandleOp", {}, attr("dtype", "type: DT_INT64") + attr("shape", "shape { dim { size: 2 } }")) +
                          node("state", "ReadVariableOp", {"seed"}, attr("dtype", "type: DT_INT64"));
const std::string kShape = node("shape", "Const", {},
                                attr("dtype", "type: DT_INT32") +
                                    attr("value", "tensor { dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 2 }"));
const std::string kStep = node("step", "Const", {},
                               attr("dtype", "type: DT_INT64") +
                                   attr("value", "tensor { dtype: DT_INT64 tensor_shape { dim { size: 2 } } int64_val: 1 }"));
const std::string kMove = node("move", "AssignAddVariableOp", {"seed", "step", "^state"}, attr("dtype", "type: DT_INT64"));

std::string draw(const std::string& name, const std::string& seed) {
  return node(name, "StatelessRandomNormal", {"shape", seed}, attr("dtype", "type: DT_FLOAT") + attr("Tseed", "type: DT_INT64"));
}

ImportRequest request(bool keep = false) {
  ImportRequest r = fetch({{"y"}});
  r.variable = [](const VariableRef&) { return Tensor::of<std::int64_t>({2}, {1, 2}); };
  r.keep_state = keep;
  return r;
}

const Diagnostic* told(const Imported& i) {
  for (const Diagnostic& d : i.diagnostics)
    if (d.message.starts_with("draws random numbers")) return &d;
  return nullptr;
}

TEST(FrozenSeeds, AreTold) {
  const std::string graph = kX + kShape + kStep + kSeed + kMove + node("fed", "Abs", {"state"}, attr("T", "type: DT_INT64")) +
                            draw("noise", "fed") + node("y", "AddV2", {"x", "noise", "^move"}, kT);
  const Imported frozen = import(graph, request());
  ASSERT_TRUE(frozen.graph) << to_string(frozen.diagnostics.at(0));
  const Diagnostic* d = told(frozen);
  ASSERT_TRUE(d);
  EXPECT_EQ(std::count_if(frozen.diagnostics.begin(), frozen.diagnostics.end(),
                          [](const Diagnostic& e) { return e.severity == Severity::warning; }),
            1)
      << "the change of the seed is told once: " << to_string(frozen.diagnostics.at(0));
  EXPECT_EQ(to_string(*d),
            "warning[unsupported-op]: StatelessRandomNormal 'noise': draws random numbers, which each run of the "
            "exported model repeats: its seed is variable 'seed', whose change is not exported\n"
            "  help: --stateful-io hands the seed on from run to run, or feed the seed as an input: --inputs x:0,fed:0");
  // Both ways help.
  EXPECT_FALSE(told(import(graph, request(true))));
  ImportRequest fed = request();
  fed.feeds = {{"x:0"}, {"fed:0"}};
  const Imported by_input = import(graph, fed);
  ASSERT_TRUE(by_input.graph);
  EXPECT_FALSE(told(by_input));
  EXPECT_EQ(by_input.graph->inputs().size(), 2U);
}

// The whole is imported there, and cut afterwards.
TEST(FrozenSeeds, AreFedInsideOfFunctions) {
  const auto inner = [](std::string text) {
    for (std::size_t at = 0; (at = text.find("node {", at)) != std::string::npos; at += 8) text.replace(at, 6, "node_def {");
    return text;
  };
  const std::string body =
      node("state", "ReadVariableOp", {"h"}, attr("dtype", "type: DT_INT64")) +
      node("fed", "Abs", {"state:value:0"}, attr("T", "type: DT_INT64")) +
      node("move", "AssignAddVariableOp", {"h", "step:output:0", "^state"}, attr("dtype", "type: DT_INT64")) + kStep + kShape +
      node("noise", "StatelessRandomNormal", {"shape:output:0", "fed:y:0"},
           attr("dtype", "type: DT_FLOAT") + attr("Tseed", "type: DT_INT64")) +
      node("sum", "AddV2", {"a", "noise:output:0", "^move"}, kT);
  const std::string graph =
      kX + kSeed + node("y", "StatefulPartitionedCall", {"x", "seed"}, attr("f", "func { name: 'f' }")) +
      "library { function { signature { name: 'f' input_arg { name: 'a' type: DT_FLOAT } input_arg { name: 'h' type: "
      "DT_RESOURCE } output_arg { name: 'r' type: DT_FLOAT } } " +
      inner(body) + " ret { key: 'r' value: 'sum:z:0' } control_ret { key: 'move' value: 'move' } } }";
  const Imported frozen = import(graph, request());
  ASSERT_TRUE(frozen.graph) << to_string(frozen.diagnostics.at(0));
  const Diagnostic* d = told(frozen);
  ASSERT_TRUE(d);
  EXPECT_EQ(d->remedy, "--stateful-io hands the seed on from run to run, or feed the seed as an input: --inputs x:0,y/fed:0");
  ImportRequest fed = request();
  fed.feeds = {{"x:0"}};
  fed.cut_inputs = {{"x:0", "x:0"}, {"y/fed:0", "y/fed:0"}};
  const Imported by_input = import(graph, fed);
  ASSERT_TRUE(by_input.graph) << to_string(by_input.diagnostics.at(0));
  EXPECT_EQ(by_input.graph->inputs().size(), 2U);
  for (const Diagnostic& left : by_input.diagnostics) EXPECT_EQ(left.severity, Severity::note) << to_string(left);
}

TEST(FrozenSeeds, WhereTheVariableItselfIsTheSeed) {
  const std::string graph = kX + kShape + kStep + kSeed + kMove + draw("a", "state") + draw("b", "state") +
                            node("n", "AddV2", {"a", "b"}, kT) + node("y", "AddV2", {"x", "n", "^move"}, kT);
  const Imported frozen = import(graph, request());
  const Diagnostic* d = told(frozen);
  ASSERT_TRUE(d);
  EXPECT_NE(d->message.find("So do 'b'"), std::string::npos) << d->message;
  EXPECT_EQ(d->remedy, "--stateful-io hands the seed on from run to run");
}

TEST(FrozenSeeds, AVariableThatNothingChangesIsNoted) {
  const Imported i = import(kX + kShape + kSeed + draw("a", "state") + node("y", "AddV2", {"x", "a"}, kT), request());
  const Diagnostic* d = told(i);
  ASSERT_TRUE(d);
  EXPECT_EQ(d->severity, Severity::note);
  EXPECT_EQ(d->remedy.find("--stateful-io"), std::string::npos);
}

TEST(FrozenSeeds, ConstantsAndInputsAreTheModelsOwn) {
  const std::string by_constant = kX + kShape + kStep + draw("a", "step") + node("y", "AddV2", {"x", "a"}, kT);
  EXPECT_FALSE(told(import(by_constant, request())));
  const std::string given = node("s", "Placeholder", {}, attr("dtype", "type: DT_INT64") + attr("shape", "shape { dim { size: 2 } }"));
  const std::string by_input = kX + kShape + kSeed + given + node("both", "AddV2", {"s", "state"}, attr("T", "type: DT_INT64")) +
                               draw("a", "both") + node("y", "AddV2", {"x", "a"}, kT);
  EXPECT_FALSE(told(import(by_input, request())));
}

TEST(FrozenSeeds, OtherLostChangesAreToldBesides) {
  const std::string other = node("v", "VarHandleOp", {}, attr("dtype", "type: DT_INT64") + attr("shape", "shape { dim { size: 2 } }")) +
                            node("more", "AssignAddVariableOp", {"v", "step"}, attr("dtype", "type: DT_INT64"));
  const Imported i = import(kX + kShape + kStep + kSeed + kMove + other + draw("a", "state") +
                                node("y", "AddV2", {"x", "a", "^move", "^more"}, kT),
                            request());
  EXPECT_TRUE(told(i));
  EXPECT_TRUE(mentions(i.diagnostics, "the change of variable 'v' is not exported", Severity::warning));
}

TEST(FoundOutputs, AreNotWhatIsThereForUpkeep) {
  const std::string saver = node("save/Const", "Const", {},
                                 attr("dtype", "type: DT_STRING") + attr("value", "tensor { dtype: DT_STRING string_val: 'm' }")) +
                            node("save/names", "Const", {},
                                 attr("dtype", "type: DT_STRING") +
                                     attr("value", "tensor { dtype: DT_STRING tensor_shape { dim { size: 1 } } string_val: 'v' }")) +
                            node("w", "VariableV2", {}, attr("dtype", "type: DT_FLOAT") + attr("shape", "shape { dim { size: 2 } }")) +
                            node("save/Save", "Save", {"save/Const", "save/names", "w"}, attr("T", "list { type: DT_FLOAT }")) +
                            node("save/control_dependency", "Identity", {"save/Const", "^save/Save"}, attr("T", "type: DT_STRING"));
  const std::string report = node("is", "IsVariableInitialized", {"w"}, attr("dtype", "type: DT_FLOAT")) +
                             node("not", "LogicalNot", {"is"}) + node("report", "Identity", {"not"}, attr("T", "type: DT_BOOL"));
  ImportRequest r = fetch({});
  r.fetches.clear();
  const Imported i = import(kX + saver + report + node("y", "Neg", {"x"}, kT), r);
  ASSERT_TRUE(i.graph) << to_string(i.diagnostics.at(0));
  ASSERT_EQ(i.graph->outputs().size(), 1U);
  EXPECT_EQ(ops(*i.graph), "Neg");
  const Imported none = import(saver + report, r);
  EXPECT_TRUE(mentions(none.diagnostics, "the model has no outputs to convert"));
  EXPECT_TRUE(mentions(none.diagnostics, "name outputs with --outputs"));
}

TEST(States, AnInnerTensorGivesWay) {
  const std::string graph = kX + kV + node("r", "ReadVariableOp", {"v"}, kRead) + node("v_out", "Neg", {"x"}, kT) +
                            node("sum", "AddV2", {"v_out", "r"}, kT) + node("assign", "AssignVariableOp", {"v", "sum"}, kRead) +
                            node("y", "Exp", {"v_out", "^assign"}, kT);
  ImportRequest r = fetch({{"y"}});
  r.keep_state = true;
  const Imported i = import(graph, r);
  ASSERT_TRUE(i.graph) << to_string(i.diagnostics.at(0));
  EXPECT_EQ(i.graph->outputs().at(1)->name(), "v_out");
  r.fetches = {{"y"}, {"v_out:0", "v_out"}};
  EXPECT_TRUE(mentions(import(graph, r).diagnostics, "cannot be called 'v_out'"));
  r.fetches[1].name = "other";
  EXPECT_TRUE(import(graph, r).graph) << "the remedy helps";
}

}  // namespace
}  // namespace t2o::tf
