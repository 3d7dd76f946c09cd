#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness.h"

namespace t2o::numeric {
namespace {

TEST(Misc, PopulationCount) {
  op_case("PopulationCount").in(any, {3, 4}).range(0, 100).dtypes({i8, u8, i16, u16, i32, u32, i64, u64}).check();
  op_case("PopulationCount").values_as(any, {3}, {-1, -128, 127}).dtypes({i8, i16, i32, i64}).check();
}

TEST(Misc, StridedSliceUpdate) {
  op_case("TensorStridedSliceUpdate").in(any, {4, 5}).i32s({1, 0}).i32s({3, 5}).i32s({1, 2}).in(any, {2, 3}).dtypes({f32, i32, i64}).check();
  op_case("TensorStridedSliceUpdate").in(f32, {4, 5}).i32s({1, 3}).i32s({3, 0}).i32s({1, -1}).in(f32, {2, 3}).check();
  op_case("TensorStridedSliceUpdate").in(f32, {4, 5, 2}).i32s({0, 1}).i32s({0, 2}).i32s({1, 1}).in(f32, {4, 5}).attr("ellipsis_mask", std::int64_t{1}).attr("shrink_axis_mask", std::int64_t{2}).check();
}

TEST(Misc, StridedSliceGrad) {
  op_case("StridedSliceGrad").i32s({4, 5}).i32s({1, 0}).i32s({3, 5}).i32s({1, 2}).in(any, {2, 3}).dtypes({c64, c128}).check();
  op_case("TensorStridedSliceUpdate").in(c64, {4, 5}).i32s({1, 0}).i32s({3, 5}).i32s({1, 2}).in(c64, {2, 3}).check();
  for (const Kind kind : {constant, fed})
    op_case("StridedSliceGrad").i32s({4, 5}, kind).i32s({1, 0}).i32s({3, 5}).i32s({1, 2}).in(any, {2, 3}).dtypes({f32, i64}).check();
}

TEST(Misc, InplaceUpdates) {
  for (const char* op : {"InplaceUpdate", "InplaceAdd", "InplaceSub"})
    op_case(op).in(any, {4, 3}).i32s({2, 0}, fed).in(any, {2, 3}).dtypes({f32, i32}).since(16).check();
}

TEST(Misc, LowestIntegersByMinusOne) {
  constexpr auto kLowest = std::numeric_limits<std::int32_t>::min();
  constexpr auto kLowest64 = std::numeric_limits<std::int64_t>::min();
  for (const char* op : {"Div", "FloorDiv", "TruncateDiv", "FloorMod", "Mod", "TruncateMod"})
    for (const Kind kind : {constant, fed}) {
      op_case(op).values<std::int32_t>({5}, {kLowest, kLowest, 7, -7, 0}).values<std::int32_t>({5}, {-1, 2, -1, -2, -1}, kind).check();
      op_case(op).values<std::int64_t>({5}, {kLowest64, kLowest64, 7, -7, 0}).values<std::int64_t>({5}, {-1, 2, -1, -2, -1}, kind).check();
    }
}

TEST(Misc, SumsWrapAround) {
  constexpr std::int32_t kLarge = 1 << 30;
  op_case("Sum").values<std::int32_t>({2, 3}, {kLarge, kLarge, kLarge, 1, 2, 3}).i32s({1}).check();
}

TEST(Misc, StitchWithGaps) {
  op_case("DynamicStitch").i32s({0, 5}).i32s({2}).as_list(2).in(f32, {2, 3}).in(f32, {1, 3}).as_list(2).check();
}

TEST(Misc, GatherOfStrings) {
  op_case("GatherV2").strings({2, 3}, {"a", "bc", "", "d", "e", "fgh"}).i32s({2, 0}, fed).scalar<std::int32_t>(1).check();
}

TEST(Misc, InplaceAddsBelowScatterNdOfSums) {
  for (const char* op : {"InplaceAdd", "InplaceSub"})
    op_case(op).in(i8, {3, 4, 1}).i32s({1, 2}, fed).in(i8, {2, 4, 1}, constant).only_opsets({13, 18}).check();
  for (const char* op : {"InplaceAdd", "InplaceSub"})
    for (const Kind kind : {constant, fed})
      op_case(op)
          .in(any, {4, 3})
          .i32s({2, 0, 2}, kind)
          .in(any, {3, 3})
          .dtypes({f32, f64, f16, i32, i64, u8})
          .only_opsets({11, 15, 16})
          .check();
}

TEST(Misc, UnaryOpsComposition) {
  op_case("_UnaryOpsComposition").in(any, {2, 3}).attr("op_names", Strings{"Abs", "Sqrt", "Tanh"}).dtypes({f32, f64}).check();
}

TEST(Misc, DeviceIndex) {
  for (const Strings& names : std::vector<Strings>{{"CPU", "GPU"}, {"GPU", "CPU"}, {"TPU"}}) op_case("DeviceIndex").attr("device_names", names).check();
}

TEST(Misc, NearestNeighbors) {
  for (const Kind kind : {fed, constant}) op_case("NearestNeighbors").in(f32, {7, 3}).in(f32, {5, 3}, kind).scalar<std::int64_t>(2, kind).tol(1e-4, 1e-4).check();
  op_case("NearestNeighbors").in(f32, {2, 3}).in(f32, {3, 3}).scalar<std::int64_t>(9).tol(1e-4, 1e-4).note("more than there are").check();
}

TEST(Misc, ToBool) {
  for (const float x : {0.0F, -0.5F}) op_case("ToBool").scalar(x, fed).check();
  for (const Ints& dims : {Ints{1}, Ints{2, 0}, Ints{2, 3}}) op_case("ToBool").in(any, dims).dtypes({f32, i32, i64}).check();
  op_case("ToBool").values<float>({1}, {0}).empty().check();
}

TEST(Misc, IsotonicRegression) {
  op_case("IsotonicRegression").values<float>({2, 6}, {6, 2, 4, 3, 3, 1, 1, 1, 2, 2, 5, 4}).check();
  op_case("IsotonicRegression").in(f64, {2, 3, 9}).attr("output_dtype", f64).check();
  op_case("IsotonicRegression").in(f32, {5}).check();
  op_case("IsotonicRegression").in(f32, {3, 1}).check();
  op_case("IsotonicRegression").values<float>({4, 5}, {1, 3, NAN, 2, 5, 3, INFINITY, 1, -INFINITY, 5, NAN, 1, 2, NAN, NAN, 5, 4, -INFINITY, -INFINITY, 7}).check();
  op_case("IsotonicRegression").in(f64, {7, 9}).attr("output_dtype", f64).nan_inf().check();
}

}  // namespace
}  // namespace t2o::numeric
