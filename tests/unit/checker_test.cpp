#include "onnx/checker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/nesting.h"
#include "ir/text.h"

namespace t2o::onnx {
namespace {

Diagnostics check_text(const std::string& text, int opset = 21) {
  return check(*ir::parse_graph(text), {.target = make_target(opset)});
}

std::string only_message(const std::string& text, int opset = 21) {
  const Diagnostics ds = check_text(text, opset);
  return ds.size() == 1 ? ds[0].message : std::to_string(ds.size()) + " diagnostics";
}

TEST(Checker, AcceptsAValidModel) {
  EXPECT_TRUE(check_text(R"(graph {
    input %x: f32[n,3]
    input %c: bool[]
    const %w: f32[3,2] = splat 1
    %y: f32[n,2] = MatMul(%x, %w)
    %z: f32[*] = If(%c) {then_branch=graph { %t: f32[n,2] = Relu(%y) output %t },
                         else_branch=graph { const %e: f32 = 1 output %e }}
    %q: f32[*] = com.example::Anything(%z, _) {what="ever"}
    output %q
  })").empty());
}

TEST(Checker, FindsEveryInvalidNodeAndItsOrigin) {
  const Diagnostics ds = check_text(R"(graph {
    input %x: f32[]
    %a: f32[] = Erfc(%x) @"layer/erfc" "Erfc"
    %b: f32[] = Add(%a)
    %c: f32[] = Relu(%b) {alpha=1.0}
    %d: f32[] = Concat(%c, %c) {axis=1.0}
    %e: f32[] = Softmax(%d, %d)
    %f: f32[] = Cast(%e)
    output %f
  })");
  ASSERT_EQ(ds.size(), 6U);
  EXPECT_EQ(ds[0].message, "Erfc 'a' is not a valid ONNX node: opset 21 has no such operator");
  EXPECT_EQ(ds[0].origin.node, "layer/erfc");
  EXPECT_NE(ds[2].message.find("Unrecognized attribute: alpha"), std::string::npos) << ds[2].message;
  EXPECT_NE(ds[5].message.find("Required attribute 'to' is missing"), std::string::npos) << ds[5].message;
}

// What no row has used drop_meanings removes (onnx/meaning.h).
TEST(Checker, RefusesInternalAttributes) {
  const std::string message = only_message(R"(graph { input %x: f32[2]
    %y: f32[] = ReduceMax(%x) {keepdims=0, t2o.nan="keeps"} output %y })");
  EXPECT_NE(message.find("Unrecognized attribute: t2o.nan"), std::string::npos) << message;
}

TEST(Checker, KnowsTheOpset) {
  const std::string gelu = "graph { input %x: f32[2] %y: f32[2] = Gelu(%x) output %y }";
  EXPECT_TRUE(check_text(gelu, 20).empty());
  EXPECT_EQ(only_message(gelu, 19), "Gelu 'y' is not a valid ONNX node: opset 19 has no such operator");
}

TEST(Checker, LooksIntoSubgraphs) {
  EXPECT_EQ(only_message(R"(graph {
    input %c: bool[]
    %z: f32[] = If(%c) {then_branch=graph { const %a: f32 = 1 output %a }, else_branch=graph { %e: f32[] = Nope() output %e }}
    output %z
  })"), "Nope 'e' is not a valid ONNX node: opset 21 has no such operator");
}

TEST(Checker, ChecksTypes) {
  EXPECT_EQ(only_message("graph { input %x: f32[] input %i: i64[] %y: f32[] = Add(%x, %i) output %y }"),
            "Add 'y' is not a valid ONNX node: input 1 ('i', i64) has another type than the other inputs of T, f32");
  EXPECT_EQ(only_message("graph { input %x: bool[] %y: bool[] = Relu(%x) output %y }"),
            "Relu 'y' is not a valid ONNX node: input 0 ('x', bool) has a type that is not among those of T");
  EXPECT_EQ(only_message("graph { input %x: f32[] %y = Relu(%x) output %y }"), "'%y' has no element type");
}

TEST(Checker, KnowsWhichOpsetTakesAType) {
  const Diagnostics ds = check_text("graph { input %x: bf16[] %y: bf16[] = Identity(%x) output %y }", 11);
  ASSERT_EQ(ds.size(), 1U);
  EXPECT_EQ(ds[0].code, Code::opset_too_low);
  EXPECT_EQ(ds[0].message, "Identity of bf16 needs opset 13");
  EXPECT_EQ(ds[0].remedy, "--opset 13 or above");
}

