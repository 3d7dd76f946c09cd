// What ONNX Runtime rewrites of operators that stand one behind the other, and does right for some element types only. Its
// optimizer is on at the default opset alone; casts are left out with it off, too.
#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

const std::vector<int> kOptimized = {21};
using Operators = std::map<std::string, std::size_t>;

// A wide integer wraps around where a narrow one would be the lowest number.
TEST(Guards, FloatsBecomeNarrowByWayOfWide) {
  for (const DType from : {f32, f64})
    for (const DType narrow : {i8, u8, i16, u16, i32, u32})
      graph_case("casts", [=](Builder& b) {
        const std::string x = b.input(verify::tensor_of(from, {6}, {3e9, -3e9, 5e9 + 512, 1.5, -2.75, 1e15}));
        const std::string wide = b.op("Cast", {x}, {{"SrcT", from}, {"DstT", i64}});
        const std::string y = b.op("Cast", {wide}, {{"SrcT", i64}, {"DstT", narrow}});
        b.output(b.op("Identity", {b.op("ExpandDims", {y, b.constant_of<std::int32_t>({}, {0})})}));
      }).gives({{"Cast", 2}, {"Where", 1}}).check();
}

TEST(Guards, OneOverThemTimesOthers) {
  for (const Ints& dims : {Ints{}, Ints{1}, Ints{1, 1}})
    for (const char* op : {"Div", "TruncateDiv", "FloorDiv"})
      graph_case(std::string("1 / x * y of ") + op, [&](Builder& b) {
        const std::string one = b.const_input(verify::tensor_of(b.dtype(), dims, {1}));
        const std::string x = b.input(verify::tensor_of(b.dtype(), {5}, {1, -1, 2, -2, 7}));
        const std::string y = b.input(verify::tensor_of(b.dtype(), {5}, {5, 6, 7, -8, 70}));
        b.output(b.op("Neg", {b.op("Mul", {b.op(op, {one, x}), y})}));
      }).dtypes({i8, i16, i32, i64}).only_opsets(kOptimized).gives(std::string(op) == "FloorDiv" ? Operators{} : Operators{{"Neg", 2}}).check();
  for (const char* op : {"Div", "FloorDiv"})
    graph_case(std::string("1 / x * y without signs of ") + op, [&](Builder& b) {
      const std::string one = b.const_input(verify::tensor_of(b.dtype(), {}, {1}));
      const std::string x = b.input(verify::tensor_of(b.dtype(), {4}, {1, 2, 200, 7}));
      const std::string y = b.input(verify::tensor_of(b.dtype(), {4}, {5, 4, 7, 70}));
      b.output(b.op("Identity", {b.op("Mul", {b.op(op, {one, x}), y})}));
    }).dtypes({u8, u16, u32, u64}).only_opsets(kOptimized).gives({{"Div", 0}, {"Equal", 1}}).check();
  for (const char* op : {"TruncateMod", "FloorMod", "Mod"})
    graph_case(std::string("1 % x of ") + op, [&](Builder& b) {
      const std::string x = b.input(verify::tensor_of(b.dtype(), {5}, {1, -1, 2, -2, 7}));
      b.output(b.op("Neg", {b.op(op, {b.const_input(verify::tensor_of(b.dtype(), {}, {1})), x})}));
    }).dtypes({i32, i64}).only_opsets(kOptimized).check();
  graph_case("floats with more axes in the 1", [](Builder& b) {
    const std::string q = b.op("RealDiv", {b.constant_of<float>({1, 1}, {1}), b.input(f32, {3}, verify::Range{1, 2})});
    b.output(b.op("Neg", {b.op("Mul", {q, b.input(f32, {3})})}));
  }).only_opsets(kOptimized).gives({{"Neg", 2}}).check();
}

TEST(Guards, ClippedRelu) {
  for (const double low : {-1.0, 0.0, 0.5})
    graph_case("a Clip behind a Relu", [=](Builder& b) {
      const std::string relu = b.op("Relu", {b.input(any, {3, 4}, verify::Range{-9, 9})});
      const std::string low_one = b.const_input(verify::tensor_of(b.dtype(), {}, {low})), six = b.const_input(verify::tensor_of(b.dtype(), {}, {6}));
      b.output(b.op("Neg", {b.op("ClipByValue", {relu, low_one, six})}));
    }).dtypes({f32, f64, f16, i32, i64}).nan_inf().only_opsets(kOptimized).gives({{"Relu", 0}}).check();
}

// Arithmetic that changes nothing, or less than it seems.
TEST(Guards, NeutralNumbers) {
  for (const double number : {0.0, 1.0, -1.0})
    for (const char* op : {"AddV2", "Sub", "Mul", "Maximum", "Minimum", "FloorDiv", "FloorMod", "TruncateDiv"})
      for (const bool first : {false, true}) {
        const bool divides = std::string(op).find("Div") != std::string::npos || std::string(op).find("Mod") != std::string::npos;
        if (divides && !first && number == 0) continue;
        graph_case(op, [=](Builder& b) {
          const std::string x = b.input(verify::tensor_of(b.dtype(), {4}, {5, -7, 1, -1}));
          const std::string n = b.const_input(verify::tensor_of(b.dtype(), {}, {number}));
          const std::string y = first ? b.op(op, {n, x}) : b.op(op, {x, n});
          b.output(b.op("Neg", {b.op("Mul", {y, x})}));
        }).dtypes({i32, i64}).only_opsets(kOptimized).check();
      }
}

}  // namespace
}  // namespace t2o::numeric
