#include <gtest/gtest.h>

#include <limits>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes kFloats = {f32, f64, f16, bf16};
const DTypes kInts = {i8, u8, i16, u16, i32, u32, i64, u64};

void check_binary(const std::string& op, const DTypes& types, double low = -20, double high = 20) {
  op_case(op).in(any, {3, 4}).range(low, high).in(any, {3, 4}).range(low, high).dtypes(types).empty().check();
  op_case(op).in(any, {2, 1, 4}).range(low, high).in(any, {3, 1}).range(low, high).dtypes({types[0]}).check();
  op_case(op).in(any, {}).range(low, high).in(any, {2, 3}).range(low, high).dtypes({types[0]}).check();
}

void check_special(const std::string& op, const DTypes& types = {f32, f64}) {
  op_case(op).in(any, {6, 8}).in(any, {6, 8}).dtypes(types).nan_inf().check();
}

TEST(Arithmetic, Floats) {
  for (const char* op : {"Add", "AddV2", "Sub", "Mul", "Maximum", "Minimum", "SquaredDifference", "FloorMod", "FloorDiv"}) {
    check_binary(op, kFloats);
    check_special(op);
  }
  for (const char* op : {"RealDiv", "Div", "DivNoNan", "MulNoNan", "Xdivy"}) {
    check_binary(op, kFloats, 0.5, 20);
    check_special(op);
  }
  for (const char* op : {"Mod", "TruncateMod"}) {
    check_binary(op, {f32, f64});
    check_special(op);
  }
  for (const char* op : {"Xlogy", "Xlog1py", "Pow"}) {
    check_binary(op, kFloats, 0.1, 4);
    check_special(op);
  }
}

TEST(Arithmetic, IntegersWrapAround) {
  for (const char* op : {"AddV2", "Sub", "Mul"}) check_binary(op, kInts, 0, 120);
  op_case("AddV2").values<std::uint8_t>({3}, {200, 255, 1}).values<std::uint8_t>({3}, {100, 1, 2}).check();
  op_case("Mul").values<std::int8_t>({3}, {100, -128, 7}).values<std::int8_t>({3}, {3, -1, 7}).check();
  op_case("Mul").values<std::int32_t>({2}, {70000, 1 << 30}).values<std::int32_t>({2}, {70001, 5}).check();
  check_binary("SquaredDifference", {i32, i64});
  for (const char* op : {"Maximum", "Minimum"}) check_binary(op, {i8, u8, i16, u16, i32, u32, i64}, 0, 120);
  op_case("Maximum").values<std::int64_t>({2}, {(1LL << 60) + 1, 5}).values<std::int64_t>({2}, {1LL << 60, -5}).check();
  for (const char* op : {"Maximum", "Minimum"}) {  // beyond 32 bits
    op_case(op).in(i64, {5, 9}).range(-16e9, 16e9).in(i64, {5, 9}).range(-16e9, 16e9).check();
    op_case(op).in(i64, {5, 9}).range(-16e9, 16e9).scalar<std::int64_t>(5).check();
  }
  op_case("ClipByValue").in(i64, {5, 9}).range(-16e9, 16e9).scalar<std::int64_t>(-5).scalar<std::int64_t>(1LL << 33).check();
}

TEST(Arithmetic, TruncateDivOfFloats) {
  op_case("TruncateDiv").values_as(any, {8}, {5, -5, 5, -5, 7, -0.5, 0.25, 0}).values_as(any, {8}, {3, 3, -3, -3, 7, 2, 1, -1})
      .dtypes({f16, bf16, f32, f64}).check();
  op_case("TruncateDiv").in(f32, {2, 3}).in(f32, {3}).nan_inf().check();
}

