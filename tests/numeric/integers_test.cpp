// Integers at the ends of their types: TensorFlow's wrap around.
#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

constexpr double kEnd32 = 2147483647.0, kEnd64 = 9.2e18;

Case full(const std::string& op, int inputs, bool wide) {
  Case c = op_case(op);
  for (int i = 0; i < inputs; ++i) c.in(any, {3, 4}).range(wide ? -kEnd64 : -kEnd32, wide ? kEnd64 : kEnd32);
  return c;
}

TEST(Integers, ElementwiseOfAllBits) {
  for (const bool wide : {false, true}) {
    const DTypes type = {wide ? i64 : i32};
    for (const char* op : {"AddV2", "Sub", "Mul", "SquaredDifference", "Maximum", "Minimum", "FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod"})
      full(op, 2, wide).dtypes(type).check();
    for (const char* op : {"Square", "Neg", "Abs", "Sign", "Relu"}) full(op, 1, wide).dtypes(type).check();
    full("AddN", 3, wide).as_list(3).dtypes(type).check();
    full("ClipByValue", 1, wide).values_as(any, {}, {-70000}, constant).values_as(any, {}, {2147480000}, constant).dtypes(type).check();
  }
}

// A list is one of sizes only where all of its elements are: beside two that are known there may be any number.
TEST(Integers, ListsOfWhichSomeElementsAreKnown) {
  for (const char* op : {"Sum", "Prod", "Mean", "Max", "Min"})
    for (const bool wide : {false, true})
      graph_case(std::string(op) + " of a list", [=](Builder& b) {
        const DType type = wide ? i64 : i32;
        const double end = wide ? kEnd64 : kEnd32;
        const std::string known = b.const_input(verify::tensor_of(type, {2}, {0, 5})), x = b.input(type, {6}, verify::Range{-end, end});
        const std::string list = b.op("ConcatV2", {Strings{known, x}, b.constant_of<std::int32_t>({}, {0})});
        b.output(b.op(op, {list, b.constant_of<std::int32_t>({}, {0})}));
      }).check();
  for (const char* op : {"Sum", "Prod", "Mean", "Max", "Min"})  // of a constant, over axes of run time
    for (const DType type : {i32, i64, u32})
      op_case(op).in(type, {7, 2}, constant).range(type == u32 ? 0 : -kEnd32, kEnd32).i32s({-2}, fed).check();
  for (const bool wide : {false, true})
    graph_case("the lowest integer / -1 in lists", [=](Builder& b) {
      const DType type = wide ? i64 : i32;
      const std::string one = b.const_input(verify::tensor_of(type, {1}, {1})), axis = b.constant_of<std::int32_t>({}, {0});
      const std::string lowest = b.input(verify::tensor_of(type, {1}, {-1e19})), minus = b.input(verify::tensor_of(type, {1}, {-1}));
      const std::string x = b.op("ConcatV2", {Strings{one, lowest}, axis}), y = b.op("ConcatV2", {Strings{one, minus}, axis});
      b.output(b.op("FloorDiv", {x, y}));
      b.output(b.op("Maximum", {x, y}));
    }).check();
}

TEST(Integers, SumsAndProductsOfAllBits) {
  for (const bool wide : {false, true}) {
    const DTypes type = {wide ? i64 : i32};
    for (const char* op : {"Sum", "Prod", "Mean", "Max", "Min"}) {
      full(op, 1, wide).i32s({1}).dtypes(type).check();
      full(op, 1, wide).i32s({0, -1}).dtypes(type).check();
      full(op, 1, wide).i32s({0, -1}, fed).attr("keep_dims", true).dtypes(type).check();
    }
    for (const char* op : {"Cumsum", "Cumprod"}) full(op, 1, wide).scalar<std::int32_t>(1).dtypes(type).check();
    for (const char* op : {"SegmentSum", "SegmentProd", "SegmentMax", "SegmentMin", "SegmentMean"})
      full(op, 1, wide).i32s({0, 0, 2}, fed).dtypes(type).check();
    for (const char* op : {"UnsortedSegmentSum", "UnsortedSegmentProd", "UnsortedSegmentMax", "UnsortedSegmentMin"})
      full(op, 1, wide).i32s({0, 1, 0}, fed).scalar<std::int32_t>(2).dtypes(type).check();
    full("MatMul", 1, wide).in(any, {4, 2}).range(wide ? -kEnd64 : -kEnd32, wide ? kEnd64 : kEnd32).dtypes(type).check();
  }
}

TEST(Integers, ProductsOfMatricesOfAllBits) {
  for (const bool wide : {false, true}) {
    const double end = wide ? kEnd64 : kEnd32;
    const DTypes type = {wide ? i64 : i32};
    op_case("BatchMatMulV2").in(any, {2, 3, 4}).range(-end, end).in(any, {4, 2}).range(-end, end).dtypes(type).check();
    op_case("Einsum").in(any, {2, 3, 4}).range(-end, end).in(any, {3, 5}).range(-end, end).as_list(2).attr("equation", "aij,ik->akj")
        .dtypes(type).check();
    op_case("Einsum").in(any, {3, 4}).range(-end, end).as_list(1).attr("equation", "ij->j").dtypes(type).check();
  }
  op_case("Conv2D").in(i32, {1, 5, 5, 2}).range(-kEnd32, kEnd32).in(i32, {3, 3, 2, 3}, constant).range(-kEnd32, kEnd32)
      .attr("strides", Ints{1, 1, 1, 1}).attr("padding", "SAME").check();
}

