#include "ir/text.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

namespace t2o::ir {
namespace {

std::string message_of(std::string_view text) {
  try {
    parse_graph(text, "test");
  } catch (const ConversionError& e) {
    EXPECT_EQ(e.diagnostic().code, Code::bad_file);
    return e.diagnostic().message;
  }
  return "parsed";
}

// What the parser makes of the text prints as the same text.
void expect_fixpoint(const std::string& text) {
  const TextOptions all = {.origins = true, .known_elements = true};
  EXPECT_EQ(to_text(*parse_graph(text), all), text);
}

std::string in_graph(const std::string& line) { return "graph g onnx {\n  " + line + "\n}\n"; }

TEST(IrText, ReadsLikeTheFormulaItIs) {
  const GraphPtr g = parse_graph(R"(
graph mnist onnx {
  input %x: f32[batch,784]
  const %w: f32[784,10] = splat 0.5
  %y: f32[batch,10] = MatMul(%x, %w) {transA=0}
  output %y
})");
  EXPECT_EQ(g->name(), "mnist");
  ASSERT_EQ(g->inputs().size(), 1U);
  EXPECT_EQ(g->symbols().name(g->inputs()[0]->shape()[0]), "batch");
  ASSERT_EQ(g->constants().size(), 1U);
  EXPECT_EQ(g->constants()[0]->constant()->float_at(7839), 0.5);
  ASSERT_EQ(g->node_count(), 1U);
  EXPECT_EQ(g->first()->op(), "MatMul");
  EXPECT_EQ(g->first()->name(), "y");
  EXPECT_EQ(*g->first()->attr_if<std::int64_t>("transA"), 0);
  EXPECT_EQ(g->outputs(), g->first()->outputs());
}

TEST(IrText, RoundTripsStructure) {
  expect_fixpoint(R"(graph "a graph" tf {
  input %x: f32[batch,?,3]
  input %"odd name%": string[*]
  input %s: variant[]
  input %untyped: undefined[*]
  %a: f32[2], %b: i64[2]<3,?,batch>, %c = TopK(%x, _, %s) {axis=-1} @"n" "TopKV2" in "f"
  %d:0 = "odd op" "node/d"(%c, %a) @"n" "Op"
  %e = com.microsoft::Gelu(%b)
  NoOp "sink"(%"odd name%")
  "output" "n"()
  output %a, %d:0, %x
}
)");
}

TEST(IrText, RoundTripsEveryKindOfAttribute) {
  for (const char* value :
       {"-7", "9223372036854775807", "1.5", "1.0", "-0.0", "1e+30", "inf", "-inf", "nan", "nan(0x7fc00001)", "\"a\\\"\\n\\x00\\xff\"",
        "[]", "[1, -2]", "floats[]", "[1.0, nan, 2.5]", "strings[]", "[\"a\", \"\"]", "f32", "string", "undefined", "dtypes[]",
        "[f32, bool]", "shape[]", "shape[*]", "shape[2,?,n]", "shapes[]", "[shape[2], shape[*]]", "const f32[2] = [1, 2]",
        "func \"f\"", "func \"f\" {a=1, g=func \"h\" {T=f32}}", "[func \"f\", func \"g\"]", "funcs[]", "graphs[]"})
    expect_fixpoint(in_graph(std::string("%y = Op() {a=") + value + ", \"odd name\"=1}"));
}

TEST(IrText, RoundTripsSubgraphs) {
  expect_fixpoint(R"(graph g onnx {
  input %c: bool[]
  input %x: f32[]
  %y: f32[] = If(%c) {then_branch=graph then {
    const %one: f32[] = 1
    %a: f32[] = Add(%x, %one)
    output %a
  }, else_branch=graph else {
    %b = If(%c) {branches=[graph p {
      output %x
    }, graph q tflite {
    }]}
    output %b
  }}
  output %y
}
)");
}

