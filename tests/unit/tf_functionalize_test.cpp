#include "tf/functionalize.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "ir/verify.h"

namespace t2o::tf {
namespace {

GraphPtr functional(const std::string& text) {
  GraphPtr g = ir::parse_graph(text);
  functionalize(*g);
  g->erase_dead();
  for (const Diagnostic& d : ir::verify_graph(*g)) ADD_FAILURE() << to_string(d);
  return g;
}

std::string refusal(const std::string& text) {
  try {
    functionalize(*ir::parse_graph(text));
  } catch (const ConversionError& e) {
    return e.what();
  }
  return "";
}

// "Neg StatelessIf{Add|Sub}"
std::string ops(const ir::Graph& g) {
  std::string s;
  for (const ir::Node& n : g.nodes()) {
    s += (s.empty() ? "" : " ") + n.op();
    std::string inner;
    ir::for_each_subgraph(n, [&](const ir::Graph& sub) { inner += (inner.empty() ? "{" : "|") + ops(sub); });
    if (!inner.empty()) s += inner + "}";
  }
  return s;
}

bool mentions(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

std::string variable(const std::string& n, const std::string& init, const std::string& frame = "f") {
  return "%e" + n + ": i32[] = Enter(" + init + ") {frame_name=\"" + frame +
         "\", is_constant=0, parallel_iterations=10, T=i32}\n%m" + n + ": i32[], %i" + n +
         ": i32[] = Merge(%e" + n + ", %n" + n + ") {N=2, T=i32}\n";
}
std::string invariant(const std::string& n, const std::string& of, const std::string& frame = "f") {
  return "%" + n + ": i32[] = Enter(" + of + ") {frame_name=\"" + frame +
         "\", is_constant=1, parallel_iterations=10, T=i32}\n";
}
std::string step(const std::string& n, const std::string& cond, const std::string& body) {
  return "%s" + n + ": i32[], %t" + n + ": i32[] = Switch(%m" + n + ", " + cond + ") {T=i32}\n" + body +
         "\n%n" + n + ": i32[] = NextIteration(%b" + n + ") {T=i32}\n%x" + n + ": i32[] = Exit(%s" + n +
         ") {T=i32}\n";
}
const std::string kLess = "%less: bool[] = Less(%m0, %limit) {T=i32}\n%lc: bool[] = LoopCond(%less)\n";
std::string graph(const std::string& body, const std::string& outputs) {
  return "graph g tf {\ninput %a: i32[]\ninput %b: i32[]\ninput %p: bool[]\ninput %q: bool[]\n" + body +
         "output " + outputs + "\n}";
}

TEST(Functionalize, AFrameIsAWhile) {
  const GraphPtr g = functional(graph(variable("0", "%a") + invariant("limit", "%b") + kLess +
                                          step("0", "%lc", "%b0: i32[] = Add(%t0, const i32 = 3) {T=i32}"),
                                      "%x0"));
  EXPECT_EQ(ops(*g), "StatelessWhile{Less|Add Identity}");
  const ir::Node& loop = *g->first();
  EXPECT_EQ(loop.output(0)->name(), "x0");  // the graph's output keeps its name
  EXPECT_EQ(loop.input(0)->name(), "a");
  EXPECT_EQ(loop.input(1)->name(), "b");
  const ir::Graph& body = **loop.attr_if<GraphPtr>("body");
  EXPECT_EQ(body.first()->input(0), body.inputs()[0]);
  EXPECT_EQ(body.last()->input(0), body.inputs()[1]);  // an invariant is handed on
  EXPECT_EQ(*loop.attr_if<DTypes>("T"), (DTypes{DType::i32, DType::i32}));
}

TEST(Functionalize, VariablesMayBeExchanged) {
  const GraphPtr g = functional(graph(variable("0", "%a") + variable("1", "%b") + invariant("limit", "%b") +
                                          kLess + step("0", "%lc", "%b0: i32[] = Add(%t0, %t1) {T=i32}") +
                                          "%s1: i32[], %t1: i32[] = Switch(%m1, %lc) {T=i32}\n%n1: i32[] = "
                                          "NextIteration(%t0)\n%x1: i32[] = Exit(%s1)\n",
                                      "%x0, %x1"));
  EXPECT_EQ(ops(*g), "StatelessWhile{Less|Add Identity Identity}");
  const ir::Graph& body = **g->first()->attr_if<GraphPtr>("body");
  EXPECT_EQ(body.outputs()[1]->producer()->input(0), body.inputs()[0]);
}

TEST(Functionalize, WhatTheConditionComputesIsMadeInBothGraphs) {
  const GraphPtr g = functional(graph(variable("0", "%a") + invariant("limit", "%b") +
                                          "%neg: i32[] = Neg(%m0) {T=i32}\n%less: bool[] = Less(%neg, "
                                          "%limit) {T=i32}\n%lc: bool[] = LoopCond(%less)\n" +
                                          "%sneg: i32[], %tneg: i32[] = Switch(%neg, %lc)\n" +
                                          step("0", "%lc", "%b0: i32[] = Add(%t0, %tneg) {T=i32}") +
                                          "%xneg: i32[] = Exit(%sneg)\n",
                                      "%x0, %xneg"));
  EXPECT_EQ(ops(*g),
            "StatelessWhile{Neg Less|Neg Add Identity} Neg");  // the last one once more behind the loop
}

TEST(Functionalize, FramesInFrames) {
  const std::string inner =
      invariant("in_limit", "%t0", "in") + variable("5", "%t0", "in") +
      "%in_less: bool[] = Less(%m5, %in_limit) {T=i32}\n%in_lc: bool[] = LoopCond(%in_less)\n" +
      step("5", "%in_lc", "%b5: i32[] = Mul(%t5, const i32 = 2) {T=i32}");
  const std::string outer = variable("0", "%a") + invariant("limit", "%b") + kLess +
                            step("0", "%lc", inner + "%b0: i32[] = Add(%t0, %x5) {T=i32}");
  EXPECT_EQ(ops(*functional(graph(outer, "%x0"))),
            "StatelessWhile{Less|StatelessWhile{Less|Mul Identity} Add Identity}");
  // An inner loop of constants depends on no round of the outer one.
  std::string free = outer;
  for (std::size_t at; (at = free.find("Enter(%t0)")) != std::string::npos;)
    free.replace(at, 10, "Enter(const i32 = 1)");
  EXPECT_EQ(ops(*functional(graph(free, "%x0")))
                .find("StatelessWhile{Less|StatelessWhile{Less|Mul Identity} Add Identity}"),
            0U);
}

std::string frames(int depth, int i = 0) {
  const std::string n = std::to_string(i), from = i == 0 ? "%a" : "%t" + std::to_string(i - 1);
  const bool deepest = i + 1 == depth;
  return variable(n, from, "f" + n) + "%less" + n + ": bool[] = Less(%m" + n + ", %m" + n + ") {T=i32}\n%lc" + n + ": bool[] = LoopCond(%less" + n + ")\n" +
         step(n, "%lc" + n, (deepest ? "" : frames(depth, i + 1)) + "%b" + n + ": i32[] = Neg(" + (deepest ? "%t" + n : "%x" + std::to_string(i + 1)) + ") {T=i32}");
}

TEST(Functionalize, FramesAreNestedToALimit) {
  EXPECT_TRUE(mentions(ops(*functional(graph(frames(30), "%x0"))), "StatelessWhile{Less|StatelessWhile{"));
  EXPECT_TRUE(mentions(refusal(graph(frames(31), "%x0")), "nested more than 30 deep"));
}

TEST(Functionalize, LoopsBesideAndBehindEachOther) {
  const std::string one = variable("0", "%a") + invariant("limit", "%b") + kLess +
                          step("0", "%lc", "%b0: i32[] = Add(%t0, const i32 = 3) {T=i32}");
  const std::string two = invariant("limit2", "%b", "h") + variable("1", "%x0", "h") +
                          "%less2: bool[] = Less(%m1, %limit2) {T=i32}\n%lc2: bool[] = LoopCond(%less2)\n" +
                          step("1", "%lc2", "%b1: i32[] = Mul(%t1, const i32 = 2) {T=i32}");
  const GraphPtr g = functional(graph(one + two, "%x0, %x1"));
  EXPECT_EQ(ops(*g), "StatelessWhile{Less|Add Identity} StatelessWhile{Less|Mul Identity}");
  EXPECT_EQ(g->last()->input(0), g->first()->output(0));
}

TEST(Functionalize, RefusesBrokenFrames) {
  const std::string start = variable("0", "%a") + invariant("limit", "%b");
  const std::string add = "%b0: i32[] = Add(%m0, const i32 = 3) {T=i32}\n%n0: i32[] = NextIteration(%b0)\n";
  EXPECT_TRUE(mentions(refusal(graph(start + add + "%y: i32[] = Neg(%m0)\n", "%y")), "has no condition"));
  EXPECT_TRUE(mentions(
      refusal(graph(
          start + kLess + add + "%y: i32[] = Exit(%m0)\n%s0: i32[], %t0: i32[] = Switch(%m0, %lc)\n", "%y")),
      "does not read the false side"));
  EXPECT_TRUE(
      mentions(refusal(graph(start + kLess + step("0", "%lc", "%b0: i32[] = Add(%t0, %s0) {T=i32}"), "%x0")),
               "which is the way out of loop 'f'"));
  EXPECT_TRUE(
      mentions(refusal(graph(start + kLess + step("0", "%lc", "%b0: i32[] = Add(%t0, %i0) {T=i32}"), "%x0")),
               "value_index"));
  EXPECT_TRUE(
      mentions(refusal(graph("%m: i32[], %i: i32[] = Merge(%a, %n)\n%n: i32[] = NextIteration(%m)\n", "%m")),
               "without an Enter"));
  EXPECT_TRUE(
      mentions(refusal(graph("%y: i32[] = Enter(%a) {frame_name=\"f\"}\n", "%y")), "not part of any loop"));
  EXPECT_TRUE(mentions(
      refusal(graph(start + kLess + step("0", "%lc", "%b0: i32[] = Add(%t0, const i32 = 1) {T=i32}") +
                        "%y: i32[] = Neg(%t0)\n",
                    "%x0, %y")),
      "not part of any loop"));
}

const std::string kSwitch = "%f: i32[], %t: i32[] = Switch(%a, %p) {T=i32}\n";

TEST(Functionalize, ASwitchAndItsMergesAreAnIf) {
  const GraphPtr g =
      functional(graph(kSwitch + "%u: i32[] = Neg(%t)\n%v: i32[] = Abs(%f)\n%w: i32[] = Sign(%f)\n%m: i32[], "
                                 "%i: i32[] = Merge(%v, %u)\n%m2: i32[], %i2: i32[] = Merge(%w, %t)\n",
                       "%m, %m2, %i"));
  EXPECT_EQ(ops(*g), "StatelessIf{Neg Identity Identity|Abs Sign Identity}");
  const ir::Node& n = *g->first();
  EXPECT_EQ(n.input_count(), 2U);
  EXPECT_EQ(n.input(0)->name(), "p");
  EXPECT_EQ(n.input(1)->name(), "a");
  EXPECT_EQ(n.output(0)->name(), "m");
  EXPECT_EQ(n.output(2)->name(), "i");  // which input of the Merge it was
  const ir::Graph& taken = **n.attr_if<GraphPtr>("then_branch");
  EXPECT_EQ(taken.outputs()[2]->producer()->input(0)->constant()->to_ints(), Ints{1});
}

TEST(Functionalize, ConstantsBelongWhereTheirControlEdgesSay) {
  const std::string sides =
      "%c: i32[] = \"t2o.Guarded\"(const i32 = 5, %f)\n%d: i32[] = \"t2o.Guarded\"(const i32 = 7, %t)\n";
  const GraphPtr g = functional(graph(kSwitch + sides + "%m: i32[], %i: i32[] = Merge(%d, %c)\n", "%m"));
  EXPECT_EQ(ops(*g), "StatelessIf{Identity|Identity}");
  const ir::Graph& taken = **g->first()->attr_if<GraphPtr>("then_branch");
  EXPECT_EQ(taken.first()->input(0)->constant()->to_ints(), Ints{7});
  // One side is enough.
  EXPECT_EQ(ops(*functional(graph(kSwitch + "%m: i32[], %i: i32[] = Merge(const i32 = 3, %t)\n", "%m"))),
            "StatelessIf{Identity|Identity}");
}

TEST(Functionalize, ConditionalsInAndBehindEachOther) {
  const std::string inner =
      "%qs: bool[], %qt: bool[] = Switch(%q, %p)\n%ff: i32[], %tt: i32[] = Switch(%t, %qt)\n%u: i32[] = "
      "Neg(%tt)\n%n: i32[], %in: i32[] = Merge(%ff, %u)\n";
  const GraphPtr g = functional(graph(kSwitch + inner + "%m: i32[], %i: i32[] = Merge(%f, %n)\n", "%m"));
  EXPECT_EQ(ops(*g), "StatelessIf{StatelessIf{Neg|Identity}|Identity}");
  const std::string again =
      "%m: i32[], %i: i32[] = Merge(%f, %u)\n%f2: i32[], %t2: i32[] = Switch(%m, %p)\n%w: i32[] = "
      "Abs(%t2)\n%m2: i32[], %i2: i32[] = Merge(%f2, %w)\n";
  EXPECT_EQ(ops(*functional(graph(kSwitch + "%u: i32[] = Neg(%t)\n" + again, "%m2"))),
            "StatelessIf{Neg|Identity} StatelessIf{Abs|Identity}");
}

TEST(Functionalize, AConditionalInOneOfTheSameCondition) {
  const std::string inner =
      "%ff: i32[], %tt: i32[] = Switch(%t, %p)\n%u: i32[] = Neg(%tt)\n%w: i32[] = Abs(%ff)\n"
      "%n: i32[], %in: i32[] = Merge(%w, %u)\n";
  const GraphPtr g = functional(graph(kSwitch + inner + "%m: i32[], %i: i32[] = Merge(%f, %n)\n", "%m"));
  EXPECT_EQ(ops(*g), "StatelessIf{Neg|Abs} StatelessIf{Identity|Identity}");
}

TEST(Functionalize, ManySidesAreACase) {
  const GraphPtr g =
      functional(graph("%s0: i32[], %s1: i32[], %s2: i32[] = \"_SwitchN\"(%a, %b) {num_outs=3, T=i32}\n%u: "
                       "i32[] = Neg(%s1)\n%m: i32[], %i: i32[] = Merge(%s0, %u, %s2) {N=3}\n",
                       "%m"));
  EXPECT_EQ(ops(*g), "StatelessCase{Identity|Neg|Identity}");
}

TEST(Functionalize, RefusesWhatIsThereOnlySometimes) {
  EXPECT_TRUE(mentions(refusal(graph(kSwitch + "%y: i32[] = Neg(%t)\n", "%y")), "no Merge joins it"));
  EXPECT_TRUE(mentions(refusal(graph(kSwitch + "%y: i32[] = Add(%t, %f)\n", "%y")), "both sides"));
  EXPECT_TRUE(mentions(refusal(graph("%m: i32[], %i: i32[] = Merge(%a, %b)\n", "%m")), "no Switch decides between them"));
}

TEST(Functionalize, AConditionalByAConstantIsItsBranch) {
  const std::string branches =
      "{then_branch=graph t { input %x1: i32[] %y1: i32[] = Neg(%x1) output %y1 }, else_branch=graph e { "
      "input %x2: i32[] %y2: i32[] = Abs(%x2) output %y2 }}";
  EXPECT_EQ(
      ops(*functional(graph("%y: i32[] = StatelessIf(const bool = true, %a) " + branches + "\n", "%y"))),
      "Neg");
  EXPECT_EQ(ops(*functional(graph("%y: i32[] = If(const i32 = 0, %a) " + branches + "\n", "%y"))), "Abs");
  EXPECT_EQ(ops(*functional(graph(
                "%f: i32[], %t: i32[] = Switch(%a, const bool = false)\n%y: i32[] = Sign(%f)\n", "%y"))),
            "Sign");
}

const std::string kArray =
    "%h: resource[2], %flow: f32[] = TensorArrayV3(%size) {dtype=f32, element_shape=shape[?,3], "
    "dynamic_size=0}\n";
std::string arrays(const std::string& body, const std::string& outputs) {
  return "graph g tf {\ninput %x: f32[?,2,3]\ninput %k: i32[]\nconst %size: i32[] = 4\n" + kArray + body +
         "output " + outputs + "\n}";
}
const std::string kScatter = "%s: f32[] = TensorArrayScatterV3(%h, %r, %x, %flow) {T=f32}\n";

TEST(Functionalize, ArraysAreLists) {
  const std::string up = "%r: i32[?] = Range(const i32 = 0, %k, const i32 = 1)\n";
  const std::string read = "%y: f32[*] = TensorArrayReadV3(%h, %k, %s) {dtype=f32}\n";
  const GraphPtr g = functional(arrays(up + kScatter + read, "%y"));
  EXPECT_EQ(ops(*g), "TensorListFromTensor TensorListGetItem");  // only read: its size does not matter
  EXPECT_EQ(g->last()->output()->shape(), Shape(Ints{kUnknownDim, 3}));
  EXPECT_EQ(g->last()->input(2)->constant()->to_ints(), (Ints{-1, 3}));
  EXPECT_EQ(g->first()->output()->dtype(), DType::variant);
  const std::string written =
      "%w: f32[] = TensorArrayWriteV3(%h, %k, %z, %s)\n%y: f32[*] = TensorArrayReadV3(%h, %k, %w) "
      "{dtype=f32}\n%z: f32[*] = Neg(%x)\n";
  EXPECT_EQ(
      ops(*functional(arrays(up + kScatter + written, "%y"))),
      "TensorListReserve Range TensorListScatterIntoExistingList TensorListSetItem TensorListGetItem Neg");
  EXPECT_EQ(ops(*functional(arrays("const %r: i32[2] = [1, 0]\n" + kScatter + read, "%y"))),
            "TensorListReserve TensorListScatterIntoExistingList TensorListGetItem");
  EXPECT_EQ(ops(*functional(arrays("const %r: i32[4] = [0, 1, 2, 3]\n" + kScatter + read +
                                       "%n: i32[] = TensorArraySizeV3(%h, %s)\n",
                                   "%y, %n"))),
            "TensorListFromTensor TensorListGetItem TensorListLength");
}

TEST(Functionalize, AnElementsSizeBeyond32BitsIsLeftOpen) {
  const GraphPtr g = functional(
      "graph g tf {\ninput %x: f32[?,4294967298,3]\ninput %k: i32[]\nconst %size: i32[] = 4\n"
      "%h: resource[2], %flow: f32[] = TensorArrayV3(%size) {dtype=f32, element_shape=shape[4294967298,3], dynamic_size=0}\n" +
      kScatter + "%y: f32[*] = TensorArrayReadV3(%h, %k, %s) {dtype=f32}\nconst %r: i32[4] = [0, 1, 2, 3]\noutput %y\n}");
  for (const ir::Node& n : g->nodes())
    for (const Value* in : n.inputs()) {
      const bool is_shape = in->constant() && in->constant()->dims() == Ints{2};
      EXPECT_TRUE(!is_shape || in->constant()->to_ints() == Ints({-1, 3})) << n.op();
    }
}

TEST(Functionalize, GatheringAllIsStacking) {
  const std::string start =
      "const %up: i32[4] = [0, 1, 2, 3]\n%s: f32[] = TensorArrayScatterV3(%h, %up, %x, %flow)\n%n: i32[] = "
      "TensorArraySizeV3(%h, %s)\n";
  const auto gathered = [&](const std::string& indices) {
    return ops(*functional(
        arrays(start + indices +
                   "%y: f32[?,2,3] = TensorArrayGatherV3(%h, %r, %s) {dtype=f32, element_shape=shape[2,3]}\n",
               "%y")));
  };
  EXPECT_EQ(gathered("%r: i32[?] = Range(const i32 = 0, %n, const i32 = 1)\n"),
            "TensorListFromTensor TensorListStack");
  EXPECT_EQ(gathered("%r: i32[?] = Range(const i32 = 0, %size, const i32 = 1)\n"),
            "TensorListFromTensor TensorListStack");
  EXPECT_EQ(gathered("const %r: i32[4] = [0, 1, 2, 3]\n"), "TensorListFromTensor TensorListStack");
  EXPECT_EQ(gathered("const %r: i32[3] = [0, 1, 2]\n"), "TensorListFromTensor TensorListGather");
  EXPECT_EQ(gathered("%r: i32[?] = Range(const i32 = 0, %k, const i32 = 1)\n"),
            "TensorListFromTensor Range TensorListGather");
}

TEST(Functionalize, AFlowThroughALoopIsAList) {
  const std::string flow =
      "%eh: resource[2] = Enter(%h) {frame_name=\"f\", is_constant=1}\n%ef: f32[] = Enter(%flow) "
      "{frame_name=\"f\", T=f32}\n%mf: f32[], %if: i32[] = Merge(%ef, %nf) {T=f32}\n"
      "%sf: f32[], %tf: f32[] = Switch(%mf, %lc) {T=f32}\n%row: f32[] = Cast(%t0)\n%wf: f32[] = "
      "TensorArrayWriteV3(%eh, %t0, %row, %tf)\n"
      "%nf: f32[] = NextIteration(%wf) {T=f32}\n%xf: f32[] = Exit(%sf) {T=f32}\n%y: f32[*] = "
      "TensorArrayReadV3(%h, %k, %xf) {dtype=f32}\n";
  const GraphPtr g =
      functional(arrays(variable("0", "%k") + invariant("limit", "%size") + kLess +
                            step("0", "%lc", "%b0: i32[] = Add(%t0, const i32 = 1) {T=i32}") + flow,
                        "%y"));
  EXPECT_EQ(ops(*g),
            "TensorListReserve StatelessWhile{Less|Add Cast TensorListSetItem Identity} TensorListGetItem");
  EXPECT_EQ(*g->first()->next()->attr_if<DTypes>("T"), (DTypes{DType::i32, DType::variant, DType::i32}));
}

}  // namespace
}  // namespace t2o::tf
