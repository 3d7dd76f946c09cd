#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes kWeights = {f32, f64, i32, i64};

TEST(Bincount, Bincount) {
  op_case("Bincount").i32s({1, 2, 2, 9, 0}, fed).scalar<std::int32_t>(4, fed).in(any, {5}).dtypes(kWeights).check();
  op_case("Bincount").i32s({1, 2, 2, 9, 0}, fed).scalar<std::int32_t>(4).in(any, {0}).dtypes(kWeights).check();
  op_case("Bincount").values<std::int32_t>({2, 3}, {1, 2, 2, 9, 0, 3}).scalar<std::int32_t>(4).in(f32, {2, 3}).check();
  op_case("Bincount").values<std::int32_t>({2, 3}, {1, 2, 2, 9, 0, 3}).scalar<std::int32_t>(4).in(i64, {0}, constant).check();
  op_case("Bincount").values<std::int32_t>({}, {2}).scalar<std::int32_t>(4).in(i32, {0}, constant).check();
  op_case("Bincount").i32s({1, 2}, fed).scalar<std::int32_t>(0, fed).in(i32, {0}, constant).check();
  op_case("Bincount").values<std::int32_t>({0}, {}).scalar<std::int32_t>(3).in(f32, {0}, constant).check();
  op_case("Bincount").i32s({1, 1, 0}, fed).scalar<std::int32_t>(2).values<std::int32_t>({3}, {2000000000, 2000000000, 1}).check();
}

TEST(Bincount, Dense) {
  for (const bool binary : {false, true}) {
    op_case("DenseBincount").i32s({1, 2, 2, 9, 0}, fed).scalar<std::int32_t>(4).in(any, {5}).attr("binary_output", binary).dtypes(kWeights).check();
    op_case("DenseBincount").values<std::int64_t>({2, 3}, {1, 2, 2, 9, 0, 0}).scalar<std::int64_t>(4, fed).in(any, {2, 3}).attr("binary_output", binary).dtypes(kWeights).check();
    op_case("DenseBincount").values<std::int32_t>({2, 3}, {1, 2, 2, 9, 0, 0}).scalar<std::int32_t>(4).in(f32, {0}, constant).attr("binary_output", binary).check();
    op_case("DenseBincount").values<std::int32_t>({2, 3}, {1, 2, 2, 9, 0, 0}).scalar<std::int32_t>(4).in(f32, {0}).attr("binary_output", binary).check();
    op_case("DenseBincount").values<std::int32_t>({}, {2}).scalar<std::int32_t>(4).in(i32, {0}, constant).attr("binary_output", binary)
        .without({Mode::rank}).check();
    op_case("DenseBincount").values<std::int32_t>({0, 3}, {}).scalar<std::int32_t>(4).in(f32, {0, 3}).attr("binary_output", binary)
        .without({Mode::rank}).check();
  }
  op_case("DenseBincount").i32s({1, 2, 1, 0, 3}, fed).scalar<std::int32_t>(4).values<float>({5}, {1, NAN, 2, INFINITY, -INFINITY}).check();
}

TEST(Bincount, RaggedAndSparse) {
  for (const bool binary : {false, true}) {
    const auto ragged = [&](const Ints& splits) { return op_case("RaggedBincount").ints(splits, fed).attr("binary_output", binary); };
    ragged({0, 0, 2, 2, 5, 5}).i32s({1, 1, 3, 9, 0}, fed).scalar<std::int32_t>(4).in(any, {5}).dtypes(kWeights).check();
    ragged({0, 3}).ints({1, 1, 3}, fed).scalar<std::int64_t>(4, fed).in(f32, {0}).check();
    ragged({0, 0, 0}).ints({}, fed).scalar<std::int64_t>(4).in(f32, {0}, constant).check();
    const auto sparse = [&](Ints dims, const Ints& where) { return op_case("SparseBincount").values<std::int64_t>(std::move(dims), where).attr("binary_output", binary); };
    sparse({4, 2}, {0, 1, 0, 2, 2, 0, 2, 1}).i32s({1, 1, 3, 7}, fed).ints({4, 4}, fed).scalar<std::int32_t>(4).in(any, {4}).dtypes(kWeights).check();
    sparse({3, 1}, {0, 1, 2}).i32s({1, 1, 3}, fed).ints({4}, fed).scalar<std::int32_t>(4).in(f32, {3}).check();
    sparse({4, 2}, {0, 1, 0, 2, 2, 0, 2, 1}).i32s({1, 1, 3, 7}, fed).ints({4, 4}).scalar<std::int32_t>(4).in(i64, {0}, constant).check();
    sparse({3, 1}, {0, 1, 2}).i32s({1, 1, 3}, fed).ints({4}).scalar<std::int32_t>(4).in(f32, {3}).check();
  }
}

