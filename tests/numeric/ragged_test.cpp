#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

TEST(Ragged, Range) {
  op_case("RaggedRange").values_as(any, {3}, {0, 5, 8}).values_as(any, {3}, {3, 5, 2}).values_as(any, {3}, {1, 1, -2}).dtypes({f32, f64, i32, i64}).check();
  op_case("RaggedRange").i32s({0, 7, -3}, fed).i32s({10, -4, 9}, fed).i32s({3, -3, 4}, fed).attr("Tsplits", i32).check();
  op_case("RaggedRange").values<std::int32_t>({}, {0}).i32s({3, 5}, fed).scalar<std::int32_t>(1).check();
  op_case("RaggedRange").values<std::int32_t>({}, {3}).values<std::int32_t>({}, {0}).scalar<std::int32_t>(1).check();
  op_case("RaggedRange").values<float>({2}, {0, 1}).values<float>({2}, {0.35F, 0}).scalar<float>(0.1F).check();
  op_case("RaggedRange").values<std::int32_t>({}, {0}).values<std::int32_t>({}, {5}).values<std::int32_t>({}, {2}, constant).check();
  op_case("RaggedRange").values<std::int32_t>({0}, {}).values<std::int32_t>({0}, {}).scalar<std::int32_t>(1).check();
}

Case gathered(const std::vector<Ints>& splits, Ints values, Ints index_dims, const std::vector<std::int32_t>& indices, std::int64_t rank) {
  Case c = op_case("RaggedGather");
  for (const Ints& s : splits) c.ints(s, fed);
  c.as_list(splits.size()).in(f32, std::move(values)).values<std::int32_t>(std::move(index_dims), indices).attr("OUTPUT_RAGGED_RANK", rank);
  return c;
}

TEST(Ragged, Gather) {
  gathered({{0, 2, 2, 5}}, {5}, {4}, {2, 1, 0, 2}, 1).check();
  gathered({{0, 2, 2, 5}, {0, 1, 3, 3, 4, 6}}, {6, 2}, {3}, {2, 1, 0}, 2).check();
  gathered({{0, 2, 2, 5}}, {5}, {2, 2}, {2, 1, 0, 2}, 2).check();
  gathered({{0, 2, 2, 5}}, {5}, {1, 2, 2}, {2, 1, 0, 2}, 3).check();
  gathered({{0, 2, 2, 5}}, {5}, {}, {2}, 0).check();
  gathered({{0, 2, 2, 5}, {0, 1, 3, 3, 4, 6}}, {6}, {}, {2}, 1).check();
  gathered({{0, 2, 2, 5}}, {5}, {0}, {}, 1).check();
  gathered({{0, 2, 2, 5}}, {5}, {1}, {1}, 1).note("an empty row").check();
  op_case("RaggedGather").i32s({0, 2, 2, 5}, fed).as_list(1).strings({5}, {"a", "b", "c", "d", "e"}).ints({2, 0}).attr("OUTPUT_RAGGED_RANK", std::int64_t{1}).check();
}

Case to_tensor(const Ints& shape, Ints values, DType type = f32) {
  return op_case("RaggedTensorToTensor").ints(shape).in(type, std::move(values));
}
const Strings kSplits = {"ROW_SPLITS"};
const Strings kTwoSplits = {"ROW_SPLITS", "ROW_SPLITS"};

TEST(Ragged, ToTensor) {
  const DTypes types = {f32, f64, f16, i8, u8, i32, i64, boolean};
  to_tensor({-1, -1}, {5}, any).in(any, {}).ints({0, 2, 2, 5}, fed).as_list(1).attr("row_partition_types", kSplits).dtypes(types).check();
  for (const Ints& shape : {Ints{4, 2}, Ints{2, 4}, Ints{-1, 2}, Ints{2, -1}, Ints{0, 0}})
    to_tensor(shape, {5}).scalar<float>(-1).ints({0, 2, 2, 5}, fed).as_list(1).attr("row_partition_types", kSplits).check();
  op_case("RaggedTensorToTensor").ints({-1, 2}, fed).in(f32, {5}).scalar<float>(-1).ints({0, 2, 2, 5}, fed).as_list(1).attr("row_partition_types", kSplits).check();
  op_case("RaggedTensorToTensor").values<std::int32_t>({}, {-1}, constant).in(f32, {3, 2}).scalar<float>(-1).i32s({0, 1, 3}, fed).as_list(1).attr("row_partition_types", kSplits).check();
  to_tensor({-1, -1}, {0}).scalar<float>(-1).ints({0, 0, 0}, fed).as_list(1).attr("row_partition_types", kSplits).check();
  to_tensor({-1, -1}, {0}).scalar<float>(-1).ints({0}, fed).as_list(1).attr("row_partition_types", kSplits).check();
  op_case("RaggedTensorToTensor").ints({-1, -1}).strings({2}, {"a", "b"}).strings({}, {""}).ints({0, 0, 2}, fed).as_list(1).attr("row_partition_types", kSplits).check();
}

