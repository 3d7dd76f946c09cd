#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes kTypes = {f32, f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64, boolean};

TEST(Sparse, ToDense) {
  op_case("SparseToDense").values<std::int32_t>({3, 2}, {0, 1, 1, 2, 2, 0}).i32s({3, 4}, fed).in(any, {3}).in(any, {}).dtypes(kTypes).check();
  op_case("SparseToDense").values<std::int64_t>({3, 2}, {0, 1, 1, 2, 2, 0}).ints({3, 4}).in(f32, {}).scalar<float>(0).check();
  op_case("SparseToDense").i32s({2, 3}, fed).i32s({5}).in(f32, {2}).scalar<float>(1.5F).check();
  op_case("SparseToDense").i32s({2, 3}, fed).i32s({5}, fed).in(f32, {}).scalar<float>(1.5F, fed).check();
  op_case("SparseToDense").values<std::int32_t>({}, {2}).i32s({5}, fed).in(f32, {}).scalar<float>(1.5F).check();
  op_case("SparseToDense").values<std::int64_t>({0, 2}, {}).ints({2, 3}, fed).in(f32, {0}).scalar<float>(7).check();
  op_case("SparseToDense").values<std::int64_t>({1, 2}, {1, 1}).ints({2, 2}).strings({1}, {"a"}).strings({}, {"-"}).check();
  op_case("SparseToDense").i32s({2, 2}, fed).i32s({4}).in(f32, {2}).scalar<float>(1).attr("validate_indices", false).note("the later one wins").check();
}

TEST(Sparse, FillEmptyRows) {
  const auto fill = [](Ints dims, const Ints& where) { return op_case("SparseFillEmptyRows").values<std::int64_t>(std::move(dims), where); };
  fill({4, 2}, {3, 1, 0, 2, 3, 0, 0, 1}).in(any, {4}).ints({5, 4}, fed).in(any, {}).dtypes(kTypes).check();
  fill({2, 3}, {2, 1, 5, 0, 2, 1}).in(f32, {2}).ints({3, 4, 6}).scalar<float>(-1).check();
  fill({0, 2}, {}).in(f32, {0}).ints({2, 4}, fed).scalar<float>(-1).check();
  fill({0, 2}, {}).in(f32, {0}).ints({0, 4}, fed).scalar<float>(-1).check();
  fill({2, 1}, {3, 1}).strings({2}, {"a", "b"}).ints({4}).strings({}, {""}).check();
  op_case("RaggedFillEmptyRows").ints({3, 0, 3}, fed).in(f32, {3}).values<std::int64_t>({}, {5}).scalar<float>(-1).check();
}

TEST(Sparse, Reshape) {
  const auto reshape = [](Ints dims, const Ints& where) { return op_case("SparseReshape").values<std::int64_t>(std::move(dims), where); };
  for (const Kind kind : {constant, fed}) {
    reshape({2, 2}, {0, 1, 1, 2}).ints({2, 6}, kind).ints({3, -1}, kind).check();
    reshape({2, 2}, {0, 1, 1, 2}).ints({2, 6}, kind).ints({12}, kind).check();
    reshape({2, 2}, {0, 1, 1, 2}).ints({2, 6}, kind).ints({-1, 3, 1, 2}, kind).check();
    reshape({3, 1}, {0, 11, 7}).ints({12}, kind).ints({4, 3}, kind).check();
    reshape({0, 2}, {}).ints({0, 6}, kind).ints({3, -1}, kind).check();
  }
}

TEST(Sparse, Reorder) {
  op_case("SparseReorder").values<std::int64_t>({4, 2}, {1, 1, 0, 2, 1, 0, 0, 2}).in(any, {4}).ints({2, 3}, fed).dtypes(kTypes).check();
  op_case("SparseReorder").values<std::int64_t>({3, 3}, {1, 1, 0, 0, 2, 1, 0, 0, 5}).strings({3}, {"a", "b", "c"}).ints({2, 3, 6}).check();
  op_case("SparseReorder").values<std::int64_t>({0, 2}, {}).in(f32, {0}).ints({2, 3}).check();
}

TEST(Sparse, Slice) {
  const auto slice = [] { return op_case("SparseSlice").values<std::int64_t>({3, 2}, {0, 1, 1, 2, 2, 0}).in(any, {3}).ints({3, 4}, fed); };
  slice().ints({1, 0}, fed).ints({5, 2}, fed).dtypes(kTypes).check();
  slice().ints({4, 0}).ints({5, 2}).dtypes({f32}).check();
  slice().ints({0, 1}).ints({2, 2}).dtypes({f32}).check();
  slice().ints({0, 1}).ints({0, 2}).dtypes({f32}).check();
}

TEST(Sparse, SplitAndConcat) {
  for (const std::int64_t axis : {0, 1, -1})
    for (const Kind kind : {constant, fed})
      op_case("SparseSplit").scalar<std::int64_t>(axis, kind).values<std::int64_t>({4, 2}, {0, 1, 1, 2, 1, 4, 4, 6}).in(f32, {4}).ints({5, 7}, fed)
        .attr("num_split", std::int64_t{3}).check();
  for (const std::int64_t axis : {0, 1, -1, -2}) {
    const bool rows = axis == 0 || axis == -2;
    op_case("SparseConcat").values<std::int64_t>({2, 2}, {0, 1, 1, 2}).values<std::int64_t>({2, 2}, {0, 0, 1, 0}).as_list(2).in(f32, {2}).in(f32, {2}).as_list(2)
        .ints({2, 3}, fed).ints(rows ? Ints{4, 3} : Ints{2, 2}).as_list(2).attr("concat_dim", axis).check();
  }
}

}  // namespace
}  // namespace t2o::numeric