TEST(IrText, RoundTripsConstants) {
  for (const char* value :
       {"f32[] = 1.5", "f32[4] = [-0, inf, -inf, 1e-45]", "f32[2] = [nan, nan(0x7fc00001)]", "f64[2] = [0.1, nan]",
        "f64[] = nan(0x7ff8000000000002)", "f16[3] = [0.5, 65504, nan]", "f16[] = nan(0x7e01)", "bf16[2] = [1, nan]",
        "i8[2] = [-128, 127]", "u64[1] = [18446744073709551615]", "i64[1] = [-9223372036854775808]", "bool[2] = [true, false]",
        "bool[2] = dense<0201>", "i4[3] = [-8, 7, 1]", "u4[3] = [15, 0, 1]", "i2[5] = [-2, 1, 0, -1, 1]", "qi8[1] = [-3]",
        "string[2] = [\"a\", \"\\xe2\"]", "string[] = \"x\"", "f32[0] = []", "f32[2,0] = []", "c64[1] = dense<0000803f00000040>",
        "f8e4m3fn[2] = dense<01ff>", "i32[3,3] = splat 7", "c64[3,3] = splat dense<0000803f00000040>",
        "i32[1,8] = [7, 7, 7, 7, 7, 7, 7, 7]"})
    expect_fixpoint(in_graph(std::string("const %c: ") + value));
}

TEST(IrText, BigConstantsPrintAsBytesOrNotAtAll) {
  Graph g;
  std::vector<float> v(65);
  v[1] = 1;
  g.add_constant("c", Tensor::of<float>({65}, v));
  const std::string text = to_text(g);
  EXPECT_NE(text.find("dense<000000000000803f0000"), std::string::npos);
  EXPECT_TRUE(same_content(*parse_graph(text)->constants()[0]->constant(), *g.constants()[0]->constant()));
  EXPECT_EQ(to_text(g, {.elide_above = 259}), "graph graph onnx {\n  const %c: f32[65] = #elided\n}\n");
  EXPECT_EQ(message_of(to_text(g, {.elide_above = 259})), "test:2:23: an elided constant cannot be read back");
}

TEST(IrText, ElidedConstantsAreNotRead) {
  Graph g;
  g.add_constant("c", std::make_shared<Tensor>(DType::u8, Ints{1000}, computed_storage(1000, [](auto) { FAIL(); })));
  to_text(g, {.elide_above = 100});
}

TEST(IrText, ShorthandsForHandWriting) {
  const GraphPtr g = parse_graph(R"(graph {  // no name, no dialect
  input %x: float32[2,5]
  const %axes: i64 = [0, 1]
  const %half: f32 = 0.5
  %y = Reshape(%x, const i64 = [-1, 10]) {allowzero=true, scales=[1, 2.5]}
  output %y
})");
  EXPECT_EQ(g->constants()[0]->shape(), Shape(Ints{2}));
  EXPECT_EQ(g->constants()[1]->shape(), Shape::scalar());
  EXPECT_EQ(g->first()->input(1)->constant()->to_ints(), (Ints{-1, 10}));
  EXPECT_EQ(*g->first()->attr_if<std::int64_t>("allowzero"), 1);
  EXPECT_EQ(*g->first()->attr_if<Floats>("scales"), (Floats{1, 2.5}));
  EXPECT_EQ(g->dialect(), "onnx");
  EXPECT_FALSE(g->first()->output()->shape().ranked());
}

TEST(IrText, LoopsMayReadWhatComesLater) {
  expect_fixpoint(R"(graph g tf {
  input %x: i32[]
  %m = Merge(%x, %n)
  %n = NextIteration(%m)
  output %m
}
)");
}

