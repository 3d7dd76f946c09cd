#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness.h"

// The forms of --target-runtime any give the same results as the operators that they replace.
namespace t2o::numeric {
namespace {

Case& for_any(Case& c) {
  return c.options([](Options& o) { o.target_runtime = "any"; });
}
Case& for_any(Case&& c) { return for_any(c); }

TEST(Portable, Comparisons) {
  for_any(op_case("IsNan").in(any, {2, 3})).dtypes({f32, f64, f16}).nan_inf().gives({{"IsNaN", 0}, {"Equal", 1}}).check();
  for (const char* op : {"GreaterEqual", "LessEqual"}) {
    for_any(op_case(op).in(any, {4, 3}).in(any, {4, 3})).dtypes({f32, f64}).nan_inf().gives({{"Or", 1}, {"Equal", 1}}, 16).check();
    for_any(op_case(op).values_as(any, {6}, {1, 2, 3, 0, 5, 6}).values_as(any, {6}, {1, 1, 4, 0, 5, 7}))
        .dtypes({i32, i64})
        .gives({{"Not", 1}, {"Less", 1}}, 16)
        .check();
  }
}

TEST(Portable, GateOfAHardSigmoid) {
  for_any(graph_case("x * relu6(s + 3) / 6", [](Builder& b) {
    const std::string x = b.input(f32, {2, 3, 3, 4}), s = b.input(f32, {2, 1, 1, 4}, verify::Range{-5, 5});
    const std::string part = b.op("Relu6", {b.op("AddV2", {s, b.constant_of<float>({}, {3})})});
    const std::string gate = b.op("Mul", {part, b.constant_of<float>({}, {1.0F / 6})});
    b.output(b.op("Mul", {x, gate}));
  })).gives({{"HardSigmoid", 0}, {"Clip", 1}}).check();
}

TEST(Portable, ReductionsInTurn) {
  for (const char* op : {"Mean", "Sum", "Max", "Min", "Prod"})
    for (const bool keep : {false, true}) {
      Case c = op_case(op);
      for_any(c.in(f32, {2, 3, 4, 5}).i32s({0, 2, 3}).attr("keep_dims", keep));
      if (std::string(op) != "Mean") c.empty();  // the standard leaves open what a mean of nothing is
      c.check();
      for_any(op_case(op).in(i32, {2, 3, 4}).i32s({-1, 0}).attr("keep_dims", keep)).check();
    }
  for_any(op_case("Mean").in(f32, {2, 3, 4}).i32s({0, 2})).gives({{"ReduceMean", 2}}).check();
}

TEST(Portable, TilesOfOne) {
  for_any(op_case("Tile").in(f32, {1, 1, 4}).i32s({3, 2, 1}, fed)).check();
  for_any(op_case("Tile").in(f32, {1, 1}).i32s({3, 0}, fed)).gives({{"Tile", 0}, {"Expand", 1}}).check();
  for_any(op_case("Tile").in(f32, {1, 2}).i32s({3, 2}, fed)).gives({{"Tile", 1}, {"Expand", 0}}).check();
}

}  // namespace
}  // namespace t2o::numeric
