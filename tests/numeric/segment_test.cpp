#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes kNumbers = {f32, f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64};

const char* const kUnsortedSums[] = {"UnsortedSegmentSum", "UnsortedSegmentProd"};
const char* const kUnsortedExtrema[] = {"UnsortedSegmentMax", "UnsortedSegmentMin"};
const char* const kSorted[] = {"SegmentSum", "SegmentMean", "SegmentProd", "SegmentMax", "SegmentMin"};
const char* const kMeans[] = {"SparseSegmentSum", "SparseSegmentMean", "SparseSegmentSqrtN"};

TEST(Segment, Unsorted) {
  for (const auto& ops : {kUnsortedSums, kUnsortedExtrema})
    for (int i = 0; i < 2; ++i) {
      const char* op = ops[i];
      op_case(op).in(any, {5, 3}).i32s({3, -1, 0, 3, 1}, fed).scalar<std::int32_t>(5, fed).dtypes(kNumbers).check();
      op_case(op).in(f32, {5}).values<std::int64_t>({5}, {3, -1, 0, 3, 1}).scalar<std::int64_t>(5).empty().check();
      op_case(op).in(f32, {2, 3, 2}).values<std::int32_t>({2, 3}, {0, 2, -5, 0, 2, 2}).scalar<std::int32_t>(4).check();
      op_case(op).in(f32, {2, 3, 2}).values<std::int32_t>({2, 3}, {0, 2, 1, 0, 2, 2}, constant).scalar<std::int32_t>(4).check();
      op_case(op).in(f32, {2, 3}).values<std::int32_t>({2, 3}, {0, 2, 1, 0, -2, 2}).scalar<std::int32_t>(4).check();
      op_case(op).in(f32, {3}).values<std::int32_t>({}, {1}).scalar<std::int32_t>(3).check();
      op_case(op).in(f32, {}).values<std::int32_t>({}, {1}, constant).scalar<std::int32_t>(3).check();
      op_case(op).in(f32, {3, 0}).i32s({0, 1, 0}, fed).scalar<std::int32_t>(3).check();
      op_case(op).in(f32, {3, 2}).i32s({-1, -1, -2}, fed).scalar<std::int32_t>(0, fed).check();
    }
  for (const char* op : kUnsortedSums) op_case(op).in(f32, {9, 2}).i32s({0, 1, 2, 2, 3, 3, 4, -1, 5}, fed).scalar<std::int32_t>(7).nan_inf().check();
  op_case("UnsortedSegmentSum").values<std::uint64_t>({3}, {1, 1ULL << 63, 5}).i32s({0, 1, 1}, fed).scalar<std::int32_t>(3).since(16).check();
  op_case("UnsortedSegmentSum").values<std::uint64_t>({3}, {1, 7, 5}).i32s({0, 1, 1}, fed).scalar<std::int32_t>(3).check();
  op_case("UnsortedSegmentMax").values<std::uint64_t>({3}, {1, 1ULL << 63, 5}).i32s({0, 1, 1}, fed).scalar<std::int32_t>(3).check();
  op_case("UnsortedSegmentMin").values<std::uint64_t>({3}, {1, 1ULL << 63, 5}).i32s({0, 1, 1}, fed).scalar<std::int32_t>(3).check();
  op_case("SegmentMax").values<std::uint64_t>({3}, {1, 1ULL << 63, 5}).i32s({0, 2, 2}, fed).check();
  op_case("UnsortedSegmentMax").values<float>({3}, {-INFINITY, 1, INFINITY}).i32s({0, 1, 1}, fed).scalar<std::int32_t>(3).check();
}

TEST(Segment, Sorted) {
  for (const char* op : kSorted) {
    op_case(op).in(any, {5, 3}).i32s({1, 1, 1, 4, 4}, fed).dtypes(kNumbers).check();
    op_case(op).in(f32, {5}).values<std::int64_t>({5}, {0, 0, 1, 1, 2}).empty().check();
    op_case(op).in(f32, {5, 2, 2}).i32s({0, 0, 0, 3, 6}).check();
    op_case(op).in(f32, {2, 0}).i32s({0, 2}, fed).check();
    op_case(op).values<float>({5}, {-INFINITY, 1, INFINITY, 3, -0.0F}).i32s({0, 2, 2, 3, 4}, fed).check();
  }
  for (const char* op : {"SegmentSum", "SegmentMean", "SegmentProd"}) op_case(op).in(f32, {9, 2}).i32s({0, 1, 2, 2, 3, 3, 4, 4, 6}, fed).nan_inf().check();
  op_case("SegmentMean").values<std::int8_t>({3}, {100, 100, 3}).i32s({0, 0, 0}).note("the sum wraps around").check();
  op_case("SegmentMean").values<std::int32_t>({4}, {-7, -8, 1, 2}).i32s({0, 0, 2, 2}, fed).check();
  op_case("SegmentSum").values<std::int32_t>({3}, {2000000000, 2000000000, 3}).i32s({0, 0, 1}, fed).note("the sum wraps around").check();
  op_case("SegmentProd").in(any, {5, 3}).range(-9e9, 9e9).i32s({0, 0, 0, 2, 2}, fed).dtypes({i32, i64}).note("the product wraps around").check();
  op_case("UnsortedSegmentProd").in(i64, {5, 3}).range(-9e9, 9e9).i32s({3, 0, 0, -1, 0}, fed).scalar<std::int32_t>(4, fed).check();
  op_case("SegmentProd").values<std::uint8_t>({3}, {100, 100, 3}).i32s({1, 1, 1}, fed).check();
}

