#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes kAll{f32, f64, f16, i8, u8, i16, u16, i32, u32, i64, u64, boolean};

const DTypes kNumbers{f32, f64, f16, i8, u8, i16, u16, i32, u32, i64, u64};

TEST(SpaceToDepth, BlocksAndDtypes) {
  op_case("SpaceToDepth")
      .in(any, {2, 4, 6, 3})
      .attr("block_size", std::int64_t{2})
      .dtypes(kAll)
      .empty()
      .check();
  op_case("SpaceToDepth").in(f32, {1, 9, 6, 2}).attr("block_size", std::int64_t{3}).check();
}

TEST(SpaceToDepth, Bfloat16) {
  op_case("SpaceToDepth").in(bf16, {2, 4, 6, 3}).attr("block_size", std::int64_t{2}).since(13).check();
}

TEST(DepthToSpace, BlocksAndDtypes) {
  op_case("DepthToSpace")
      .in(any, {2, 2, 3, 12})
      .attr("block_size", std::int64_t{2})
      .dtypes(kAll)
      .empty()
      .check();
  op_case("DepthToSpace").in(f32, {1, 2, 1, 18}).attr("block_size", std::int64_t{3}).check();
}

TEST(SpaceToBatchND, BlocksAndPaddings) {
  op_case("SpaceToBatchND")
      .in(any, {2, 4, 5, 3})
      .i32s({2, 3})
      .values<std::int32_t>({2, 2}, {0, 0, 1, 0}, constant)
      .dtypes(kNumbers)
      .check();
  op_case("SpaceToBatchND")
      .in(f32, {2, 6, 3})
      .i32s({3})
      .values<std::int32_t>({1, 2}, {2, 1}, constant)
      .check();
  op_case("SpaceToBatchND")
      .in(f32, {2, 4, 2, 6})
      .i32s({2, 1, 3})
      .values<std::int32_t>({3, 2}, {0, 2, 1, 1, 0, 0}, constant)
      .check();
  op_case("SpaceToBatchND")
      .in(f32, {2, 6, 4})
      .i32s({3})
      .values<std::int32_t>({1, 2}, {2, 1})
      .without({Mode::rank})
      .check();
  op_case("SpaceToBatch")
      .in(f32, {2, 4, 5, 3})
      .values<std::int32_t>({2, 2}, {0, 0, 1, 0}, constant)
      .attr("block_size", std::int64_t{2})
      .check();
}

TEST(BatchToSpaceND, BlocksAndCrops) {
  op_case("BatchToSpaceND")
      .in(any, {12, 2, 3, 2})
      .i32s({2, 3})
      .values<std::int32_t>({2, 2}, {0, 1, 2, 0}, constant)
      .dtypes(kNumbers)
      .check();
  op_case("BatchToSpaceND").in(f32, {6, 2}).i32s({3}).values<std::int32_t>({1, 2}, {0, 2}, constant).check();
  op_case("BatchToSpaceND")
      .in(f32, {6, 2, 4})
      .i32s({3})
      .values<std::int32_t>({1, 2}, {1, 1})
      .without({Mode::rank})
      .check();
  op_case("BatchToSpace")
      .in(f32, {8, 2, 3, 2})
      .values<std::int32_t>({2, 2}, {0, 1, 1, 0}, constant)
      .attr("block_size", std::int64_t{2})
      .check();
}

TEST(DataFormat, VectorsAndDims) {
  op_case("DataFormatVecPermute")
      .i32s({10, 20, 30, 40}, fed)
      .check();
  op_case("DataFormatVecPermute")
      .i32s({10, 20, 30, 40}, fed)
      .attr("src_format", "NCHW")
      .attr("dst_format", "NHWC")
      .check();
  op_case("DataFormatVecPermute").i32s({10, 20}, fed).check();
  op_case("DataFormatVecPermute")
      .values<std::int64_t>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})
      .check();
  op_case("DataFormatDimMap").i32s({0, 1, 2, 3, -1, -2, -3, -4}, fed).check();
}

TEST(ExtractPatches, WindowsAndDtypes) {
  for (const char* padding : {"SAME", "VALID"})
    for (const std::int64_t stride : {1, 2, 3})
      for (const std::int64_t rate : {1, 2})
        op_case("ExtractImagePatches")
            .in(f32, {2, 7, 8, 3})
            .attr("ksizes", Ints{1, 2, 3, 1})
            .attr("strides", Ints{1, stride, stride, 1})
            .attr("rates", Ints{1, rate, rate, 1})
            .attr("padding", padding)
            .check();
  op_case("ExtractImagePatches")
      .in(any, {2, 7, 8, 3})
      .attr("ksizes", Ints{1, 2, 3, 1})
      .attr("strides", Ints{1, 2, 2, 1})
      .attr("rates", Ints{1, 1, 1, 1})
      .attr("padding", "SAME")
      .dtypes({f64, i32, i64, u8})
      .empty()
      .check();
  for (const char* padding : {"SAME", "VALID"})
    op_case("ExtractVolumePatches")
        .in(f32, {2, 5, 6, 7, 2})
        .attr("ksizes", Ints{1, 2, 3, 2, 1})
        .attr("strides", Ints{1, 2, 1, 3, 1})
        .attr("padding", padding)
        .check();
  // Windows with gaps: the first begins behind pixels that none covers.
  op_case("ExtractVolumePatches")
      .in(f32, {1, 5, 6, 8, 2})
      .attr("ksizes", Ints{1, 2, 1, 1, 1})
      .attr("strides", Ints{1, 5, 3, 4, 1})
      .attr("padding", "SAME")
      .check();
}

}  // namespace
}  // namespace t2o::numeric
