#include <gtest/gtest.h>

#include <limits>

#include "harness.h"

namespace t2o::numeric {
namespace {

struct Spec {
  std::vector<std::int32_t> begin, end, strides;
  std::int64_t begin_mask = 0, end_mask = 0, ellipsis_mask = 0, new_axis_mask = 0, shrink_axis_mask = 0;
};

Case sliced(const Spec& s, Kind kind = constant, DType dtype = f32) {
  Case c = op_case("StridedSlice").in(dtype, {4, 5, 6}).i32s(s.begin, kind).i32s(s.end, kind).i32s(s.strides);
  c.attr("begin_mask", s.begin_mask).attr("end_mask", s.end_mask).attr("ellipsis_mask", s.ellipsis_mask);
  c.attr("new_axis_mask", s.new_axis_mask).attr("shrink_axis_mask", s.shrink_axis_mask);
  return c;
}

TEST(StridedSlice, Ranges) {
  for (const Kind kind : {constant, fed}) {
    sliced({{1, 0}, {3, 4}, {1, 2}}, kind).check();
    sliced({{0, 0, 1}, {0, 0, 6}, {1, 1, 2}, 3, 3}, kind).check();
    sliced({{-3}, {-1}, {1}}, kind).check();
    sliced({{9}, {-9}, {-1}}, kind).check();
    sliced({{-9}, {9}, {1}}, kind).check();
    sliced({{3}, {0}, {-2}}, kind).check();
    sliced({{0, 0}, {0, 0}, {-1, -2}, 3, 3}, kind).check();
    sliced({{2}, {2}, {1}}, kind).check();
    sliced({{3}, {1}, {1}}, kind).check();
    sliced({{0, 4}, {0, -1}, {1, -1}, 1, 1}, kind).check();
  }
}

TEST(StridedSlice, Indices) {
  for (const Kind kind : {constant, fed}) {
    sliced({.begin = {1}, .end = {2}, .strides = {1}, .shrink_axis_mask = 1}, kind).check();
    sliced({.begin = {-1}, .end = {0}, .strides = {1}, .shrink_axis_mask = 1}, kind).check();
    sliced({.begin = {2, 1, -2}, .end = {3, 2, -1}, .strides = {1, 1, 1}, .shrink_axis_mask = 7}, kind).check();
    sliced({.begin = {2, 1, 3}, .end = {3, 4, 4}, .strides = {1, 2, 1}, .shrink_axis_mask = 5}, kind).check();
    sliced({.begin = {0, 3}, .end = {0, 4}, .strides = {1, 1}, .begin_mask = 1, .end_mask = 1, .shrink_axis_mask = 2}, kind).check();
  }
}

TEST(StridedSlice, EllipsisAndNewAxes) {
  for (const Kind kind : {constant, fed}) {
    // x[..., 1]
    sliced({.begin = {0, 1}, .end = {0, 2}, .strides = {1, 1}, .ellipsis_mask = 1, .shrink_axis_mask = 2}, kind).check();
    // x[1, ..., 2:4]
    sliced({.begin = {1, 0, 2}, .end = {2, 0, 4}, .strides = {1, 1, 1}, .ellipsis_mask = 2, .shrink_axis_mask = 1}, kind).check();
    // x[:, None]
    sliced({.begin = {0, 0}, .end = {0, 0}, .strides = {1, 1}, .begin_mask = 1, .end_mask = 1, .new_axis_mask = 2}, kind).check();
    // x[None, 1, ..., None]
    sliced({.begin = {0, 1, 0, 0}, .end = {0, 2, 0, 0}, .strides = {1, 1, 1, 1}, .ellipsis_mask = 4, .new_axis_mask = 9, .shrink_axis_mask = 2}, kind).check();
    // x[..., None, 1:3, 2]
    sliced({.begin = {0, 0, 1, 2}, .end = {0, 0, 3, 3}, .strides = {1, 1, 1, 1}, .ellipsis_mask = 1, .new_axis_mask = 2, .shrink_axis_mask = 8}, kind).check();
    // x[..., 1, 2]: two indices counted from the back
    sliced({.begin = {0, 1, 2}, .end = {0, 2, 3}, .strides = {1, 1, 1}, .ellipsis_mask = 1, .shrink_axis_mask = 6}, kind).check();
    // x[0:2, ..., ::-1]
    sliced({.begin = {0, 0, 0}, .end = {2, 0, 0}, .strides = {1, 1, -1}, .begin_mask = 4, .end_mask = 4, .ellipsis_mask = 2}, kind).check();
  }
}

TEST(StridedSlice, MoreThanTheAxes) {  // the ellipsis stands for nothing
  sliced({.begin = {0, 0, 1, 0}, .end = {2, 3, 4, 0}, .strides = {1, 1, 1, 1}, .ellipsis_mask = 8}).check();
}

TEST(StridedSlice, Dtypes) {
  for (const DType t : {f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64, boolean}) {
    sliced({{1, 0}, {3, 4}, {1, 2}}, constant, t).check();
    sliced({.begin = {1}, .end = {2}, .strides = {1}, .shrink_axis_mask = 1}, constant, t).check();
  }
}

TEST(StridedSlice, RuntimeStrides) {
  op_case("StridedSlice").in(f32, {4, 5}).i32s({0}).i32s({3}).i32s({2}, fed).check();
  op_case("StridedSlice").in(f32, {4, 5}).i32s({3, 4}, fed).i32s({0, 0}, fed).i32s({-2, -1}, fed).check();
  op_case("StridedSlice").in(any, {4, 5, 6}).ints({3, 1}, fed).ints({0, 4}, fed).ints({-2, 1}, fed).dtypes({f32, u8, boolean}).empty().check();
  op_case("StridedSlice").in(f32, {4, 5, 6}).i32s({-9, 1, 4}, fed).i32s({0, 4, -9}, fed).i32s({-2, 2, -1}, fed).check();
  op_case("StridedSlice").in(f32, {4, 5, 6}).i32s({1, 1, 4}, fed).i32s({3, 4, 5}, fed).i32s({-2, 2, 1}, fed)
      .attr("begin_mask", std::int64_t{1}).attr("end_mask", std::int64_t{3}).check();
  op_case("StridedSlice").in(f32, {4}).i32s({}, fed).i32s({}, fed).i32s({}, fed).check();
  op_case("StridedSlice").in(f32, {4, 5}).i32s({1}, fed).i32s({0}, fed).i32s({1}, fed).attr("shrink_axis_mask", std::int64_t{1})
      .refuses(Code::not_constant, "only known at run time", {Mode::batch, Mode::dims, Mode::rank}).check();
  for (const std::int32_t step : {-2, 2})
    op_case("StridedSlice").in(f32, {4, 5}).i32s({1, 1}).i32s({3, 2}).i32s({1, step}, fed).attr("begin_mask", std::int64_t{2})
        .attr("end_mask", std::int64_t{2}).attr("shrink_axis_mask", std::int64_t{1}).check();
  op_case("StridedSlice").in(f32, {4, 5}).i32s({0, 0, 3}).i32s({0, 0, 0}).i32s({1, 1, -1}, fed).attr("ellipsis_mask", std::int64_t{1})
      .attr("new_axis_mask", std::int64_t{2}).check();
}

// Which takes nothing, and is no open end.
TEST(StridedSlice, BackToBehindTheLast) {
  sliced({{2, 0}, {std::numeric_limits<std::int32_t>::max(), 3}, {-1, 1}}).check();
}

TEST(StridedSlice, BackFromBeforeTheFirst) {
  for (const Kind kind : {constant, fed})
    for (const std::int32_t begin : {-4, -3, -2, -1, 1})
      op_case("StridedSlice").in(f32, {3, 2}).i32s({begin}, kind).i32s({-5}, kind).i32s({-2}).attr("begin_mask", std::int64_t{0})
          .attr("end_mask", std::int64_t{1}).check();
}

}  // namespace
}  // namespace t2o::numeric
