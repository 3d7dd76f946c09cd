#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes kTypes = {f32, f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64};

TEST(Unique, Flat) {
  for (const char* op : {"Unique", "UniqueWithCounts"}) {
    op_case(op).values_as(any, {7}, {3, 1, 3, 0, 7, 1, 3}).dtypes(kTypes).check();
    op_case(op).values<float>({7}, {3, NAN, 1, NAN, 3, -0.0F, 0}).attr("out_idx", i64).check();
    op_case(op).values<float>({4}, {INFINITY, NAN, -INFINITY, INFINITY}).check();
    op_case(op).values<std::int64_t>({5}, {1LL << 40, 5, 1LL << 40, -1, 5}).check();
    op_case(op).values<std::uint64_t>({3}, {1ULL << 63, 5, 1ULL << 63}).check();
    op_case(op).values<bool>({4}, {true, false, true, true}).check();
    op_case(op).strings({4}, {"b", "", "a", "b"}).check();
    op_case(op).in(f32, {4}).empty().check();
    op_case(op).i32s({5, 5}, fed).empty().check();
  }
}

TEST(Unique, Axis) {
  for (const char* op : {"UniqueV2", "UniqueWithCountsV2"}) {
    const auto along = [&](std::int64_t axis) {
      return op_case(op).values_as(any, {3, 3}, {1, 2, 1, 3, 4, 3, 1, 2, 1}).ints({axis}).dtypes({f32, f64, i8, i32, i64});
    };
    along(0).check();
    along(1).check();
    along(-1).check();
    op_case(op).values<float>({4, 2}, {1, NAN, 1, NAN, -0.0F, 0, 0, 0}).ints({0}).check();
    op_case(op).values<std::int32_t>({2, 3, 2}, {1, 2, 3, 4, 1, 2, 5, 6, 7, 8, 5, 6}).ints({1}).check();
    op_case(op).values<float>({2, 3, 2}, {1, 2, 3, 4, 1, 2, 5, 6, 7, 8, 5, 6}).ints({0}).check();
    op_case(op).values<float>({2, 3, 2}, {1, 2, 3, 4, 1, 2, 5, 6, 7, 8, 5, 6}).ints({1}).check();
    op_case(op).values<float>({3}, {1, 2, 1}).ints({}).check();
    for (const std::int64_t axis : {0, 1, -1})
      op_case(op).values_as(any, {3, 3}, {1, 2, 1, 3, 4, 3, 1, 2, 1}).ints({axis}, fed).dtypes({f32, i32}).check();
    op_case(op).values<float>({3}, {1, 2, 1}).ints({}, fed).check();
    op_case(op).i32s({1, 2, 1}, fed).ints({0}).attr("out_idx", i64).check();
    for (const Ints& dims : {Ints{3, 0}, {0, 2, 1}, {0, 3}}) op_case(op).in(f32, dims).ints({0}).check();
    op_case(op).in(f32, {0, 2, 1}).ints({1}).without({Mode::rank}).check();
    op_case(op).in(i32, {3, 0}).ints({0}).without({Mode::dims, Mode::rank}).check();
  }
}

TEST(Unique, ListDiff) {
  op_case("ListDiff").values_as(any, {6}, {3, 1, 3, 0, 7, 1}).values_as(any, {3}, {1, 9, 0}).dtypes(kTypes).check();
  op_case("ListDiff").values<float>({6}, {3, NAN, 1, 3, 7, -0.0F}).values<float>({3}, {1, NAN, 0}).attr("out_idx", i64).check();
  op_case("ListDiff").strings({3}, {"a", "b", ""}).strings({2}, {"b", "c"}).check();
  op_case("ListDiff").i32s({1, 2}, fed).i32s({}, fed).check();
  op_case("ListDiff").i32s({}, fed).i32s({1}, fed).check();
  op_case("ListDiff").in(f32, {0}).in(f32, {2}).check();
  op_case("ListDiff").in(f32, {2}).in(f32, {0}).check();
}

const char* const kOperations[] = {"a-b", "b-a", "intersection", "union"};

TEST(Unique, DenseSets) {
  for (const char* how : kOperations) {
    const auto sets = [&] { return op_case("DenseToDenseSetOperation").attr("set_operation", how); };
    sets().values_as(any, {2, 3}, {3, 1, 1, 2, 2, 9}).values_as(any, {2, 2}, {1, 4, 9, 2}).dtypes({i8, u8, i16, u16, i32, i64}).check();
    sets().values<std::int32_t>({1, 2, 3}, {-3, 1, 1, 2, 2, 9}).values<std::int32_t>({1, 2, 2}, {1, 4, -9, 2}).check();
    sets().strings({1, 2}, {"b", "a"}).strings({1, 2}, {"a", ""}).check();
    sets().in(i32, {2, 0}).in(i32, {2, 0}).check();
    sets().in(i32, {0, 2}).in(i32, {0, 3}).check();
  }
}

TEST(Unique, SparseSets) {
  for (const char* how : kOperations) {
    op_case("DenseToSparseSetOperation").values<std::int32_t>({2, 2}, {3, 5, 2, 2}).values<std::int64_t>({5, 2}, {0, 0, 0, 1, 0, 2, 1, 1, 1, 2})
        .i32s({3, 1, 1, 2, 9}, fed).ints({2, 3}, fed).attr("set_operation", how).check();
    op_case("SparseToSparseSetOperation").values<std::int64_t>({5, 2}, {0, 0, 0, 1, 0, 2, 1, 1, 1, 2}).i32s({3, 1, 1, 2, 9}, fed).ints({2, 3}, fed)
        .values<std::int64_t>({3, 2}, {0, 1, 0, 2, 1, 1}).i32s({7, 1, 2}, fed).ints({2, 4}).attr("set_operation", how).check();
    op_case("SparseToSparseSetOperation").values<std::int64_t>({3, 3}, {0, 0, 0, 0, 1, 1, 1, 2, 0}).strings({3}, {"x", "y", "z"}).ints({2, 3, 2}, fed)
        .values<std::int64_t>({1, 3}, {0, 1, 0}).strings({1}, {"y"}).ints({2, 3, 2}, fed).attr("set_operation", how).check();
  }
  op_case("SetSize").values<std::int64_t>({3, 2}, {0, 0, 0, 1, 2, 1}).i32s({1, 1, 2}, fed).ints({3, 2}, fed).check();
  op_case("SetSize").values<std::int64_t>({3, 3}, {0, 0, 0, 0, 1, 1, 1, 2, 0}).strings({3}, {"x", "y", "z"}).ints({2, 3, 2}).check();
}

}  // namespace
}  // namespace t2o::numeric
