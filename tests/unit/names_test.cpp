#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>

#include "ir/nesting.h"
#include "pipeline.h"
#include "tests/unit/tf_import.h"
#include "tfgraph/paths.h"

// The names in an exported file: those that a person finds again in the model.
namespace t2o {
namespace {

namespace fs = std::filesystem;
const fs::path kSource = T2O_SOURCE_DIR;

// ---- what a file says

void list(const ir::Graph& g, const std::string& indent, std::string& text) {
  text += indent + "graph " + g.name() + "\n";
  for (const Value* v : g.inputs()) text += indent + "  input " + v->name() + "\n";
  for (const Value* v : g.constants())
    if (v->is_used()) text += indent + "  constant " + v->name() + "\n";
  for (const ir::Node& n : g.nodes()) {
    text += indent + "  " + n.op() + " " + n.name();
    if (n.outputs().size() != 1 || n.output()->name() != n.name())
      for (const Value* v : n.outputs()) text += (v == n.output() ? " -> " : ", ") + v->name();
    text += "\n";
    ir::for_each_subgraph(n, [&](const ir::Graph& inner) { list(inner, indent + "    ", text); });
  }
  for (const Value* v : g.outputs()) text += indent + "  output " + v->name() + "\n";
}

std::string names_of(const Conversion& c) {
  std::string text;
  for (const Diagnostic& d : c.diagnostics)
    if (d.severity == Severity::error) text += to_string(d) + "\n";
  for (const ir::ModelGraph& g : c.model.graphs) list(*g.graph, "", text);
  return text;
}

std::string names_of(const fs::path& model) {
  Options o;
  o.model = model.string();
  return names_of(convert(o));
}

std::string names_of_text(const std::string& graph_def, Strings outputs) {
  const std::string model = tf::graph_def_from_text(graph_def, "test");
  Options o;
  o.outputs = std::move(outputs);
  return names_of(convert(o, std::as_bytes(std::span(model))));
}

// ---- small graphs, one for each rule

using tf::attr;
using tf::kT;
using tf::kX;
using tf::node;

std::string call(const std::string& name, const std::string& function, const std::string& input) {
  return node(name, "StatefulPartitionedCall", {input}, attr("f", "func { name: '" + function + "' }")) +
         "\n";
}

// A function with the nodes NAME: Exp, Neg and so on, one after the other.
std::string function(const std::string& name, const std::vector<std::pair<std::string, std::string>>& nodes) {
  std::string text = "function { signature { name: '" + name +
                     "' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: 'r' type: DT_FLOAT } } ";
  std::string last = "a";
  for (const auto& [node, op] : nodes) {
    text += "node_def { name: '" + node + "' op: '" + op + "' input: '" + last + "'" + kT + " } ";
    last = node + ":y:0";
  }
  return text + "ret { key: 'r' value: '" + last + "' } } ";
}

std::string library(const std::string& functions) { return "library { " + functions + "}"; }

const std::string kLayer =
    function("__inference_layer_12", {{"model/dense/Exp", "Exp"}, {"model/dense/Tanh", "Tanh"}});

TEST(Names, LevelsThatAnExporterMadeUpAreLeftOut) {
  EXPECT_EQ(names_of_text(kX + call("StatefulPartitionedCall", "__inference_layer_12", "x") +
                              node("y", "Neg", {"StatefulPartitionedCall"}, kT) + library(kLayer),
                          {"y:0"}),
            "graph graph\n  input x:0\n  Exp model/dense/Exp\n  Tanh model/dense/Tanh\n"
            "  Neg y -> y:0\n  output y:0\n");
}

TEST(Names, ALevelBehindALayerIsLeftOutToo) {
  EXPECT_EQ(names_of_text(kX + call("dense/StatefulPartitionedCall", "f", "x") +
                              node("y", "Neg", {"dense/StatefulPartitionedCall"}, kT) +
                              library(function("f", {{"Exp", "Exp"}, {"dense/Tanh", "Tanh"}})),
                          {"y:0"}),
            "graph graph\n  input x:0\n  Exp dense/Exp\n  Tanh dense/Tanh\n  Neg y -> y:0\n  output y:0\n");
}

TEST(Names, TheSecondCallOfAFunctionKeepsItsName) {
  EXPECT_EQ(names_of_text(kX + call("PartitionedCall", "__inference_layer_12", "x") +
                              call("PartitionedCall_1", "__inference_layer_12", "PartitionedCall") +
                              node("y", "Neg", {"PartitionedCall_1"}, kT) + library(kLayer),
                          {"y:0"}),
            "graph graph\n  input x:0\n  Exp model/dense/Exp\n  Tanh model/dense/Tanh\n"
            "  Exp PartitionedCall_1/model/dense/Exp\n  Tanh PartitionedCall_1/model/dense/Tanh\n"
            "  Neg y -> y:0\n  output y:0\n");
}

// Another function may have a scope of the same name: that scope alone keeps the call's name. A node outside
// of any scope gets a number.
TEST(Names, OnlyWhatTwoFunctionsHaveKeepsTheCall) {
  const std::string f = function("f", {{"Exp", "Exp"}, {"a/Tanh", "Tanh"}, {"b/Abs", "Abs"}});
  const std::string g = function(
      "g", {{"Exp", "Exp"}, {"a/Tanh", "Tanh"}, {"c/Abs", "Abs"}, {"d/Neg", "Neg"}, {"e/Neg", "Neg"}});
  EXPECT_EQ(names_of_text(kX + call("PartitionedCall", "f", "x") +
                              call("PartitionedCall_1", "g", "PartitionedCall") +
                              node("y", "Sin", {"PartitionedCall_1"}, kT) + library(f + g),
                          {"y:0"}),
            "graph graph\n  input x:0\n  Exp Exp\n  Tanh a/Tanh\n  Abs b/Abs\n  Exp Exp_1\n"
            "  Tanh PartitionedCall_1/a/Tanh\n  Abs c/Abs\n  Neg d/Neg\n  Neg e/Neg\n  Sin y -> y:0\n  "
            "output y:0\n");
}

TEST(Names, CallsThatTheExporterInlinedAreLikeCalls) {
  const auto two = [](const std::string& scope, const std::string& from) {
    return node(scope + "/dense/Exp", "Exp", {from}, kT) +
           node(scope + "/dense/Tanh", "Tanh", {scope + "/dense/Exp"}, kT);
  };
  EXPECT_EQ(names_of_text(
                kX + two("StatefulPartitionedCall/PartitionedCall", "x") +
                    two("StatefulPartitionedCall_1", "StatefulPartitionedCall/PartitionedCall/dense/Tanh") +
                    node("y", "Sin", {"StatefulPartitionedCall_1/dense/Tanh"}, kT),
                {"y:0"}),
            "graph graph\n  input x:0\n  Exp dense/Exp\n  Tanh dense/Tanh\n"
            "  Exp StatefulPartitionedCall_1/dense/Exp\n  Tanh StatefulPartitionedCall_1/dense/Tanh\n"
            "  Sin y -> y:0\n  output y:0\n");
}

TEST(Names, AWeightOfAFrozenGraphIsCalledLikeItsLayer) {
  const auto weight = [](const std::string& name, const std::string& value) {
    return node(name, "Const", {},
                attr("dtype", "type: DT_FLOAT") +
                    attr("value", "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } } float_val: " +
                                      value + " }"));
  };
  EXPECT_EQ(
      names_of_text(
          kX + weight("unknown", "3") + weight("m/conv/BiasAdd/ReadVariableOp/resource", "5") +
              node("Func/StatefulPartitionedCall/input/_1", "Identity", {"unknown"}, kT) +
              node("StatefulPartitionedCall/m/dense/MatMul/ReadVariableOp", "Identity",
                   {"Func/StatefulPartitionedCall/input/_1"}, kT) +
              node("StatefulPartitionedCall/m/dense/Sub", "Sub",
                   {"x", "StatefulPartitionedCall/m/dense/MatMul/ReadVariableOp"}, kT) +
              node("y", "Mul",
                   {"StatefulPartitionedCall/m/dense/Sub", "m/conv/BiasAdd/ReadVariableOp/resource"}, kT),
          {"y:0"}),
      "graph graph\n  input x:0\n  constant m/dense/kernel\n  constant m/conv/bias\n"
      "  Sub m/dense/Sub\n  Mul y -> y:0\n  output y:0\n");
}

TEST(Names, TheSourcesOwnNamesStayInMessagesAndCuts) {
  const std::string text = kX + call("StatefulPartitionedCall", "__inference_layer_12", "x") +
                           node("y", "Neg", {"StatefulPartitionedCall"}, kT) + library(kLayer);
  for (const char* name : {"StatefulPartitionedCall/model/dense/Exp:0", "model/dense/Exp:0"}) {
    const std::string model = tf::graph_def_from_text(text, "test");
    Options o;
    o.outputs = {name};
    const Conversion c = convert(o, std::as_bytes(std::span(model)));
    ASSERT_TRUE(c.ok()) << names_of(c);
    EXPECT_EQ(c.graph()->outputs()[0]->name(), name);
    EXPECT_EQ(c.graph()->last()->name(), "model/dense/Exp");
    EXPECT_EQ(c.graph()->last()->origin().node, "StatefulPartitionedCall/model/dense/Exp");
    EXPECT_EQ(c.graph()->last()->origin().function, "__inference_layer_12");
  }
}

// ---- paths

TEST(Names, Paths) {
  using namespace tfgraph;
  EXPECT_EQ(without_made_up("StatefulPartitionedCall/PartitionedCall_12/a/Exp"), "a/Exp");
  EXPECT_EQ(without_made_up("a/PartitionedCall/__inference_f_3/b/StatefulPartitionedCall"),
            "a/b/StatefulPartitionedCall");
  for (const char* own :
       {"functional_1_1/Exp", "MyPartitionedCall/Exp", "PartitionedCalls/Exp", "PartitionedCall_/Exp",
        "PartitionedCall_a/Exp", "StatefulPartitionedCall", "", "/", "a//b"})
    EXPECT_EQ(without_made_up(own), own);
  EXPECT_EQ(of_weight("dense/kernel/Read/ReadVariableOp", Named::by_itself), "dense/kernel");
  EXPECT_EQ(of_weight("m/dense/MatMul/ReadVariableOp/resource", Named::by_reader), "m/dense/kernel");
  EXPECT_EQ(of_weight("m/dense/Tensordot/MatMul/ReadVariableOp", Named::by_reader), "m/dense/kernel");
  EXPECT_EQ(of_weight("m/conv/BiasAdd/ReadVariableOp_1", Named::by_reader), "m/conv/bias");
  EXPECT_EQ(of_weight("m/bn/Cast_2/ReadVariableOp", Named::by_reader), "m/bn/weight");
  EXPECT_EQ(of_weight("m/norm/Read_1/ReadVariableOp", Named::by_reader), "m/norm/weight");
  EXPECT_EQ(of_weight("m/GatherV2/ReadVariableOp1", Named::by_reader), "m/GatherV2/weight");
  EXPECT_EQ(of_weight("ReadVariableOp", Named::by_reader), "weight");
  EXPECT_EQ(of_weight("dense/kernel", Named::by_reader), "dense/kernel");
}

// ---- models

bool tells_of_calls(std::string_view level) {
  return tfgraph::is_made_up(level) || level.starts_with("ReadVariableOp");
}

std::string bad_level(const std::string& name) {
  if (name.find(';') != std::string::npos) return ";";
  std::istringstream levels(name);
  for (std::string level; std::getline(levels, level, '/');)
    if (tells_of_calls(level.substr(0, level.find(':')))) return level;
  return "";
}

void check_names(const ir::Graph& g, std::set<std::string>& nodes) {
  const auto check = [&](const std::string& name) { EXPECT_EQ(bad_level(name), "") << name; };
  const bool is_main = g.parent() == nullptr;
  const auto is_interface = [&](const Value* v) {
    return is_main && (v->is_graph_input() || v->is_graph_output());
  };
  check(g.name());
  for (const Value* v : g.constants())
    if (!is_interface(v)) check(v->name());
  for (const ir::Node& n : g.nodes()) {
    check(n.name());
    EXPECT_TRUE(nodes.insert(n.name()).second) << "two nodes are called " << n.name();
    for (const Value* v : n.outputs()) {
      if (!is_interface(v))
        check(v->name());
      else
        EXPECT_NE(n.name(), v->name()) << "a node is called like an output of the model";
    }
    ir::for_each_subgraph(n, [&](const ir::Graph& inner) { check_names(inner, nodes); });
  }
}

std::vector<fs::path> sample_models() {
  std::vector<fs::path> models;
  for (const char* folder : {"models", "tests/data"})
    for (const auto& entry : fs::recursive_directory_iterator(kSource / folder)) {
      const fs::path& p = entry.path();
      if (fs::is_directory(p)
              ? fs::exists(p / "saved_model.pb")
              : p.extension() == ".tflite" ||
                    (p.extension() == ".pb" && p.stem() != "saved_model" && p.stem() != "fingerprint"))
        models.push_back(p);
    }
  return models;
}

TEST(Names, NoSampleModelHasNamesThatTellNothing) {
  std::size_t seen = 0;
  for (const fs::path& model : sample_models()) {
    Options o;
    o.model = model.string();
    const Conversion c = convert(o);
    if (!c.ok()) continue;
    ++seen;
    SCOPED_TRACE(model.string());
    std::set<std::string> nodes;
    check_names(*c.graph(), nodes);
  }
  EXPECT_GT(seen, 150U);
}

// The names of some models: tests/golden/names/<model>.txt. UPDATE_GOLDENS=1 writes them anew.
TEST(Names, OfModels) {
  for (const char* model :
       {"models/mnist", "tests/data/keras3", "tests/data/tracked", "tests/data/states/keras",
        "tests/data/recurrent/lstm_bidirectional.pb", "tests/data/tensor_lists/ta_cond.pb",
        "tests/data/tflite/cnn_int8.tflite", "tests/data/tflite/lstm_keras.tflite",
        "tests/data/litert/net_float.tflite", "tests/data/tflite/branches.tflite"}) {
    const fs::path golden = kSource / "tests/golden/names" / fs::path(model).stem().concat(".txt");
    const std::string names = names_of(kSource / model);
    EXPECT_EQ(names_of(kSource / model), names) << model << ": another conversion gives other names";
    if (std::getenv("UPDATE_GOLDENS")) {
      std::ofstream(golden) << names;
      continue;
    }
    std::ostringstream expected;
    expected << std::ifstream(golden).rdbuf();
    EXPECT_EQ(names, expected.str()) << golden << ": UPDATE_GOLDENS=1 accepts this.";
  }
}

TEST(Names, TheGraphIsCalledLikeTheModel) {
  const auto graph_of = [](const std::string& model) {
    const std::string names = names_of(fs::path(model));
    return names.substr(0, names.find('\n'));
  };
  EXPECT_EQ(graph_of((kSource / "models/mnist").string()), "graph mnist");
  EXPECT_EQ(graph_of((kSource / "models/mnist").string() + "/"), "graph mnist");
  EXPECT_EQ(graph_of((kSource / "tests/data/tflite/cnn.tflite").string()), "graph cnn");
  Options o;
  o.model = (kSource / "tests/data/signatures").string();
  o.signature = "all";
  const Conversion c = convert(o);
  ASSERT_GT(c.model.graphs.size(), 1U);
  for (const ir::ModelGraph& g : c.model.graphs) EXPECT_EQ(g.graph->name(), "signatures." + g.name);
}

}  // namespace
}  // namespace t2o
