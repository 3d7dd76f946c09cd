#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes kAll = {f32, f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64, boolean};

TEST(Slice, Slice) {
  op_case("Slice").in(any, {3, 4}).i32s({1, 0}).i32s({2, 3}).dtypes(kAll).check();
  op_case("Slice").in(f32, {3, 4}).ints({0, 1}).ints({-1, -1}).empty().check();
  op_case("Slice").in(f32, {3, 4}).ints({0, 0}).ints({-1, -1}).check();
  op_case("Slice").in(f32, {3, 4}).i32s({1, 0}, fed).i32s({2, -1}).check();
  op_case("Slice").in(f32, {3, 4}).i32s({1, 2}, fed).i32s({-1, 1}, fed).check();
  op_case("Slice").in(f32, {3, 4}).ints({1, 2}).ints({-1, 1}, fed).check();
  op_case("Slice").in(f32, {3, 4}).i32s({1, 4}).i32s({0, 0}).check();
  op_case("Slice").in(f32, {}).i32s({}).i32s({}).check();
  op_case("Slice").strings({3}, {"a", "b", "c"}).i32s({1}).i32s({2}).check();
}

TEST(Slice, Split) {
  op_case("Split").scalar<std::int32_t>(1).in(any, {2, 6}).attr("num_split", std::int64_t{3}).dtypes(kAll).check();
  op_case("Split").scalar<std::int32_t>(0).in(f32, {4, 2}).attr("num_split", std::int64_t{2}).empty().check();
  op_case("Split").scalar<std::int32_t>(-1).in(f32, {2, 6}).attr("num_split", std::int64_t{1}).check();
}

TEST(Slice, SplitV) {
  const auto split = [](std::vector<std::int32_t> sizes, std::int32_t axis) {
    const auto n = static_cast<std::int64_t>(sizes.size());
    return op_case("SplitV").in(f32, {2, 7}).i32s(sizes).scalar<std::int32_t>(axis).attr("num_split", n);
  };
  split({2, 5}, 1).check();
  split({2, -1, 1}, 1).check();
  split({-1, 3}, -1).check();
  split({3, -1}, 1).check();
  split({0, -1, 0, 2, 0}, 1).check();
  split({-1, 7}, 1).check();
  const auto at_run_time = [](const Ints& sizes, std::int32_t axis) {
    return op_case("SplitV").in(any, {2, 7}).ints(sizes, fed).scalar(axis).attr("num_split", static_cast<std::int64_t>(sizes.size()));
  };
  at_run_time({2, -1, 4}, 1).dtypes({f32, f64, i32, boolean}).check();
  at_run_time({-1, 0, 7}, -1).dtypes({f32}).check();
  at_run_time({1, 1}, 0).dtypes({f32}).check();
}

TEST(Slice, SplitAlongRuntimeAxis) {
  for (const std::int32_t axis : {0, 1, -1}) {
    op_case("Split").scalar(axis, fed).in(any, {2, 4, 6}).attr("num_split", std::int64_t{2}).dtypes({f32, i8, boolean}).check();
    op_case("SplitV").in(f32, {5, 5, 5}).i32s({2, -1, 1}).scalar(axis, fed).attr("num_split", std::int64_t{3}).check();
    op_case("SplitV").in(f32, {5, 5, 5}).i32s({2, -1, 1}, fed).scalar(axis, fed).attr("num_split", std::int64_t{3}).check();
  }
  op_case("Split").scalar<std::int32_t>(1, fed).in(f32, {2, 6}).attr("num_split", std::int64_t{2}).empty().check();
  op_case("Split").scalar<std::int32_t>(1, fed).in(f32, {2, 6}).attr("num_split", std::int64_t{1}).check();
  op_case("SplitV").in(f32, {2, 7}).i32s({2, 5}).scalar<std::int32_t>(-1, fed).attr("num_split", std::int64_t{2}).check();
  op_case("Split").scalar<std::int32_t>(-1, fed).in(c64, {2, 6}).attr("num_split", std::int64_t{2}).check();
}

TEST(Slice, Unpack) {
  op_case("Unpack").in(any, {3, 2}).attr("num", std::int64_t{3}).dtypes(kAll).check();
  op_case("Unpack").in(f32, {2, 3, 4}).attr("num", std::int64_t{3}).attr("axis", std::int64_t{-2}).check();
  op_case("Unpack").in(f32, {2}).attr("num", std::int64_t{2}).check();
}

}  // namespace
}  // namespace t2o::numeric
