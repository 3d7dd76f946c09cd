#include <gtest/gtest.h>

#include "harness.h"
#include "tf/text_proto.h"

namespace t2o::numeric {
namespace {

std::string attr(const std::string& key, const std::string& value) {
  return " attr { key: '" + key + "' value { " + value + " } }";
}

std::string node(const std::string& name, const std::string& op, const Strings& inputs,
                 const std::string& attrs = "") {
  std::string s = "node { name: '" + name + "' op: '" + op + "'";
  for (const std::string& i : inputs) s += " input: '" + i + "'";
  return s + attrs + " }\n";
}

const std::string kF = attr("T", "type: DT_FLOAT"), kI = attr("T", "type: DT_INT32"),
                  kB = attr("T", "type: DT_BOOL");
const std::string kTwo = attr("N", "i: 2");

std::string number(const std::string& name, float value, const Strings& control = {}) {
  return node(name, "Const", control,
              attr("dtype", "type: DT_FLOAT") +
                  attr("value", "tensor { dtype: DT_FLOAT tensor_shape { } float_val: " +
                                    std::to_string(value) + " }"));
}
std::string integer(const std::string& name, int value, const Strings& control = {}) {
  return node(name, "Const", control,
              attr("dtype", "type: DT_INT32") +
                  attr("value",
                       "tensor { dtype: DT_INT32 tensor_shape { } int_val: " + std::to_string(value) + " }"));
}

// The nodes read "x" (f32), "p" (a truth) and "n" (i32), and make "y".
void text_graph(Builder& b, const std::string& nodes, bool truth, std::int32_t n, const Ints& dims = {2, 3}) {
  engines::TfGraph::InputMap map = {{"x", b.input(f32, dims)}};
  if (nodes.find("'p'") != std::string::npos) map.emplace_back("p", b.input(Tensor::scalar<bool>(truth)));
  if (nodes.find("'n'") != std::string::npos) map.emplace_back("n", b.input(Tensor::scalar<std::int32_t>(n)));
  std::string text;
  if (nodes.find("'x'") != std::string::npos)
    text += node("x", "Placeholder", {}, attr("dtype", "type: DT_FLOAT"));
  if (map.size() > 1 && map[1].first == "p")
    text += node("p", "Placeholder", {}, attr("dtype", "type: DT_BOOL"));
  if (map.back().first == "n") text += node("n", "Placeholder", {}, attr("dtype", "type: DT_INT32"));
  const std::string binary = tf::graph_def_from_text(text + nodes, "test");
  b.graph().import(std::as_bytes(std::span(binary)), "g", map);
  b.output("g/y");
}

void check_text(const std::string& title, const std::string& nodes, bool truth = true, std::int32_t n = 3) {
  graph_case(title, [=](Builder& b) { text_graph(b, nodes, truth, n); })
      .only_opsets({11, 13, 18, 26})
      .note(truth ? "true" : "false")
      .check();
}

const std::string kSides = node("switch", "Switch", {"p", "p"}, kB) +
                           node("on", "Identity", {"switch:1"}, kB) +
                           node("off", "Identity", {"switch"}, kB) + node("sx", "Switch", {"x", "p"}, kF);

TEST(ControlFlow, Conditionals) {
  for (const bool truth : {true, false}) {
    check_text("if",
               kSides + node("t", "Exp", {"sx:1"}, kF) + node("f", "Neg", {"sx"}, kF) +
                   node("y", "Merge", {"f", "t"}, kF + kTwo),
               truth);
    check_text("constants",
               kSides + number("t", 4, {"^on"}) + number("f", 5, {"^off"}) +
                   node("m", "Merge", {"f", "t"}, kF + kTwo) + node("y", "AddV2", {"x", "m"}, kF),
               truth);
    check_text("ranks",
               kSides + integer("axis", 0, {"^on"}) +
                   node("t", "ExpandDims", {"sx:1", "axis"}, kF + attr("Tdim", "type: DT_INT32")) +
                   node("y", "Merge", {"sx", "t"}, kF + kTwo),
               truth);
    check_text("in each other",
               kSides + node("st", "Switch", {"sx:1", "sp:1"}, kF) + node("sp", "Switch", {"p", "p"}, kB) +
                   node("e", "Exp", {"st:1"}, kF) + node("a", "Abs", {"st"}, kF) +
                   node("inner", "Merge", {"e", "a"}, kF + kTwo) + node("f", "Neg", {"sx"}, kF) +
                   node("y", "Merge", {"inner", "f"}, kF + kTwo),
               truth);
    check_text(
        "value_index",
        kSides + node("m", "Merge", {"sx", "sx:1"}, kF + kTwo) +
            node("y", "Cast", {"m:1"}, attr("SrcT", "type: DT_INT32") + attr("DstT", "type: DT_FLOAT")) +
            node("unused", "Neg", {"x"}, kF),
        truth);
  }
}

std::string variable(const std::string& name, const std::string& init, const std::string& type,
                     const std::string& frame = "frame") {
  return node("enter_" + name, "Enter", {init}, type + attr("frame_name", "s: '" + frame + "'")) +
         node(name, "Merge", {"enter_" + name, "next_" + name}, type + kTwo) +
         node("switch_" + name, "Switch", {name, "go_" + frame}, type) +
         node("exit_" + name, "Exit", {"switch_" + name}, type);
}
std::string invariant(const std::string& name, const std::string& of, const std::string& type,
                      const std::string& frame = "frame") {
  return node(name, "Enter", {of},
              type + attr("frame_name", "s: '" + frame + "'") + attr("is_constant", "b: true"));
}
std::string next(const std::string& name, const std::string& value, const std::string& type) {
  return node("next_" + name, "NextIteration", {value}, type);
}

// i counts to n.
const std::string kCount = integer("zero", 0) + variable("i", "zero", kI) + invariant("limit", "n", kI) +
                           node("less", "Less", {"i", "limit"}, kI) + node("go_frame", "LoopCond", {"less"}) +
                           integer("one", 1, {"^stay"}) + node("stay", "Identity", {"switch_i:1"}, kI) +
                           node("more", "AddV2", {"switch_i:1", "one"}, kI) + next("i", "more", kI);

// The same graph with another type in place of f32.
std::string retyped(std::string nodes, const std::string& type) {
  for (std::size_t at = 0; (at = nodes.find("DT_FLOAT", at)) != std::string::npos; at += type.size()) nodes.replace(at, 8, type);
  return nodes;
}

// Which types If, Loop and Scan take, and what of them Cast knows, depends on the opset.
TEST(ControlFlow, Types) {
  const std::string branches = kSides + integer("axis", 0, {"^on"}) + node("t", "ExpandDims", {"sx:1", "axis"}, kF + attr("Tdim", "type: DT_INT32")) +
                               node("m", "Merge", {"sx", "t"}, kF + kTwo) + node("y", "Identity", {"m"}, kF);
  const std::string rounds = kCount + variable("v", "x", kF) + invariant("x_in", "x", kF) + integer("axis", 0, {"^stay"}) +
                             node("rows", "ConcatV2", {"switch_v:1", "x_in", "axis"}, kF + kTwo + attr("Tidx", "type: DT_INT32")) +
                             next("v", "rows", kF) + node("y", "Identity", {"exit_v"}, kF);
  const std::vector<std::pair<DType, std::string>> types = {
      {bf16, "DT_BFLOAT16"}, {f16, "DT_HALF"},  {f64, "DT_DOUBLE"}, {u8, "DT_UINT8"},   {u16, "DT_UINT16"}, {u32, "DT_UINT32"},
      {u64, "DT_UINT64"},    {i8, "DT_INT8"}, {i16, "DT_INT16"},  {i64, "DT_INT64"}, {boolean, "DT_BOOL"}};
  for (const auto& [type, name] : types)
    for (const std::string& nodes : {branches, rounds}) {
      const std::vector<int> opsets = type == bf16 ? std::vector<int>{13, 15, 16, 18, 21, 26} : std::vector<int>{11, 13, 15, 16, 18, 26};
      graph_case("types", [&](Builder& b) {
        engines::TfGraph::InputMap map = {{"x", b.input(type, {2, 3})}};
        std::string text = node("x", "Placeholder", {}, attr("dtype", "type: " + name));
        if (nodes == branches) {
          map.emplace_back("p", b.input(Tensor::scalar<bool>(true)));
          text += node("p", "Placeholder", {}, attr("dtype", "type: DT_BOOL"));
        } else {
          map.emplace_back("n", b.input(Tensor::scalar<std::int32_t>(2)));
          text += node("n", "Placeholder", {}, attr("dtype", "type: DT_INT32"));
        }
        const std::string binary = tf::graph_def_from_text(text + retyped(nodes, name), "test");
        b.graph().import(std::as_bytes(std::span(binary)), "g", map);
        b.output("g/y");
      }).only_opsets(opsets).note(name).check();
    }
}

TEST(ControlFlow, Loops) {
  const std::string half =
      number("half", 0.5F, {"^stay"}) + node("scaled", "Mul", {"switch_v:1", "half"}, kF);
  const std::string add =
      invariant("x_in", "x", kF) + node("sum", "AddV2", {"scaled", "x_in"}, kF) + next("v", "sum", kF);
  for (const std::int32_t n : {0, 1, 4}) {
    check_text("count", kCount + variable("v", "x", kF) + half + add + node("y", "Identity", {"exit_v"}, kF),
               true, n);
    check_text(
        "only the count is read",
        kCount + variable("v", "x", kF) + half + add +
            node("c", "Cast", {"exit_i"}, attr("SrcT", "type: DT_INT32") + attr("DstT", "type: DT_FLOAT")) +
            node("y", "AddV2", {"c", "x"}, kF),
        true, n);
    check_text("growing",
               kCount + variable("v", "x", kF) + invariant("x_in", "x", kF) + integer("axis", 0, {"^stay"}) +
                   node("rows", "ConcatV2", {"switch_v:1", "x_in", "axis"},
                        kF + kTwo + attr("Tidx", "type: DT_INT32")) +
                   next("v", "rows", kF) + node("y", "Identity", {"exit_v"}, kF),
               true, n);
    check_text("deeper",
               kCount + variable("v", "x", kF) + integer("axis", 0, {"^stay"}) +
                   node("rows", "ExpandDims", {"switch_v:1", "axis"}, kF + attr("Tdim", "type: DT_INT32")) +
                   next("v", "rows", kF) + node("y", "Identity", {"exit_v"}, kF),
               true, n);
    check_text("in each other",
               kCount + variable("v", "x", kF) + integer("inner_zero", 0, {"^stay"}) +
                   variable("j", "inner_zero", kI, "inner") + variable("w", "switch_v:1", kF, "inner") +
                   invariant("inner_limit", "switch_i:1", kI, "inner") +
                   node("inner_less", "Less", {"j", "inner_limit"}, kI) +
                   node("go_inner", "LoopCond", {"inner_less"}) + integer("inner_one", 1, {"^inner_stay"}) +
                   node("inner_stay", "Identity", {"switch_j:1"}, kI) +
                   node("inner_more", "AddV2", {"switch_j:1", "inner_one"}, kI) +
                   next("j", "inner_more", kI) + node("tanh", "Tanh", {"switch_w:1"}, kF) +
                   next("w", "tanh", kF) + invariant("x_in", "x", kF) +
                   node("sum", "AddV2", {"exit_w", "x_in"}, kF) + next("v", "sum", kF) +
                   node("y", "Identity", {"exit_v"}, kF),
               true, n);
  }
}

// It is empty at first and grows: below opset 14 a Reshape takes a size of 0 for another one.
TEST(ControlFlow, ACacheThatGrows) {
  const auto list = [](const std::string& name, const Ints& numbers) {
    std::string values;
    for (const std::int64_t i : numbers) values += " int_val: " + std::to_string(i);
    return node(name, "Const", {"^stay"}, attr("dtype", "type: DT_INT32") +
                attr("value", "tensor { dtype: DT_INT32 tensor_shape { dim { size: " + std::to_string(numbers.size()) + " } }" + values + " }"));
  };
  const std::string row = node("row", "Const", {"^stay"}, attr("dtype", "type: DT_FLOAT") +
                               attr("value", "tensor { dtype: DT_FLOAT tensor_shape { dim { size: 2 } dim { size: 3 } dim { size: 1 } dim { size: 4 } } float_val: 0.5 }"));
  const std::string flat = node("dims", "Shape", {"switch_v:1"}, kF + attr("out_type", "type: DT_INT32")) + list("at", {2}) + list("end", {3}) + list("step", {1}) +
                           node("k", "StridedSlice", {"dims", "at", "end", "step"}, kI + attr("Index", "type: DT_INT32") + attr("shrink_axis_mask", "i: 1")) +
                           integer("six", 6, {"^stay"}) + integer("four", 4, {"^stay"}) + node("sizes", "Pack", {"six", "k", "four"}, kI + attr("N", "i: 3")) +
                           node("flat", "Reshape", {"switch_v:1", "sizes"}, kF + attr("Tshape", "type: DT_INT32"));
  const std::string nodes = kCount + number("none", 0) + variable("v", "x", kF) + variable("w", "none", kF) + row + flat + list("axes", {0, 1, 2}) +
                            node("part", "Sum", {"flat", "axes"}, kF + attr("Tidx", "type: DT_INT32")) + node("sum", "AddV2", {"switch_w:1", "part"}, kF) + next("w", "sum", kF) +
                            integer("axis", 2, {"^stay"}) + node("rows", "ConcatV2", {"switch_v:1", "row", "axis"}, kF + kTwo + attr("Tidx", "type: DT_INT32")) + next("v", "rows", kF) +
                            node("y", "Identity", {"exit_w"}, kF);
  for (const std::int64_t k : {0, 2})
    graph_case("cache", [&](Builder& b) { text_graph(b, nodes, true, 3, {2, 3, k, 4}); }).only_opsets({11, 13, 14, 18, 26}).check();
}

// ---- functional forms

std::string function(const std::string& name, const Strings& args, const std::string& out_type,
                     const std::string& nodes, const std::string& result) {
  std::string s = "function { signature { name: '" + name + "'";
  for (const std::string& a : args)
    s += " input_arg { name: '" + a.substr(0, a.find(' ')) + "' type: " + a.substr(a.find(' ') + 1) + " }";
  std::string body = nodes;
  for (std::size_t at = 0; (at = body.find("node {", at)) != std::string::npos; at += 10)
    body.replace(at, 4, "node_def");
  return s + " output_arg { name: 'r' type: " + out_type + " } } " + body + " ret { key: 'r' value: '" +
         result + "' } }\n";
}
std::string library(const std::string& functions) { return "library { " + functions + "}\n"; }
std::string call(const std::string& key, const std::string& f) {
  return attr(key, "func { name: '" + f + "' }");
}
std::string types(const std::string& key, const std::string& list) {
  return attr(key, "list { " + list + " }");
}

const std::string kBranches =
    function("neg", {"a DT_FLOAT"}, "DT_FLOAT", node("b", "Neg", {"a"}, kF), "b:y:0") +
    function("exp", {"a DT_FLOAT"}, "DT_FLOAT", node("b", "Exp", {"a"}, kF), "b:y:0") +
    function("same", {"a DT_FLOAT"}, "DT_FLOAT", "", "a");
const std::string kOneFloat = types("Tin", "type: DT_FLOAT") + types("Tout", "type: DT_FLOAT");

TEST(ControlFlow, FunctionalIf) {
  for (const bool truth : {true, false})
    for (const char* op : {"If", "StatelessIf"})
      check_text(op,
                 library(kBranches) + node("y", op, {"p", "x"},
                                           kOneFloat + attr("Tcond", "type: DT_BOOL") +
                                               call("then_branch", "neg") + call("else_branch", "same")),
                 truth);
  for (const std::int32_t n : {0, 1, -2})
    check_text("a number as condition",
               library(kBranches) + node("y", "If", {"n", "x"},
                                         kOneFloat + attr("Tcond", "type: DT_INT32") +
                                             call("then_branch", "neg") + call("else_branch", "exp")),
               true, n);
  for (const int n : {0, 7})
    check_text("a condition that is known",
               library(kBranches) + integer("c", n) +
                   node("y", "If", {"c", "x"},
                        kOneFloat + attr("Tcond", "type: DT_INT32") + call("then_branch", "neg") +
                            call("else_branch", "same")));
}

// Both branches of the condition say yes: the sizes of the branch that is taken are known only then, and are constants.
TEST(ControlFlow, SizesBehindABranchThatIsAlwaysTaken) {
  const std::string yes = node("t", "Const", {}, attr("dtype", "type: DT_BOOL") + attr("value", "tensor { dtype: DT_BOOL tensor_shape { } bool_val: true }"));
  const std::string functions = function("yes", {"a DT_FLOAT"}, "DT_BOOL", yes, "t:output:0") +
                                function("first", {"a DT_FLOAT"}, "DT_FLOAT", integer("axis", 1) + node("b", "Sum", {"a", "axis:output:0"}, kF + attr("Tidx", "type: DT_INT32") + attr("keep_dims", "b: true")), "b:output:0");
  const std::string branches = types("Tin", "type: DT_FLOAT") + attr("Tcond", "type: DT_BOOL");
  const std::string nodes = library(kBranches + functions) +
                            node("go", "StatelessIf", {"p", "x"}, branches + types("Tout", "type: DT_BOOL") + call("then_branch", "yes") + call("else_branch", "yes")) +
                            node("v", "StatelessIf", {"go", "x"}, branches + types("Tout", "type: DT_FLOAT") + call("then_branch", "first") + call("else_branch", "same")) +
                            node("sizes", "Shape", {"v"}, kF + attr("out_type", "type: DT_INT32")) + integer("axis", 0) +
                            node("sum", "Sum", {"sizes", "axis"}, kI + attr("Tidx", "type: DT_INT32")) + node("count", "Cast", {"sum"}, attr("SrcT", "type: DT_INT32") + attr("DstT", "type: DT_FLOAT")) +
                            node("y", "Mul", {"v", "count"}, kF);
  for (const bool truth : {true, false})
    graph_case("sizes", [=](Builder& b) { text_graph(b, nodes, truth, 3); })
        .only_opsets({11, 13, 18, 26}).gives({{"If", 0}, {"Shape", 0}, {"Cast", 0}}).check();
}

TEST(ControlFlow, FunctionalWhile) {
  const std::string loop = function("below", {"i DT_INT32", "n DT_INT32", "v DT_FLOAT"}, "DT_BOOL",
                                    node("l", "Less", {"i", "n"}, kI), "l:z:0") +
                           "function { signature { name: 'round' input_arg { name: 'i' type: "
                           "DT_INT32 } input_arg { name: 'n' type: DT_INT32 } input_arg { name: 'v' type: "
                           "DT_FLOAT } output_arg { name: 'r' type: DT_INT32 } "
                           "output_arg { name: 's' type: DT_INT32 } output_arg { name: 't' type: DT_FLOAT } "
                           "} node_def { name: 'one' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 "
                           "} } attr { key: 'value' value { tensor { dtype: "
                           "DT_INT32 tensor_shape { } int_val: 1 } } } } node_def { name: 'a' op: 'AddV2' "
                           "input: 'i' input: 'one:output:0' attr { key: 'T' value { type: DT_INT32 } } } "
                           "node_def { name: 'b' op: 'Sin' input: 'v' attr { "
                           "key: 'T' value { type: DT_FLOAT } } } ret { key: 'r' value: 'a:z:0' } ret { key: "
                           "'s' value: 'n' } ret { key: 't' value: 'b:y:0' } }\n";
  for (const std::int32_t n : {0, 2})
    for (const char* op : {"While", "StatelessWhile"})
      check_text(op,
                 library(loop) + integer("zero", 0) +
                     node("w", op, {"zero", "n", "x"},
                          types("T", "type: DT_INT32 type: DT_INT32 type: DT_FLOAT") + call("cond", "below") +
                              call("body", "round")) +
                     node("y", "Identity", {"w:2"}, kF),
                 true, n);
}

// The greatest common divisor of two constants, as tf.signal computes it.
TEST(ControlFlow, WhileOverConstants) {
  const std::string step =
      "function { signature { name: 'step' input_arg { name: 'b' type: DT_INT32 } input_arg { name: 'a' type: "
      "DT_INT32 } output_arg { name: 'r' type: DT_INT32 } output_arg { name: 's' type: DT_INT32 } } node_def { "
      "name: 'm' op: 'FloorMod' input: 'a' input: 'b' attr { key: 'T' value { type: DT_INT32 } } } ret { key: "
      "'r' value: 'm:z:0' } ret { key: 's' value: 'b' } }\n";
  const std::string more =
      function("more", {"b DT_INT32", "a DT_INT32"}, "DT_BOOL",
               integer("zero", 0) + node("l", "Less", {"zero:output:0", "b"}, kI), "l:z:0");
  for (const int first : {160, 0, 7}) {
    const std::string nodes =
        library(more + step) + integer("first", first) + integer("second", 400) +
        node("w", "While", {"first", "second"},
             types("T", "type: DT_INT32 type: DT_INT32") + call("cond", "more") + call("body", "step")) +
        node("f", "Cast", {"w:1"}, attr("SrcT", "type: DT_INT32") + attr("DstT", "type: DT_FLOAT")) +
        node("y", "Mul", {"x", "f"}, kF);
    graph_case("divisor " + std::to_string(first), [=](Builder& b) { text_graph(b, nodes, true, 3); })
        .only_opsets({11, 13, 18, 26})
        .gives({{"Loop", 0}, {"Mod", 0}})
        .check();
  }
}

TEST(ControlFlow, FunctionalCase) {
  const std::string branches =
      attr("branches", "list { func { name: 'neg' } func { name: 'exp' } func { name: 'same' } }");
  for (const std::int32_t n : {0, 1, 2, 3, -1})
    for (const char* op : {"Case", "StatelessCase"})
      check_text(op, library(kBranches) + node("y", op, {"n", "x"}, kOneFloat + branches), true, n);
  for (const int n : {1, 5})
    check_text("an index that is known",
               library(kBranches) + integer("c", n) + node("y", "Case", {"c", "x"}, kOneFloat + branches));
}

// What changes nothing, so that ONNX Runtime drops it, and whoever reads it in a body with it.
TEST(ControlFlow, BodiesReadWhatIsCastThereAndBack) {
  const auto cast = [](const std::string& name, const std::string& of, const std::string& from, const std::string& to) {
    return node(name, "Cast", {of}, attr("SrcT", "type: DT_" + from) + attr("DstT", "type: DT_" + to));
  };
  const auto there_and_back = [&](const std::string& name, const std::string& of, const std::string& type, const std::string& wide) {
    return cast(name + "_wide", of, type, wide) + cast(name, name + "_wide", wide, type);
  };
  const std::string none = node("none", "Const", {}, attr("dtype", "type: DT_INT32") +
                                attr("value", "tensor { dtype: DT_INT32 tensor_shape { dim { size: 0 } } }"));
  const std::string branches = node("sv", "Switch", {"v", "p"}, kF) + node("t", "Exp", {"sv:1"}, kF) + node("f", "Neg", {"sv"}, kF) +
                               node("y", "Merge", {"f", "t"}, kF + kTwo);
  check_text("floats in a branch", there_and_back("v", "x", "FLOAT", "DOUBLE") + branches);
  check_text("floats that become integers in a branch", there_and_back("v", "x", "FLOAT", "INT32") + branches);
  const std::string round = variable("v", "x", kF) + invariant("c_in", "c", kF) + node("sum", "AddV2", {"switch_v:1", "c_in"}, kF) +
                            next("v", "sum", kF) + node("y", "Identity", {"exit_v"}, kF);
  check_text("floats in a loop", kCount + there_and_back("c", "x", "FLOAT", "DOUBLE") + round);
  std::string limit = kCount;
  const auto at = limit.find("input: 'n'");
  limit.replace(at, 10, "input: 'm'");
  const std::string sum = node("sum", "AddV2", {"switch_v:1", "switch_v:1"}, kF) + next("v", "sum", kF) + node("y", "Identity", {"exit_v"}, kF);
  check_text("integers in the condition of a loop", there_and_back("m", "n", "INT32", "INT64") + limit + variable("v", "x", kF) + sum);
  check_text("integers that are summed over no axes",
             none + node("m", "Sum", {"n", "none"}, kI + attr("Tidx", "type: DT_INT32")) + limit + variable("v", "x", kF) + sum);
  const std::string number_of_truth = there_and_back("q", "p", "BOOL", "INT32");
  check_text("a truth in a loop", kCount + number_of_truth + variable("v", "x", kF) + invariant("q_in", "q", kB) +
                                      node("pick", "SelectV2", {"q_in", "switch_v:1", "switch_v:1"}, kF) +
                                      node("sum", "AddV2", {"pick", "switch_v:1"}, kF) + next("v", "sum", kF) + node("y", "Identity", {"exit_v"}, kF));
}

// A gradient makes lists like those of the loop before it.
TEST(ControlFlow, WhatListsOfLoopsWereMadeWith) {
  const std::string kV = attr("T", "type: DT_VARIANT"), kFloats = attr("element_dtype", "type: DT_FLOAT");
  const std::string made = node("dims", "Const", {}, attr("dtype", "type: DT_INT32") +
                                attr("value", "tensor { dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: -1 int_val: 3 }")) +
                           integer("five", 5) +
                           node("made", "TensorListReserve", {"dims", "five"}, kFloats + attr("shape_type", "type: DT_INT32"));
  const std::string written = invariant("x_in", "x", kF) +
                              node("written", "TensorListSetItem", {"switch_l:1", "switch_i:1", "x_in"}, kFloats) + next("l", "written", kV);
  const auto sum_of_shape = [&](const std::string& name, const std::string& list, const Strings& control) {
    return integer(name + "_axis", 0, control) + node(name + "_s", "TensorListElementShape", {list}, attr("shape_type", "type: DT_INT32")) +
           node(name + "_f", "Cast", {name + "_s"}, attr("SrcT", "type: DT_INT32") + attr("DstT", "type: DT_FLOAT")) +
           node(name, "Sum", {name + "_f", name + "_axis"}, kF + attr("Tidx", "type: DT_INT32"));
  };
  const std::string nodes = kCount + made + variable("l", "made", kV) + variable("v", "x", kF) + written +
                            sum_of_shape("in", "switch_l:1", {"^stay"}) + node("sum", "AddV2", {"switch_v:1", "in"}, kF) + next("v", "sum", kF) +
                            sum_of_shape("out", "exit_l", {}) + node("y", "Mul", {"exit_v", "out"}, kF);
  graph_case("element shapes of a loop's list", [&](Builder& b) { text_graph(b, nodes, true, 3); }).only_opsets({11, 13, 18, 26}).without({Mode::rank}).check();
}

}  // namespace
}  // namespace t2o::numeric