TEST(IrText, ErrorsNameLineAndColumn) {
  EXPECT_EQ(message_of("grph"), "test:1:1: expected 'graph'");
  EXPECT_EQ(message_of("graph g onnx {\n  %y = Add(%x, %x)\n}"), "test:2:12: '%x' is not defined");
  EXPECT_EQ(message_of("graph {\n  input %x: f32[2\n}"), "test:3:1: expected ']'");
  EXPECT_EQ(message_of("graph {\n  input %x: f33[2]\n}"), "test:2:13: there is no element type 'f33'");
  EXPECT_EQ(message_of("graph {\n  input %x: f32[]\n  input %x: f32[]\n}"), "test:3:9: '%x' is defined twice");
  EXPECT_EQ(message_of("graph {\n  output %q\n}"), "test:2:10: '%q' is not defined");
  EXPECT_EQ(message_of("graph {} x"), "test:1:10: expected nothing after the graph");
  EXPECT_EQ(message_of("graph {\n  A() {a=1, a=2}\n}"), "test:2:13: attribute 'a' stands here twice");
  EXPECT_EQ(message_of("graph {\n  A() {a=relu}\n}"), "test:2:10: 'relu' is not a value; strings need quotes");
  EXPECT_EQ(message_of("graph {\n  A() {a=[1, \"b\"]}\n}").substr(0, 9), "test:2:11");
  EXPECT_EQ(message_of("graph {\n  const %c: f32[3] = [1, 2]\n}"), "test:2:13: there are 2 elements, which do not fit the shape");
  EXPECT_EQ(message_of("graph {\n  const %c: u8 = 256\n}"), "test:2:18: the number is no u8");
  EXPECT_EQ(message_of("graph {\n  const %c: f32[1] = dense<00>\n}"), "test:2:13: the bytes do not fit the shape");
  EXPECT_EQ(message_of("graph { A() {a=graph { %t = B() }} C(%t) }"),
            "test:1:38: '%t' is inside of a subgraph and not visible here");
}

TEST(IrText, HostileTextIsRefused) {
  std::string deep = "graph {";
  for (int i = 0; i < 100'000; ++i) deep += "A() {a=graph {";
  EXPECT_NE(message_of(deep).find("nested too deep"), std::string::npos);
  std::string functions = "graph { A() {a=";
  for (int i = 0; i < 100'000; ++i) functions += "func \"f\" {a=";
  EXPECT_NE(message_of(functions).find("nested too deep"), std::string::npos);
  EXPECT_NE(message_of("graph { A() {a=" + std::string(100'000, '[')).find("cannot hold a list"), std::string::npos);
  EXPECT_NE(message_of(in_graph("const %c: f32[9223372036854775807,9] = splat 1")).find("too big"), std::string::npos);
  EXPECT_NE(message_of(in_graph("const %c: f32[99999999999] = splat 1")).find("too big"), std::string::npos);
  EXPECT_NE(message_of(in_graph("const %c: f32[99999999999999999999] = splat 1")).find("expected a size"), std::string::npos);
  EXPECT_NE(message_of(in_graph("const %c: string[9] = dense<>")).find("do not fit"), std::string::npos);
  for (const char* text : {"", "graph", "graph \"", "graph {", "graph { %", "graph { %x", "graph { A(", "graph { A() {a=\"\\",
                           "graph { A() {a=-", "graph { A() {a=nan(0x", "graph { const %c: f32 = dense<0", "graph { A() @"})
    EXPECT_NE(message_of(text), "parsed") << text;
}

TEST(IrText, EveryPrefixOfATextIsRefused) {
  const std::string text =
      "graph g onnx { input %x: f32[n,?] const %c: f32[2] = [1, nan(0x7fc00001)] %y: f32[2], %z = A \"n\"(%x, _, const i64 = 1) "
      "{a=[f32], b=graph { output %x }, c=func \"f\" {d=shape[*]}} @\"a\" \"b\" in \"c\" output %y }";
  for (std::size_t n = 0; n < text.size(); ++n) EXPECT_NE(message_of(std::string_view(text).substr(0, n)), "parsed") << n;
  EXPECT_EQ(message_of(text), "parsed");
}

}  // namespace
}  // namespace t2o::ir