TEST(Arithmetic, DivisionByNegatives) {
  for (const char* op : {"FloorDiv", "FloorMod", "Div", "TruncateDiv"})
    op_case(op).values_as(any, {8}, {5, -5, 5, -5, 7, -7, -128, 0}).values_as(any, {8}, {3, 3, -3, -3, 7, 7, 3, -1})
        .dtypes({i8, i16, i32, i64}).check();
  for (const char* op : {"Mod", "TruncateMod"})
    op_case(op).values_as(any, {8}, {5, -5, 5, -5, 7, -7, -128, 0}).values_as(any, {8}, {3, 3, -3, -3, 7, 7, 3, -1})
        .dtypes({i32, i64}).check();
  for (const char* op : {"FloorDiv", "FloorMod", "Div", "TruncateDiv"})
    op_case(op).values_as(any, {4}, {5, 250, 7, 0}).values_as(any, {4}, {3, 7, 7, 9}).dtypes({u8, u16, u32, u64}).check();
  op_case("FloorDiv").values<std::int32_t>({2}, {-2147483647 - 1, 2147483647}).values<std::int32_t>({2}, {3, -2}).check();
  op_case("FloorDiv").values<std::int64_t>({2}, {-(1LL << 62) - 1, (1LL << 62) + 3}).values<std::int64_t>({2}, {3, -2}).check();
}

TEST(Arithmetic, RemaindersBeyondDoubles) {
  for (const char* op : {"Mod", "TruncateMod", "FloorMod", "FloorDiv"})
    op_case(op).values<std::int64_t>({4}, {(1LL << 62) + 1, -(1LL << 62) - 1, (1LL << 53) + 1, -(1LL << 60) - 3})
        .values<std::int64_t>({4}, {2, 2, -2, 1LL << 59}).check();
  const std::vector<std::int64_t> lowest{std::numeric_limits<std::int64_t>::min()};
  for (const Kind kind : {constant, fed})
    op_case("TruncateMod").values<std::int64_t>({1}, lowest).values<std::int64_t>({1}, {-1}, kind).check();
}

TEST(Arithmetic, FloorModOfFloats) {
  op_case("FloorMod").values<float>({6}, {5, -5, 5, -5, 6, -6}).values<float>({6}, {3, 3, -3, -3, 3, 3}).check();
}

TEST(Arithmetic, IntegerPow) {
  op_case("Pow").values_as(any, {5}, {2, -2, 0, 3, 1}).values_as(any, {5}, {6, 3, 0, 4, 9}).dtypes({i32, i64}).check();
  op_case("Pow").values<std::int32_t>({3}, {70000, -3, 5}).scalar<std::int32_t>(3).check();
  op_case("Pow").values<std::int64_t>({3}, {3037000, -3, 5}).scalar<std::int64_t>(7).check();
  op_case("Pow").values<std::int32_t>({3}, {7, -3, 5}).scalar<std::int32_t>(0).check();
}

TEST(Arithmetic, AddN) {
  op_case("AddN").in(any, {2, 3}).in(any, {2, 3}).in(any, {2, 3}).as_list(3).dtypes({f32, f64, f16, i8, u8, i32, i64}).empty().check();
  op_case("AddN").in(f32, {2, 3}).as_list(1).check();
}

TEST(Arithmetic, ClipByValue) {
  op_case("ClipByValue").in(any, {3, 4}).range(0, 9).values_as(any, {}, {2}, constant).values_as(any, {}, {5}, constant)
      .dtypes({f32, f64, f16, bf16, i8, u8, i16, i32, i64}).check();
  op_case("ClipByValue").in(f32, {3, 4}).scalar<float>(-0.5F).scalar<float>(0.5F).nan_inf().empty().check();
  op_case("ClipByValue").in(f32, {3, 4}).in(f32, {3, 4}).range(-1, 0).in(f32, {3, 4}).range(0, 1).nan_inf().check();
  for (const Kind kind : {constant, fed}) {
    op_case("ClipByValue").in(any, {3, 4}).range(0, 9).values_as(any, {}, {5}, kind).values_as(any, {}, {2}, kind)
        .dtypes({f32, f64, f16, i32}).note("the lower bound wins").check();
    op_case("ClipByValue").in(f32, {3, 4}).scalar<float>(-0.5F, kind).scalar<float>(0.5F, kind).nan_inf().check();
  }
  op_case("ClipByValue").values<float>({3}, {1, 3, 5}).values<float>({3}, {4, 4, 4}).values<float>({3}, {2, 2, 2}).check();
}

TEST(Arithmetic, StringAdd) {
  op_case("Add").strings({3}, {"a", "", "\xc3\xa9"}).strings({3}, {"x", "yy", "z"}).since(20).check();
}

}  // namespace
}  // namespace t2o::numeric