std::string conditional_of(const std::string& type) {
  return "graph { input %c: bool[] input %x: " + type + "[2] %y: " + type + "[2] = If(%c) {then_branch=graph a { %t: " + type +
         "[2] = Relu(%x) output %t }, else_branch=graph b { %e: " + type + "[2] = Abs(%x) output %e }} output %y }";
}

// An If has its types in its outputs alone; what it cannot give may be cast around it.
TEST(Checker, KnowsTheTypesOfOutputs) {
  EXPECT_TRUE(check_text(conditional_of("bf16"), 16).empty());
  const auto of_if = [](const Diagnostics& ds) {
    return std::find_if(ds.begin(), ds.end(), [](const Diagnostic& d) { return d.message.starts_with("If"); })->message;
  };
  EXPECT_EQ(of_if(check_text(conditional_of("bf16"), 12)), "If of bf16 needs opset 13");
  EXPECT_EQ(of_if(check_text(conditional_of("f8e5m2"), 16)), "If of f8e5m2 needs opset 19");
  EXPECT_EQ(of_if(check_text(conditional_of("i4"), 19)), "If of i4 needs opset 21");
  EXPECT_EQ(only_message("graph { input %x: f32[2] %y: i32[1] = Shape(%x) output %y }"),
            "Shape 'y' is not a valid ONNX node: output 0 ('y', i32) has a type that is not among those of T1");
  EXPECT_EQ(only_message("graph { input %x: f32[2] %y: f64[2] = Neg(%x) output %y }"),
            "Neg 'y' is not a valid ONNX node: output 0 ('y', f64) has another type than the other inputs of T, f32");
  EXPECT_EQ(only_message("graph { input %x: f32[2] input %z: f64[2] %y: f32[4] = Concat(%x, %z) {axis=0} output %y }"),
            "Concat 'y' is not a valid ONNX node: input 1 ('z', f64) has another type than the other inputs of T, f32");
  EXPECT_EQ(only_message("graph { input %x: f32[2] input %d: i32[1] %y: f32[*] = Reshape(%x, %d) output %y }"),
            "Reshape 'y' is not a valid ONNX node: input 1 ('d', i32) is not of type i64");
}

TEST(Checker, ComparesTheTypesOfBodies) {
  EXPECT_EQ(only_message(R"(graph {
    input %c: bool[]
    input %x: f32[2]
    %y: f32[2] = If(%c) {then_branch=graph a { %t: f32[2] = Relu(%x) output %t },
                         else_branch=graph b { %e: f64[2] = Cast(%x) {to=f64} output %e }}
    output %y
  })"), "If 'y' is not a valid ONNX node: graph 'b' has no output of the type of output 0, f32");
  const std::string body = "{body=graph a { input %i: i64[] input %g: bool[] input %b: f64[] %k: bool[] = Identity(%g) %d: f64[] = Neg(%b) output %k, %d }}";
  EXPECT_EQ(check_text("graph { input %n: i64[] input %c: bool[] input %x: f32[] %y: f32[] = Loop(%n, %c, %x) " + body + " output %y }").size(), 2U);
  EXPECT_TRUE(check_text("graph { input %n: i64[] input %c: bool[] input %x: f64[] %y: f64[] = Loop(%n, %c, %x) " + body + " output %y }").empty());
}

TEST(Checker, ChecksTheInterface) {
  EXPECT_EQ(only_message("graph { input %x: f32[] }"), "graph 'graph' has no outputs");
  EXPECT_EQ(only_message("graph { input %x: f32[] output %x, %x }"), "graph output 'x' is listed twice");
}

TEST(Checker, ReadsNoWeights) {
  ir::Graph g;
  const auto weights = computed_storage(4000, [](auto) { FAIL(); });
  Value* w = g.add_constant("w", std::make_shared<Tensor>(DType::f32, Ints{1000}, weights));
  ir::Node& n = g.add({.op = "Relu", .inputs = {w}, .outputs = {{"y", DType::f32, Shape(Ints{1000})}}});
  g.set_outputs(n.outputs());
  EXPECT_TRUE(check(g, {.target = make_target(13)}).empty());
}

TEST(Checker, RefusesNestingThatNoReaderTakes) {
  std::string text = "graph { input %c: bool[] ", end;
  for (int i = 0; i <= ir::kDeepestNesting; ++i) {
    const std::string y = "%y" + std::to_string(i);
    text += y + ": bool[] = If(%c) {then_branch=graph { ";
    end = " }} output " + y + end;
  }
  EXPECT_THROW(check_text(text + "output %c" + end + " }"), ConversionError);
}

}  // namespace
}  // namespace t2o::onnx