TEST(Bincount, SparseOutput) {
  for (const bool binary : {false, true})
    for (const auto& [least, most] : std::vector<std::pair<std::int64_t, std::int64_t>>{{-1, -1}, {8, -1}, {-1, 4}, {2, 9}}) {
      const auto counts = [&](Case c) { return c.attr("minlength", least).attr("maxlength", most).attr("binary_output", binary); };
      counts(op_case("DenseCountSparseOutput").values<std::int32_t>({2, 3}, {1, 3, 1, 5, 0, 5}).in(any, {0}, constant)).dtypes(kWeights).without({Mode::rank}).check();
      counts(op_case("DenseCountSparseOutput").values<std::int64_t>({2, 3}, {1, 3, 1, 5, 0, 5}).in(any, {2, 3})).dtypes(kWeights).without({Mode::rank}).check();
      counts(op_case("DenseCountSparseOutput").i32s({3, 1, 3}, fed).in(f32, {3})).without({Mode::rank}).check();
      counts(op_case("DenseCountSparseOutput").values<std::int32_t>({2, 0}, {}).in(f32, {0}, constant)).without({Mode::rank}).check();
      counts(op_case("RaggedCountSparseOutput").ints({0, 2, 2, 5}, fed).i32s({1, 3, 1, 5, 5}, fed).in(i64, {0})).check();
      counts(op_case("RaggedCountSparseOutput").ints({0, 2, 2, 5}, fed).i32s({1, 3, 1, 5, 5}, fed).in(f32, {5})).check();
      counts(op_case("SparseCountSparseOutput").values<std::int64_t>({3, 2}, {0, 1, 2, 0, 2, 2}).i32s({1, 3, 3}, fed).ints({4, 3}).in(f32, {3})).check();
      counts(op_case("SparseCountSparseOutput").values<std::int64_t>({3, 1}, {0, 2, 3}).i32s({1, 3, 3}, fed).ints({4}).in(i32, {0}, constant)).check();
    }
  op_case("DenseCountSparseOutput").i32s({3, 1, 3}, fed).in(f32, {3}).attr("binary_output", false).check();
}

TEST(Bincount, Histogram) {
  const float inf = std::numeric_limits<float>::infinity();
  op_case("HistogramFixedWidth").values<float>({10}, {-1, 0, 1, 2, 5, 9.9999F, 10, 11, inf, -inf}).values<float>({2}, {0, 10}).scalar<std::int32_t>(5).check();
  op_case("HistogramFixedWidth").in(f32, {4, 30}).values<float>({2}, {-0.9F, 0.7F}, constant).scalar<std::int32_t>(7).attr("dtype", i64).check();
  op_case("HistogramFixedWidth").values_as(any, {2, 3}, {-1, 0, 1, 2, 5, 9}).values_as(any, {2}, {0, 10}).scalar<std::int32_t>(3, fed).dtypes({f32, f64, i32, i64}).check();
  op_case("HistogramFixedWidth").values<std::int64_t>({4}, {INT64_MAX - 1, 2, 8, -3}).values<std::int64_t>({2}, {-2, 8}, constant).scalar<std::int32_t>(2).check();
}

TEST(Bincount, Bucketize) {
  op_case("Bucketize").values_as(any, {2, 4}, {-1, 0, 5, 10, 100, 99, 101, -7}).attr("boundaries", Floats{0, 10, 100}).dtypes({f32, f64, i32, i64}).check();
  op_case("Bucketize").values<float>({4}, {NAN, INFINITY, -INFINITY, 3}).attr("boundaries", Floats{0, 10}).check();
  op_case("Bucketize").values<double>({3}, {0.1, 0.1000000014901161, 0.2}).attr("boundaries", Floats{0.1F}).check();
  op_case("Bucketize").values<std::int64_t>({3}, {16777217, 16777216, -1}).attr("boundaries", Floats{0, 16777216}).check();
  op_case("Bucketize").in(f32, {3}).attr("boundaries", Floats{}).check();
  op_case("Bucketize").in(f32, {}).attr("boundaries", Floats{0.5F}).check();
  op_case("Bucketize").in(f32, {3, 2}).attr("boundaries", Floats{0.5F}).empty().check();
}

TEST(Bincount, Bounds) {
  for (const char* op : {"LowerBound", "UpperBound"}) {
    op_case(op).values_as(any, {2, 4}, {1, 1, 2, 3, 0, 0, 0, 0}).values_as(any, {2, 3}, {0, 1, 2, 0, 1, 5}).dtypes({f32, f64, f16, i8, u8, i16, u16, i32, u32, i64, u64}).check();
    op_case(op).values<float>({1, 3}, {0, 1, 2}).values<float>({1, 5}, {NAN, INFINITY, -INFINITY, 1, 2}).attr("out_type", i64).check();
    op_case(op).in(f32, {2, 0}).in(f32, {2, 3}).check();
  }
}

}  // namespace
}  // namespace t2o::numeric
