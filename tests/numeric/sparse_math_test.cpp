#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness.h"

namespace t2o::numeric {
namespace {

TEST(SparseMath, TwoSparse) {
  const DTypes numbers = {f32, f64, f16, i8, u8, i16, i32, i64};
  for (const char* op : {"SparseAdd", "SparseSparseMaximum", "SparseSparseMinimum"}) {
    const auto two = [&] {
      return op_case(op).values<std::int64_t>({3, 2}, {0, 1, 1, 2, 2, 0}).values_as(any, {3}, {1, 2, 3}).ints({3, 4}, fed)
          .values<std::int64_t>({3, 2}, {0, 1, 2, 0, 2, 1}).values_as(any, {3}, {1, 5, 4}).ints({3, 4}, fed);
    };
    if (std::string(op) == "SparseAdd") {
      two().values_as(any, {}, {0}).dtypes({f32, f64, i8, i16, i32, i64}).check();
      two().values_as(any, {}, {3}).dtypes({f32, f64, i8, i16, i32, i64}).check();
      two().values_as(any, {}, {2.5}, constant).dtypes({f32}).nan_inf().check();
    } else {
      two().dtypes(numbers).check();
    }
  }
  op_case("SparseAdd").values<std::int64_t>({2, 1}, {1, 3}).values<float>({2}, {-1, 2}).ints({5}).values<std::int64_t>({0, 1}, {}).values<float>({0}, {})
      .ints({5}).scalar<float>(0).check();
}

TEST(SparseMath, MatMul) {
  const auto product = [](Ints b) {
    return op_case("SparseTensorDenseMatMul").values<std::int64_t>({3, 2}, {0, 1, 1, 2, 0, 1}).in(any, {3}).ints({2, 3}, fed).in(any, std::move(b));
  };
  product({3, 4}).dtypes({f32, f64, i32}).check();
  product({3, 4}).dtypes({f32}).nan_inf().check();
  product({4, 3}).attr("adjoint_b", true).dtypes({f32}).check();
  product({2, 4}).attr("adjoint_a", true).dtypes({f32}).check();
  product({4, 2}).attr("adjoint_a", true).attr("adjoint_b", true).dtypes({f32}).check();
  op_case("SparseTensorDenseMatMul").values<std::int64_t>({0, 2}, {}).in(f32, {0}).ints({2, 3}).in(f32, {3, 2}).check();
}

TEST(SparseMath, WithDense) {
  const DTypes numbers = {f32, f64, f16, bf16, i8, u8, i16, i32, i64};
  op_case("SparseTensorDenseAdd").values<std::int32_t>({3, 2}, {0, 1, 1, 0, 0, 1}).in(any, {3}).i32s({2, 3}, fed).in(any, {2, 3}).dtypes(numbers).check();
  op_case("SparseTensorDenseAdd").values<std::int64_t>({2, 1}, {0, 1}).in(f32, {2}).ints({3}).in(f32, {3}).check();
  for (const char* op : {"SparseDenseCwiseAdd", "SparseDenseCwiseMul", "SparseDenseCwiseDiv"}) {
    const auto with = [&](Ints dense) {
      return op_case(op).values<std::int64_t>({3, 2}, {0, 1, 0, 2, 2, 1}).in(any, {3}).ints({3, 4}, fed).in(any, std::move(dense)).range(1, 5);
    };
    with({3, 4}).dtypes({f32, f64, f16, i32, i64, i8, u8}).check();
    with({4}).dtypes({f32}).check();
    with({3, 1}).dtypes({f32}).check();
    with({1, 4}).dtypes({f32}).check();
    with({}).dtypes({f32}).check();
  }
  op_case("SparseDenseCwiseDiv").values<std::int64_t>({2, 1}, {0, 1}).values<std::int32_t>({2}, {-7, 7}).ints({2}).values<std::int32_t>({2}, {2, -2}).check();
}

TEST(SparseMath, Reduce) {
  const DTypes numbers = {f32, f64, f16, bf16, i8, u8, i16, i32, i64};
  for (const char* op : {"SparseReduceSum", "SparseReduceMax"})
    for (const bool keep : {false, true}) {
      const auto reduced = [&](const std::vector<std::int32_t>& axes, const std::string& suffix = "") {
        return op_case(op + suffix).values<std::int64_t>({4, 3}, {0, 1, 0, 0, 2, 1, 2, 1, 0, 2, 1, 1}).values_as(any, {4}, {-1, -2, 3, 4}).ints({3, 4, 2})
            .i32s(axes).attr("keep_dims", keep);
      };
      reduced({1}).dtypes(keep ? numbers : DTypes{f32}).check();
      for (const auto& axes : std::vector<std::vector<std::int32_t>>{{}, {0}, {-1}, {0, 1}, {0, 1, 2}}) reduced(axes).dtypes({f32}).check();
      for (const auto& axes : std::vector<std::vector<std::int32_t>>{{}, {0}, {-1}, {0, 1}}) reduced(axes, "Sparse").dtypes({f32}).check();
    }
  for (const char* op : {"SparseReduceSum", "SparseReduceMax", "SparseReduceSumSparse", "SparseReduceMaxSparse"})
    for (const bool keep : {false, true})
      for (const Kind dims : {fed, constant})
        for (const auto& axes : std::vector<std::vector<std::int32_t>>{{0}, {-1}, {0, 1}})
          op_case(op).values<std::int64_t>({3, 2}, {0, 1, 2, 1, 2, 3}).values<float>({3}, {-1, -2, 3}).ints({3, 4}, dims)
              .i32s(axes, dims == fed ? constant : fed).attr("keep_dims", keep).check();
  op_case("SparseReduceMax").values<std::int64_t>({5, 2}, {0, 0, 0, 1, 1, 0, 1, 1, 2, 1}).values<float>({5}, {2, NAN, NAN, 1, NAN}).ints({4, 2}).i32s({1}).check();
}

TEST(SparseMath, CrossOfDenseIntegers) {
  const std::vector<std::int64_t> ends = {0, -1, std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(), 12345678901, -7};
  for (const std::int64_t buckets : {std::int64_t{1}, std::int64_t{7}, std::int64_t{1000}, std::int64_t{0}, std::int64_t{1} << 62}) {
    const auto columns = [&](const char* op) {
      return graph_case(op, [=](Builder& b) {
        const std::string x = b.input(Tensor::of<std::int64_t>({3, 2}, ends)), y = b.input(i64, {3, 3}), z = b.input(i64, {3, 1});
        const TfInput none(Strings{});
        std::vector<TfInput> in = {none, none, none, Strings{x, y, z}};
        if (std::string(op) == "SparseCrossHashed") {
          in.emplace_back(b.const_input(Tensor::scalar<std::int64_t>(buckets)));
          in.emplace_back(b.const_input(Tensor::scalar<bool>(false)));
          in.emplace_back(b.constant_of<std::int64_t>({2}, {0, 0}));
        }
        std::vector<TfAttr> attrs = {{"N", std::int64_t{0}}, {"sparse_types", DTypes{}}, {"dense_types", DTypes{i64, i64, i64}}};
        if (std::string(op) == "SparseCross")
          for (const TfAttr& a : std::vector<TfAttr>{{"hashed_output", true}, {"num_buckets", buckets}, {"hash_key", std::int64_t{956888297470}}, {"out_type", i64}, {"internal_type", i64}})
            attrs.push_back(a);
        const std::string cross = b.op(op, in, attrs);
        for (const char* out : {"", ":1", ":2"}) b.output(cross + out);
      });
    };
    columns("SparseCross").only_opsets({11, 13, 18, 26}).check();
    columns("SparseCrossHashed").only_opsets({11, 13, 18, 26}).check();
  }
}

TEST(SparseMath, Softmax) {
  for (const char* op : {"SparseReduceMax", "SparseReduceMaxSparse"})  // of nothing but -inf
    op_case(op).values<std::int64_t>({3, 2}, {0, 1, 1, 0, 1, 2}).values_as(any, {3}, {-INFINITY, -INFINITY, 2}).ints({3, 4}).i32s({1}).dtypes({f32, f64}).check();
  op_case("SparseSoftmax").values<std::int64_t>({4, 2}, {0, 1, 0, 2, 2, 1, 2, 3}).in(any, {4}).ints({3, 4}, fed).dtypes({f32, f64, f16}).check();
  op_case("SparseSoftmax").values<std::int64_t>({3, 3}, {0, 1, 0, 0, 1, 1, 2, 1, 0}).values<float>({3}, {1000, 999, -3}).ints({3, 4, 2}).check();
}

}  // namespace
}  // namespace t2o::numeric