// The rows behind a segment's last NaN tell, or that NaN.
TEST(Segment, NanInExtrema) {
  const double nan = NAN, inf = INFINITY;
  const std::vector<double> column = {nan, nan, 1, 1, nan, 2, nan, 1, nan, 2, 1, -inf, nan, nan, -inf, nan, nan, 3, inf, nan};
  const std::vector<std::int32_t> ids = {0, 1, 1, 2, 2, 3, 3, 3, 4, 4, 4, 5, 5, 6, 6, 7, 7, 9, 9, 9};
  const auto n = static_cast<std::int64_t>(column.size());
  for (const char* op : kUnsortedExtrema) op_case(op).values_as(any, {n, 1}, column).i32s(ids, fed).scalar<std::int32_t>(11).dtypes({f32, f64, f16}).check();
  for (const char* op : {"SegmentMax", "SegmentMin"}) op_case(op).values_as(any, {n, 1}, column).i32s(ids, fed).dtypes({f32, f64}).check();
}

TEST(Segment, Sparse) {
  for (const char* op : kMeans) {
    const DTypes floats = {f32, f64, f16, bf16};
    op_case(op).in(any, {3, 2}).i32s({0, 1, 1, 2}, fed).i32s({1, 1, 1, 4}, fed).dtypes(floats).check();
    op_case(op).in(f32, {3, 2, 2}).values<std::int64_t>({4}, {0, 1, 1, 2}, constant).values<std::int64_t>({4}, {0, 0, 1, 3}, constant).check();
    op_case(op).in(f32, {3}).i32s({2, 1}, fed).i32s({0, 0}, fed).check();
    op_case(op).in(f32, {3, 2}).values<std::int32_t>({0}, {}).values<std::int32_t>({0}, {}).check();
    const std::string counted = std::string(op) + "WithNumSegments";
    op_case(counted).in(any, {3, 2}).i32s({0, 1, 1, 2}, fed).i32s({1, 1, 1, 4}, fed).scalar<std::int32_t>(7).dtypes(floats).check();
    op_case(counted).in(f32, {3, 2}).i32s({0, 2}, fed).values<std::int64_t>({2}, {0, 0}).scalar<std::int64_t>(2, fed).check();
    op_case(counted).in(f32, {3, 2}).values<std::int32_t>({0}, {}).values<std::int32_t>({0}, {}).scalar<std::int32_t>(3).check();
  }
  op_case("SparseSegmentSum").in(any, {3, 2}).i32s({0, 1, 1, 2}, fed).i32s({0, 1, 1, 3}, fed).dtypes({i8, u8, i16, u16, i32, u32, i64, u64}).check();
}

// TensorFlow has no kernel for these; they are the unsorted ones of ids in order.
TEST(Segment, Counted) {
  const auto graph_of = [](const std::string& op, DType type, const std::vector<std::int32_t>& ids) {
    engines::TfGraph g;
    const std::string x = g.placeholder("x", type, Shape({kUnknownDim, 3}));
    const std::string i = g.constant("i", Tensor::of<std::int32_t>({5}, ids));
    const std::string n = g.constant("n", Tensor::scalar<std::int32_t>(6));
    g.add({op, "y", {x, i, n}});
    return g;
  };
  verify::Random random(7);
  for (const std::string op : {"SegmentSum", "SegmentProd", "SegmentMax", "SegmentMin"})
    for (const DType t : {f32, i32})
      for (const auto& ids : {std::vector<std::int32_t>{0, 0, 2, 2, 4}, {1, 1, 1, 1, 1}}) {
        const engines::Feeds feeds = {{"x", verify::random_tensor(t, {5, 3}, random, {})}};
        check_against(graph_of("Unsorted" + op, t, ids), graph_of(op + "V2", t, ids), feeds,
                      {11, 16, 18, 21});
      }
}

TEST(Segment, SparseGradients) {
  for (const std::string op : {"SparseSegmentSumGrad", "SparseSegmentMeanGrad", "SparseSegmentSqrtNGrad"}) {
    const auto of = [&](const std::string& name) {
      return op_case(name).in(any, {4, 2}).i32s({3, 0, 3, 4, 4}, fed).i32s({0, 0, 1, 1, 3}, fed).scalar<std::int32_t>(6, fed).dtypes({f32, f64, f16});
    };
    of(op).check();
    of(op + "V2").check();
  }
}

}  // namespace
}  // namespace t2o::numeric