TEST(Integers, ScatteredOfAllBits) {
  for (const bool wide : {false, true}) {
    const double end = wide ? kEnd64 : kEnd32;
    for (const char* op : {"TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin"})
      op_case(op).in(any, {4, 2}).range(-end, end).values<std::int32_t>({3, 1}, {1, 2, 1}, fed).in(any, {3, 2}).range(-end, end)
          .dtypes({wide ? i64 : i32}).check();
    op_case("ScatterNd").values<std::int32_t>({3, 1}, {1, 2, 1}, fed).in(any, {3, 2}).range(-end, end).i32s({4, 2}).dtypes({wide ? i64 : i32}).check();
    op_case("Bincount").values<std::int32_t>({4}, {1, 0, 1, 1}, fed).scalar<std::int32_t>(2).in(any, {4}).range(-end, end)
        .dtypes({wide ? i64 : i32}).check();
  }
}

// Of unknown rank too, over axes that are known when it runs, of numbers that are narrow.
TEST(Integers, ProductsOfAnyRankAndAxes) {
  for (const bool keep : {false, true}) {
    op_case("Prod").in(any, {3, 4, 5}).range(-100, 100).i32s({0, 2}).attr("keep_dims", keep).dtypes({i8, u8, i16, u16, i32, u32, i64, u64}).check();
    op_case("Prod").in(any, {3, 4, 5}).range(1, 100).i32s({1, -1}, fed).attr("keep_dims", keep).dtypes({i8, i32, i64}).empty().check();
    graph_case("over range(rank)", [keep](Builder& b) {
      const std::string x = b.input(any, {3, 4, 5}, verify::Range{1, 50});
      const std::string axes = b.op("Range", {b.constant_of<std::int32_t>({}, {0}), b.op("Rank", {x}), b.constant_of<std::int32_t>({}, {1})});
      b.output(b.op("Prod", {x, axes}, {{"keep_dims", keep}}));
    }).dtypes({i8, i32, i64}).check();
  }
  op_case("Prod").in(i32, {2, 3}).i32s({}, fed).check();
}

TEST(Integers, PowersWrapAround) {
  const std::vector<double> bases = {3, -3, 7, 10, 2, 1, -1, 0, 127, 11, 2, -2};
  const std::vector<double> exponents = {5, 41, 40, 19, 31, 100, 101, 0, 127, 1, 63, 64};
  for (const Kind kind : {fed, constant})
    op_case("Pow").values_as(any, {12}, bases).values_as(any, {12}, exponents, kind).dtypes({i8, i16, i32, i64}).check();
  op_case("Pow").values_as(any, {}, {31}).values_as(any, {2, 3}, {0, 5, 12, 13, 20, 126}).dtypes({i8, i32, i64}).empty().check();
  op_case("Pow").values_as(any, {2, 1}, {31, -5}).values_as(any, {3}, {0, 3, 28}, constant).dtypes({i32, i64}).check();
  op_case("Pow").values<std::int64_t>({3}, {3, 5, -7}).values<std::int64_t>({3}, {INT64_MAX, 1LL << 40, 6}).check();
  op_case("Pow").in(i64, {3}).values<std::int64_t>({3}, {0, 0, 0}).check();
  graph_case("a hash", [](Builder& b) {
    const std::string one = b.constant_of<std::int32_t>({}, {1}), zero = b.constant_of<std::int32_t>({}, {0});
    const std::string x = b.input(i64, {12}, verify::Range{0, 255});
    const std::string n = b.op("Size", {x});
    const std::string places = b.op("Cast", {b.op("Range", {zero, n, one})}, {{"SrcT", i32}, {"DstT", i64}});
    const std::string powers = b.op("Pow", {b.constant_of<std::int64_t>({}, {31}), places});
    b.output(b.op("Sum", {b.op("Mul", {x, powers}), b.constant_of<std::int32_t>({1}, {0})}));
  }).check();
}

TEST(Integers, MeansOfUnsigned) {
  const std::vector<std::uint64_t> x = {UINT64_MAX, 5, 7, (1ULL << 63) + 8, 1, 0};
  for (const Kind kind : {constant, fed})
    for (const std::int32_t axis : {0, 1, -1}) op_case("Mean").values<std::uint64_t>({2, 3}, x).i32s({axis}, kind).check();
  op_case("Mean").values<std::uint64_t>({2, 3}, x).i32s({0, 1}).check();
  op_case("Mean").values<std::uint64_t>({2, 3}, x).i32s({}).check();
  op_case("Mean").in(any, {3, 4}).range(0, 4294967295.0).i32s({1}).dtypes({u32, u64}).check();
}

}  // namespace
}  // namespace t2o::numeric
