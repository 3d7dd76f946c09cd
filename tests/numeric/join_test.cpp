#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes kAll{f32, f64, f16, i8, u8, i16, u16, i32, u32, i64, u64, boolean};

TEST(Concat, AxesAndDtypes) {
  for (const std::int32_t axis : {0, 1, -1, -2})
    op_case("ConcatV2").in(f32, {2, 3}).in(f32, {2, 3}).in(f32, {2, 3}).as_list(3).scalar(axis).check();
  op_case("ConcatV2")
      .in(any, {2, 3})
      .in(any, {2, 5})
      .as_list(2)
      .scalar<std::int64_t>(1)
      .dtypes(kAll)
      .empty()
      .check();
  op_case("ConcatV2").strings({2}, {"a", "b"}).strings({1}, {"c"}).as_list(2).scalar<std::int32_t>(0).check();
  op_case("Concat").scalar<std::int32_t>(1).in(f32, {2, 3}).in(f32, {2, 5}).as_list(2).check();
}

TEST(Concat, RuntimeAxis) {
  for (const std::int32_t axis : {0, 2, -2})
    op_case("ConcatV2").in(f32, {2, 3, 4}).in(f32, {2, 3, 4}).as_list(2).scalar(axis, fed).check();
  op_case("ConcatV2").in(any, {2, 3}).in(any, {2, 5}).as_list(2).scalar<std::int64_t>(1, fed).dtypes(kAll).empty().check();
  op_case("ConcatV2").in(f32, {2, 3}).in(f32, {0, 3}).as_list(2).scalar<std::int32_t>(0, fed).check();
  op_case("ConcatV2").strings({2, 1}, {"a", "b"}).strings({1, 1}, {"c"}).as_list(2).scalar<std::int32_t>(0, fed).check();
  op_case("ConcatV2").in(c64, {2, 3}).in(c64, {2, 5}).as_list(2).scalar<std::int32_t>(-1, fed).check();
  op_case("Concat").scalar<std::int32_t>(1, fed).in(f32, {2, 3}).in(f32, {2, 5}).as_list(2).check();
}

TEST(Concat, Bfloat16) {
  op_case("ConcatV2").in(bf16, {2, 3}).in(bf16, {2, 5}).as_list(2).scalar<std::int32_t>(1).since(13).check();
}

TEST(ConcatOffset, Offsets) {
  op_case("ConcatOffset")
      .scalar<std::int32_t>(1)
      .i32s({2, 3, 5}, fed)
      .i32s({2, 4, 5}, fed)
      .i32s({2, 6, 5}, fed)
      .as_list(3)
      .check();
}

TEST(Pack, AxesAndDtypes) {
  for (const std::int64_t axis : {0, 1, 2, -1, -3})
    op_case("Pack").in(f32, {2, 3}).in(f32, {2, 3}).as_list(2).attr("axis", axis).check();
  op_case("Pack").in(any, {}).in(any, {}).as_list(2).dtypes(kAll).check();
  op_case("Pack").in(f32, {2, 3}).as_list(1).empty().check();
  op_case("Pack").strings({}, {"a"}).strings({}, {"c"}).as_list(2).check();
}

TEST(ParallelConcat, Rows) {
  op_case("ParallelConcat")
      .in(f32, {1, 3})
      .in(f32, {1, 3})
      .as_list(2)
      .attr("shape", Shape({2, 3}))
      .only_opsets({11, 21})
      .without({Mode::batch, Mode::dims, Mode::rank})
      .check();
}

TEST(Tile, MultiplesAndDtypes) {
  for (const Kind kind : {constant, fed}) op_case("Tile").in(f32, {2, 3}).i32s({2, 3}, kind).check();
  op_case("Tile").in(f32, {2, 3}).i32s({2, 3}).empty().check();
  op_case("Tile").in(bf16, {2, 3}).i32s({2, 3}).since(13).check();
  op_case("Tile")
      .in(any, {2, 3})
      .ints({1, 2})
      .dtypes({f32, f64, f16, i8, u8, i16, i32, i64, boolean})
      .check();
  op_case("Tile").in(f32, {2, 3}).i32s({0, 2}).check();
  op_case("Tile").in(f32, {}).ints({}).check();
}

// TensorFlow makes TemporaryVariables of it, for which it wants to know the shapes.
TEST(AccumulateNV2, Sums) {
  op_case("AccumulateNV2")
      .in(any, {2, 3})
      .in(any, {2, 3})
      .in(any, {2, 3})
      .as_list(3)
      .attr("shape", Shape({2, 3}))
      .dtypes({f32, f64, i32, i64})
      .without({Mode::batch, Mode::dims, Mode::rank})
      .check();
}

// Each pixel so many times, as tf.repeat spells it: none of them is an empty image.
TEST(Join, RepeatedPixels) {
  for (const int axis : {1, 2, 3})
    for (const int times : {0, 1, 3})
      graph_case("repeat", [=](Builder& b) {
        std::vector<std::int32_t> repeats(5, 1), dims = {2, 4, 5, 3};
        repeats[static_cast<std::size_t>(axis) + 1] = times;
        dims[static_cast<std::size_t>(axis)] *= times;
        const std::string column = b.op("ExpandDims", {b.input(f32, {2, 4, 5, 3}), b.const_input(Tensor::scalar<std::int32_t>(axis + 1))});
        const std::string tiled = b.op("Tile", {column, b.constant_of<std::int32_t>({5}, repeats)});
        b.output(b.op("Reshape", {tiled, b.constant_of<std::int32_t>({4}, dims)}));
      }).only_opsets({11, 13, 18, 21}).note(std::to_string(times) + " times along " + std::to_string(axis)).check();
}

}  // namespace
}  // namespace t2o::numeric
