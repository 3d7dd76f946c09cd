#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes kFloats = {f32, f64, f16, bf16};
const std::vector<std::string> kReductions = {"Sum", "Mean", "Max", "Min", "Prod", "EuclideanNorm"};

TEST(Reduction, AxesAndKeepDims) {
  for (const std::string& op : kReductions) {
    for (const bool keep : {false, true}) {
      op_case(op).in(f32, {2, 3, 4}).i32s({1}).attr("keep_dims", keep).check();
      op_case(op).in(f32, {2, 3, 4}).i32s({-1, 0}).attr("keep_dims", keep).check();
      op_case(op).in(f32, {2, 3, 4}).ints({0, 1, 2}).attr("keep_dims", keep).check();
    }
    op_case(op).in(f32, {2, 3}).i32s({}).check();
    op_case(op).in(f32, {2, 3}).scalar<std::int32_t>(1).check();
    op_case(op).in(f32, {}).i32s({}).check();
  }
}

TEST(Reduction, RuntimeAxes) {
  for (const std::string& op : kReductions)
    for (const bool keep : {false, true}) {
      op_case(op).in(f32, {2, 3, 4}).i32s({1, 2}, fed).attr("keep_dims", keep).check();
      op_case(op).in(any, {2, 3, 4}).i32s({-1}, fed).attr("keep_dims", keep).dtypes({i32, f64}).check();
      op_case(op).in(f32, {2, 3}).i32s({}, fed).attr("keep_dims", keep).check();
      op_case(op).in(f32, {2, 3}).scalar<std::int32_t>(0, fed).attr("keep_dims", keep).check();
    }
  for (const char* op : {"All", "Any"}) op_case(op).in(boolean, {2, 3, 4}).i32s({2, 0}, fed).check();
}

TEST(Reduction, AllAxesOfUnknownRank) {
  for (const std::string& op : kReductions)
    graph_case(op + " over range(rank)", [op](Builder& b) {
      const std::string x = b.input(f32, {2, 3, 4});
      const std::string rank = b.op("Rank", {x});
      const std::string axes = b.op("Range", {b.constant_of<std::int32_t>({}, {0}), rank, b.constant_of<std::int32_t>({}, {1})});
      b.output(b.op(op, {x, axes}));
    }).check();
}

TEST(Reduction, Dtypes) {
  for (const std::string& op : kReductions)
    op_case(op).in(any, {3, 4}).range(-2, 3).i32s({1}).dtypes({f32, f64, f16, i32, i64, i8, i16}).check();
  for (const std::string& op : kReductions) op_case(op).in(any, {3, 4}).range(0, 100).i32s({1}).dtypes({u8, u16}).check();
  for (const char* op : {"Max", "Min"}) op_case(op).in(any, {3, 4}).i32s({1}).dtypes({bf16, u32}).check();
  op_case("Mean").values<std::int32_t>({2, 2}, {-1, -2, 2147483647, 2147483647}).i32s({1}).check();
}

TEST(Reduction, IntegersWrapAround) {
  for (const char* op : {"Sum", "Mean", "EuclideanNorm"})
    for (const bool keep : {false, true})
      op_case(op).in(i64, {7, 40}).range(-9e18, 9e18).i32s({1}).attr("keep_dims", keep).empty().check();
  for (const char* op : {"Sum", "Mean"}) {
    op_case(op).in(i64, {3, 4, 5}).range(-9e18, 9e18).i32s({0, 2}, fed).check();
    op_case(op).in(i64, {3, 4, 5}).range(-9e18, 9e18).i32s({-1, 0, 1}).check();
  }
  op_case("Sum").values<std::int64_t>({3}, {1700000000123456789, 1700000000123456790, 3}).i32s({0}).check();  // times in nanoseconds
  op_case("Sum").in(any, {3, 40}).range(0, 4294967295.0).i32s({1}).dtypes({u32, u64}).check();
}

TEST(Reduction, ProductsWrapAround) {
  for (const bool keep : {false, true}) {
    op_case("Prod").in(any, {7, 40}).range(-9e9, 9e9).i32s({1}).attr("keep_dims", keep).dtypes({i32, i64}).empty().check();
    op_case("Prod").in(any, {3, 4, 5}).range(1, 100).i32s({0, -1}).attr("keep_dims", keep).dtypes({i8, u8, i64, u64}).check();
    op_case("Prod").in(i64, {0, 3}).i32s({0}).attr("keep_dims", keep).check();
  }
  op_case("Prod").values<std::int64_t>({4}, {3037000499, 3037000501, 3, 1}).i32s({0}).check();
  op_case("Prod").in(i32, {2, 3}).i32s({}).check();
  graph_case("of constants that are picked", [](Builder& b) {
    const std::string numbers = b.constant_of<std::int64_t>({4}, {3037000507, 9223372036854775783, 1234567891011, 7});
    const std::string picked = b.op("GatherV2", {numbers, b.input(i32, {5}, verify::Range{0, 3}), b.constant_of<std::int32_t>({}, {0})});
    b.output(b.op("Prod", {picked, b.constant_of<std::int32_t>({1}, {0})}));
  }).check();
  op_case("Prod").in(i32, {}).i32s({}).check();
}

