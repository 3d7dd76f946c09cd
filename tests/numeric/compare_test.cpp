#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes kNumbers = {f32, f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64};
const DTypes kInts = {i8, u8, i16, u16, i32, u32, i64, u64};

TEST(Compare, Numbers) {
  for (const char* op : {"Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"}) {
    op_case(op).in(any, {4, 5}).range(0, 4).in(any, {4, 5}).range(0, 4).dtypes(kNumbers).check();
    op_case(op).in(f32, {4, 1}).in(f32, {5}).nan_inf().empty().check();
    op_case(op).values<std::int64_t>({2}, {(1LL << 60) + 1, 5}).values<std::int64_t>({2}, {1LL << 60, 5}).check();
  }
}

TEST(Compare, BooleansAndStrings) {
  for (const char* op : {"Equal", "NotEqual"}) {
    op_case(op).in(boolean, {4, 5}).in(boolean, {5}).check();
    op_case(op).strings({3}, {"a", "b", ""}).strings({3}, {"a", "c", ""}).check();
    op_case(op).strings({2, 1}, {"a", "b"}).strings({3}, {"a", "c", "b"}).check();
    op_case(op).strings({2, 1}, {"a", "b"}).strings({}, {"b"}, constant).check();
    op_case(op).strings({0}, {}).strings({}, {"b"}, constant).check();
  }
}

TEST(Compare, IncompatibleShapes) {
  for (const char* op : {"Equal", "NotEqual"}) {
    op_case(op).in(i32, {3}).in(i32, {3}).attr("incompatible_shape_error", false).check();
    op_case(op).in(i32, {3}).in(i32, {4}).attr("incompatible_shape_error", false).without({Mode::batch, Mode::dims, Mode::rank}).check();
  }
}

TEST(Compare, ApproximateEqual) {
  op_case("ApproximateEqual").in(any, {4, 5}).range(0, 1).in(any, {4, 5}).range(0, 1).attr("tolerance", 0.3F).dtypes({f32, f64}).nan_inf().check();
  op_case("ApproximateEqual").values<float>({3}, {1, 2, 3}).values<float>({3}, {1.25F, 2.5F, 3}).attr("tolerance", 0.25F).check();
}

TEST(Compare, Logic) {
  for (const char* op : {"LogicalAnd", "LogicalOr"}) op_case(op).in(boolean, {4, 5}).in(boolean, {5}).check();
  op_case("LogicalNot").in(boolean, {4, 5}).empty().check();
}

TEST(Compare, Bits) {
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) op_case(op).in(any, {4, 5}).in(any, {5}).dtypes(kInts).check();
  for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) {
    op_case(op).in(any, {4, 5}).in(any, {4, 5}).dtypes({i8, u64}).empty().check();
    op_case(op).values<std::int64_t>({4}, {INT64_MIN, -1, INT64_MAX, 5}).values<std::int64_t>({2, 1}, {-2, INT64_MIN}).check();
    op_case(op).values<std::uint64_t>({3}, {UINT64_MAX, 1ULL << 63, 6}).values<std::uint64_t>({3}, {UINT64_MAX - 1, 1ULL << 63, 3}).check();
    op_case(op).values<std::int8_t>({4}, {-128, -1, 127, 5}).values<std::int8_t>({}, {-127}).check();
    for (const std::int32_t mask : {0, 1, 255, INT32_MAX, INT32_MIN, -1, 6}) op_case(op).values<std::int32_t>({3}, {-7, 1234567, INT32_MIN}).scalar(mask).check();
  }
  op_case("Invert").in(any, {4, 5}).dtypes(kInts).check();
}

TEST(Compare, Shifts) {
  for (const char* op : {"LeftShift", "RightShift"}) {
    op_case(op).in(any, {4, 5}).range(0, 100).values_as(any, {5}, {0, 1, 2, 5, 7}).dtypes(kInts).check();
    op_case(op).values_as(any, {5}, {1, -1, -8, -100, 100}).values_as(any, {5}, {31, 40, 1, -1, 3}).dtypes({i8, i16, i32, i64}).check();
    op_case(op).values_as(any, {3}, {1, 200, 255}).values_as(any, {3}, {8, 40, 3}).dtypes({u8, u16, u32, u64}).check();
    op_case(op).in(i32, {4, 5}).scalar<std::int32_t>(3).check();
  }
}

}  // namespace
}  // namespace t2o::numeric
