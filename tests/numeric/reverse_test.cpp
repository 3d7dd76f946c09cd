#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes kAll = {f32, f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64, boolean};

TEST(Reverse, Axes) {
  op_case("ReverseV2").in(any, {3, 4}).i32s({1}).dtypes(kAll).check();
  op_case("ReverseV2").in(f32, {2, 3, 4}).i32s({-1, 0}).empty().check();
  op_case("ReverseV2").in(f32, {}).i32s({}).check();
  op_case("ReverseV2").in(f32, {2, 3}).i32s({}).check();
  op_case("ReverseV2").in(f32, {}).i32s({}, fed).without({Mode::rank}).check();
  op_case("ReverseV2").in(f32, {2, 3, 4}).ints({0, -1}, fed).check();
  op_case("ReverseV2").strings({3}, {"a", "b", "c"}).i32s({0}).check();
  op_case("Reverse").in(f32, {2, 3}).values<bool>({2}, {false, true}, constant).check();
  op_case("Reverse").in(any, {2, 3, 2}).values<bool>({3}, {true, false, true}).dtypes({f32, u8, i32}).check();
  op_case("Reverse").in(f32, {2, 3}).values<bool>({2}, {false, false}).check();
  op_case("Reverse").in(f32, {}).values<bool>({0}, {}).without({Mode::rank}).check();
}

TEST(Reverse, Sequence) {
  const auto sequence = [](std::int64_t time, std::int64_t batch, const Ints& dims, const Ints& lengths) {
    return op_case("ReverseSequence").in(f32, dims).ints(lengths, fed).attr("seq_dim", time).attr("batch_dim", batch);
  };
  sequence(1, 0, {3, 4, 2}, {0, 2, 4}).check();
  sequence(0, 1, {4, 3}, {1, 0, 4}).check();
  sequence(2, 0, {3, 2, 4}, {1, 3, 4}).check();
  sequence(0, 2, {4, 2, 3}, {1, 3, 4}).check();
  sequence(3, 1, {2, 3, 2, 4, 2}, {1, 3, 4}).check();
  sequence(1, 3, {2, 4, 2, 3, 2}, {1, 3, 4}).check();
  op_case("ReverseSequence").in(any, {3, 4}).i32s({0, 2, 4}).attr("seq_dim", std::int64_t{1}).dtypes(kAll).check();
}

TEST(Reverse, Roll) {
  for (const std::int32_t shift : {1, -1, 0, 7, -9}) op_case("Roll").in(f32, {3, 4}).i32s({shift}).i32s({1}).check();
  op_case("Roll").in(any, {3, 4}).i32s({1, -2}).i32s({0, -1}).dtypes(kAll).check();
  op_case("Roll").in(f32, {3, 4}).i32s({1, 1}).i32s({0, 0}).empty().check();
  op_case("Roll").in(f32, {5}).scalar<std::int32_t>(2, fed).scalar<std::int32_t>(0).check();
  op_case("Roll").in(f32, {5}).scalar<std::int32_t>(2).scalar<std::int32_t>(0, fed).check();
  op_case("Roll").in(any, {2, 3, 4}).i32s({1, -2, 5}, fed).i32s({0, -1, 1}, fed).dtypes(kAll).empty().check();
  op_case("Roll").in(f32, {2, 3}).i32s({}, fed).i32s({}, fed).check();
}

}  // namespace
}  // namespace t2o::numeric