TEST(Reduction, NanInfAndNothing) {
  for (const std::string& op : kReductions) {
    op_case(op).in(any, {4, 5}).i32s({1}).dtypes({f32, f64, f16}).nan_inf().check();
    op_case(op).in(any, {4, 5}).i32s({0}).dtypes({f32, f64}).nan_inf().empty().check();
    op_case(op).in(any, {4, 5}).i32s({0, 1}).dtypes({f32}).nan_inf().empty().check();
  }
  for (const char* op : {"Max", "Min"}) {  // beyond 31 bits
    for (const Ints& axes : std::vector<Ints>{{0}, {1}, {-1, 0}})
      op_case(op).in(i64, {40, 33}).range(-16e9, 16e9).i32s({axes.begin(), axes.end()}).empty().check();
    op_case(op).in(any, {3, 40}).range(0, 4294967295.0).i32s({1}).attr("keep_dims", true).dtypes({u32, u64}).check();
    op_case(op).in(i64, {3, 40}).range(-16e9, 16e9).i32s({1}, fed).check();
  }
  for (const char* op : {"Max", "Min"}) op_case(op).values<float>({3}, {-0.0F, -0.0F, 0}).i32s({0}).check();
  op_case("EuclideanNorm").values<float>({2}, {1e30F, 2}).i32s({}).check();
  for (const char* op : {"Sum", "Max", "Min", "Prod"}) op_case(op).in(any, {4, 5}).i32s({0}).dtypes({i32, i64, u8, i8}).empty().check();
}

TEST(Reduction, OfEmptyTensorsOverOtherAxes) {
  for (const std::string& op : kReductions)
    for (const bool keep : {false, true}) {
      op_case(op).in(f32, {0, 3, 4}).i32s({-1}).attr("keep_dims", keep).check();
      op_case(op).in(any, {0, 3, 4}).i32s({1}).attr("keep_dims", keep).dtypes({f32, i64}).check();
      op_case(op).in(f32, {3, 0}).i32s({0}).attr("keep_dims", keep).check();
      op_case(op).in(any, {3, 0}).i32s({-1}).attr("keep_dims", keep).dtypes({f32, f64}).check();
    }
}

TEST(Reduction, RuntimeAxesCountedFromTheBack) {
  for (const char* op : {"Sum", "Max", "Min", "Prod"}) {
    op_case(op).in(f32, {0, 3}).i32s({-1}, fed).attr("keep_dims", true).check();
    op_case(op).in(f32, {0, 3}).i32s({0}, fed).check();
    op_case(op).in(f32, {}).i32s({}, fed).check();
    op_case(op).in(f32, {0, 1, 2, 2}).i32s({-1, 1, -4}).check();
  }
  for (const char* op : {"ArgMax", "ArgMin"}) {
    op_case(op).in(f32, {0, 3}).scalar<std::int32_t>(-1).check();
    op_case(op).in(i64, {2, 4, 0, 0}).scalar<std::int32_t>(-3).check();
  }
}

TEST(Reduction, WideIntegers) {
  const std::vector<std::int64_t> x = {1LL << 40, 5, -(1LL << 40), (1LL << 62) + 1, 1LL << 62, -7};
  for (const char* op : {"Max", "Min"})
    for (const std::int32_t axis : {0, 1, -1}) op_case(op).values<std::int64_t>({2, 3}, x).i32s({axis}).check();
}

TEST(Reduction, MeanOfIntegersInTurn) {
  const std::vector<std::int32_t> x = {1, 2, 2, 2, 1, 3, 2, 2, 2};
  op_case("Mean").values<std::int32_t>({3, 3}, x).i32s({0, -1}).check();
  op_case("Mean").values<std::int32_t>({3, 3}, x).i32s({1, 0}, fed).check();
}

TEST(Reduction, WideUnsigned) {
  const std::vector<std::uint64_t> x = {1ULL << 63, 5, UINT64_MAX, (1ULL << 62) + 1, 0, 7};
  for (const char* op : {"Max", "Min"}) {
    for (const std::int32_t axis : {0, -1}) op_case(op).values<std::uint64_t>({2, 3}, x).i32s({axis}).check();
    op_case(op).in(u64, {3, 2}).i32s({0}).empty().check();
  }
}

TEST(Reduction, Bfloat16InTurn) { op_case("Prod").in(bf16, {3, 2}).i32s({-1}, fed).since(13).check(); }

TEST(Reduction, AllAny) {
  for (const char* op : {"All", "Any"}) {
    op_case(op).in(boolean, {3, 4}).i32s({1}).empty().check();
    op_case(op).in(boolean, {3, 4}).i32s({0}).empty().attr("keep_dims", true).check();
    op_case(op).in(boolean, {3, 4}).i32s({0, 1}).empty().check();
    op_case(op).in(boolean, {3, 4}).i32s({}).check();
  }
}

TEST(Reduction, ArgMaxArgMin) {
  for (const char* op : {"ArgMax", "ArgMin"}) {
    op_case(op).in(any, {3, 4}).scalar<std::int32_t>(1).dtypes({f32, f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64, boolean}).check();
    op_case(op).in(f32, {3, 4}).scalar<std::int64_t>(-2).attr("output_type", i32).nan_inf().check();
    op_case(op).in(f32, {3, 7}).scalar<std::int64_t>(1).nan_inf().check();
    op_case(op).values<float>({5}, {1, 3, 3, 0, 0}).scalar<std::int32_t>(0).check();
    for (const std::int32_t axis : {1, -2}) op_case(op).in(any, {3, 4, 2}).scalar(axis, fed).dtypes({f32, i32}).nan_inf().check();
  }
  op_case("ArgMax").in(f32, {3, 4}).scalar<std::int64_t>(1).attr("output_type", u16).check();
  for (const char* op : {"ArgMax", "ArgMin"})
    op_case(op).values<std::uint64_t>({2, 3}, {1, 1ULL << 63, (1ULL << 63) + 1, ~0ULL, 0, 7}).scalar<std::int32_t>(1).check();
}

}  // namespace
}  // namespace t2o::numeric