TEST(Ragged, ToTensorOfRowIds) {
  const Strings ids = {"FIRST_DIM_SIZE", "VALUE_ROWIDS"};
  to_tensor({-1, -1}, {5}).scalar<float>(0).scalar<std::int64_t>(4, fed).ints({0, 0, 2, 2, 2}, fed).as_list(2).attr("row_partition_types", ids).check();
  to_tensor({2, -1}, {5}).scalar<float>(0).scalar<std::int64_t>(4).ints({0, 0, 2, 2, 2}).as_list(2).attr("row_partition_types", ids).check();
  to_tensor({-1, -1, -1}, {5}).scalar<float>(0).scalar<std::int64_t>(3).ints({0, 2, 2}, fed).ints({0, 0, 1, 2, 2}, fed).as_list(3)
      .attr("row_partition_types", Strings{"FIRST_DIM_SIZE", "VALUE_ROWIDS", "VALUE_ROWIDS"}).check();
}

TEST(Ragged, ToTensorNested) {
  for (const Ints& shape : {Ints{-1, -1, -1}, Ints{-1, 1, 2}, Ints{3, 3, 4}})
    to_tensor(shape, {5}).scalar<float>(0).ints({0, 1, 3}, fed).ints({0, 2, 2, 5}, fed).as_list(2).attr("row_partition_types", kTwoSplits).check();
  to_tensor({4, -1, 2}, {5}).scalar<float>(9).ints({0, 1, 3}, fed).ints({0, 2, 2, 5}, fed).as_list(2).attr("row_partition_types", kTwoSplits).check();
  op_case("RaggedTensorToTensor").ints({-1, 1, 4}, fed).in(f32, {5}).scalar<float>(9).ints({0, 1, 3}, fed).ints({0, 2, 2, 5}, fed).as_list(2)
      .attr("row_partition_types", kTwoSplits).check();
  to_tensor({-1, -1, -1}, {3, 2}).scalar<float>(0).ints({0, 1, 3}, fed).as_list(1).attr("row_partition_types", kSplits).check();
  to_tensor({-1, 1, 2}, {3, 2}).values<float>({2}, {7, 8}).ints({0, 1, 3}, fed).as_list(1).attr("row_partition_types", kSplits).check();
  to_tensor({-1, -1, 2}, {3, 2}).scalar<float>(5).ints({0, 1, 3}, fed).as_list(1).attr("row_partition_types", kSplits).check();
  to_tensor({-1, 3, 2}, {3, 2}).values<float>({1}, {7}).ints({0, 1, 3}).as_list(1).attr("row_partition_types", kSplits).check();
}

TEST(Ragged, ToSparse) {
  const auto sparse = [](const std::vector<Ints>& splits) {
    Case c = op_case("RaggedTensorToSparse");
    for (const Ints& s : splits) c.ints(s, fed);
    return c.as_list(splits.size());
  };
  sparse({{0, 2, 2, 5}}).in(any, {5}).dtypes({f32, i32, boolean}).check();
  sparse({{0, 1, 3}, {0, 2, 2, 5}}).in(f32, {5}).check();
  sparse({{0, 1, 3}}).in(f32, {3, 2}).check();
  sparse({{0, 1, 3}}).in(f32, {3, 2, 2}).check();
  sparse({{0, 0, 0}}).in(f32, {0}).check();
  op_case("RaggedTensorToSparse").i32s({0, 1, 2}, fed).as_list(1).strings({2}, {"a", "b"}).check();
}

}  // namespace
}  // namespace t2o::numeric
