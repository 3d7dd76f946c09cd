#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes kNumbers = {f32, f64, f16, i8, u8, i16, i32, i64};

TEST(Scatter, DuplicatesAdd) {
  op_case("ScatterNd").values<std::int32_t>({3, 1}, {0, 0, 2}).in(any, {3, 2}).i32s({4, 2}).dtypes(kNumbers).check();
  op_case("ScatterNd").values<std::int32_t>({3, 1}, {0, 0, 2}).in(f32, {3}).i32s({4}, fed).check();
  op_case("ScatterNd").values<std::int32_t>({3, 1}, {0, 0, 2}).values<bool>({3}, {true, false, false}).i32s({4}).check();
  op_case("ScatterNd").values<std::int32_t>({3, 1}, {0, 0, 2}, constant).in(f32, {3}).i32s({4})
      .check();
  op_case("ScatterNd").values<std::int64_t>({2, 2}, {0, 1, 2, 0}, constant).in(any, {2, 3}).ints({3, 2, 3}).dtypes(kNumbers).check();
  op_case("ScatterNd").values<std::int64_t>({2, 1}, {0, 3}, constant).strings({2}, {"a", "b"}, fed).ints({5}).check();
}

TEST(Scatter, Tensor) {
  for (const char* op : {"TensorScatterAdd", "TensorScatterSub", "ScatterNdNonAliasingAdd"}) {
    op_case(op).in(any, {4, 2}).values<std::int32_t>({3, 1}, {1, 1, 3}).in(any, {3, 2}).dtypes(kNumbers).check();
    op_case(op).in(f32, {4, 2}).values<std::int32_t>({2, 1}, {1, 3}, constant).in(f32, {2, 2}).check();
  }
  for (const char* op : {"TensorScatterMax", "TensorScatterMin"}) {
    op_case(op).in(i64, {6, 9}).range(-16e9, 16e9).values<std::int32_t>({4, 1}, {1, 5, 1, 0}, fed).in(i64, {4, 9}).range(-16e9, 16e9).check();
    op_case(op).in(any, {4, 2}).values<std::int32_t>({3, 1}, {1, 1, 3}).in(any, {3, 2}).dtypes(kNumbers).check();
    op_case(op).in(f32, {4, 2}).values<std::int32_t>({2, 1}, {1, 3}, constant).in(f32, {2, 2}).check();
    op_case(op).in(f32, {4, 2}).values<std::int32_t>({2, 1}, {1, 3}).in(f32, {2, 2}).check();
  }
  op_case("TensorScatterUpdate").in(any, {4, 2}).values<std::int32_t>({2, 1}, {1, 3}).in(any, {2, 2}).dtypes(kNumbers).check();
  op_case("TensorScatterUpdate").in(boolean, {4}).values<std::int64_t>({2, 1}, {1, 3}).in(boolean, {2}).check();
}

// ONNX Runtime's ScatterND combines such on several threads without a lock.
TEST(Scatter, ManyDuplicates) {
  const std::vector<std::int32_t> halves = [] {
    std::vector<std::int32_t> v(1'000'000);
    for (std::size_t i = 0; i < v.size(); ++i) v[i] = static_cast<std::int32_t>(i % 2);
    return v;
  }();
  const std::vector<float> ones(halves.size(), 1);
  op_case("ScatterNd").values<std::int32_t>({1'000'000, 1}, halves).values<float>({1'000'000}, ones).i32s({3}).only_opsets({16, 18}).tol(0, 0)
      .without({Mode::batch, Mode::rank}).check();
  op_case("ScatterNd").values<std::int32_t>({500'000, 2}, halves).values<float>({500'000}, Floats(500'000, 1)).i32s({2, 3}).only_opsets({18}).tol(0, 0)
      .without({Mode::batch, Mode::rank}).check();
}

TEST(Scatter, IndicesOfSeveralAxes) {
  for (const char* op : {"TensorScatterAdd", "TensorScatterMax", "TensorScatterSub", "TensorScatterMin"}) {
    op_case(op).in(f32, {4, 3, 2}).values<std::int64_t>({2, 2, 2}, {1, 1, 3, 0, 1, 1, 0, 2}).in(f32, {2, 2, 2}).check();
    op_case(op).in(any, {4, 3}).values<std::int32_t>({3, 2}, {1, 1, 3, 0, 1, 1}).in(any, {3}).dtypes(kNumbers).check();
    op_case(op).in(f32, {4, 2}).values<std::int32_t>({0, 1}, {}).in(f32, {0, 2}).check();
    op_case(op).in(any, {3}).values<std::int32_t>({2, 0, 1}, {}).in(any, {2, 0}).dtypes({f32, i8, u16}).since(14).check();
    op_case(op).in(any, {3}).values<std::int32_t>({0, 1}, {}).in(any, {0}).dtypes({f32, i8, u16}).check();
  }
  op_case("ScatterNd").values<std::int32_t>({2, 2, 1}, {0, 0, 2, 0}).in(f32, {2, 2, 3}).i32s({4, 3}, fed).check();
  op_case("ScatterNd").values<std::int32_t>({3, 2}, {0, 0, 2, 0, 0, 0}).in(f32, {3}).i32s({4, 3}, fed).check();
}

TEST(Scatter, NanStays) {
  for (const char* op : {"TensorScatterMax", "TensorScatterMin"})
    op_case(op).values<float>({3}, {NAN, 1, 2}).values<std::int32_t>({3, 1}, {0, 0, 1}).values<float>({3}, {5, 6, -7}).check();
}

TEST(Scatter, NanAmongTheUpdatesIsNone) {
  const float inf = INFINITY;
  for (const char* op : {"TensorScatterMax", "TensorScatterMin"}) {
    op_case(op).values<float>({4}, {NAN, 1, 2, inf}).values<std::int32_t>({5, 1}, {0, 1, 1, 2, 3}).values<float>({5}, {NAN, NAN, 6, NAN, -inf}).check();
    op_case(op).values<float>({2, 3}, {NAN, 1, 2, 3, -inf, inf}).values<std::int32_t>({2, 1}, {1, 0}).values<float>({2, 3}, {NAN, 9, NAN, 5, NAN, NAN}).note("rows, each once").check();
    op_case(op).values<double>({3}, {NAN, 1, 2}).values<std::int32_t>({3, 1}, {0, 1, 1}, fed).values<double>({3}, {5, NAN, NAN}).check();
  }
}

TEST(Scatter, DynamicStitch) {
  op_case("DynamicStitch").i32s({0, 3}).i32s({2, 1}).as_list(2).in(f32, {2, 3}).in(f32, {2, 3}).as_list(2).check();
  op_case("DynamicStitch").i32s({0, 2}).i32s({2, 1}).as_list(2).in(f32, {2, 3}).in(f32, {2, 3}).as_list(2).note("the later wins").check();
  op_case("DynamicStitch").i32s({0, 5}, fed).i32s({2}, fed).as_list(2).in(any, {2, 3}).in(any, {1, 3}).as_list(2).dtypes({f32, i64, boolean})
      .note("zeros where no index points").check();
  op_case("DynamicStitch").i32s({0, 2}, fed).i32s({2, 1, 0}, fed).as_list(2).in(f32, {2, 3}).in(f32, {3, 3}).as_list(2)
      .check();
  op_case("DynamicStitch").values<std::int32_t>({}, {1}).values<std::int32_t>({2, 2}, {0, 4, 3, 2}).as_list(2).in(f32, {3})
      .in(f32, {2, 2, 3}).as_list(2).check();
}

TEST(Scatter, DynamicPartition) {
  op_case("DynamicPartition").in(any, {5, 2}).values<std::int32_t>({5}, {0, 2, 0, 1, 2}).attr("num_partitions", std::int64_t{4})
      .dtypes({f32, f64, f16, i32, i64, u8, boolean}).check();
  op_case("DynamicPartition").in(f32, {2, 3, 2}).values<std::int32_t>({2, 3}, {0, 1, 0, 1, 1, 0}).attr("num_partitions", std::int64_t{2})
      .check();
}

TEST(Scatter, ParallelDynamicStitch) {
  const auto stitched = [](Kind kind) {
    return op_case("ParallelDynamicStitch")
        .i32s({0, 5}, kind)
        .i32s({2, 1, 3, 4}, kind)
        .as_list(2)
        .in(any, {2, 3})
        .in(any, {4, 3})
        .as_list(2);
  };
  stitched(constant).dtypes({f32, i64, boolean}).check();
  stitched(fed).dtypes({f32, i64, boolean}).check();
}

TEST(Scatter, IgnoresBadIndices) {
  const Ints indices = {0, 1, 5, 0, 2, 2, -1, 1, 0, 1};
  for (const char* op : {"TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax"}) {
    const bool once = std::string(op) == "TensorScatterUpdate";
    op_case(op).in(any, {3, 3, 2}).values<std::int64_t>({once ? 4 : 5, 2}, once ? Ints(indices.begin(), indices.end() - 2) : indices).in(any, {once ? 4 : 5, 2})
        .attr("bad_indices_policy", "IGNORE").dtypes({f32, i32}).check();
  }
  op_case("ScatterNd").values<std::int64_t>({5, 2}, indices).in(any, {5, 2}).ints({3, 3, 2}).attr("bad_indices_policy", "IGNORE").dtypes({f32, i32}).check();
  op_case("ScatterNd").values<std::int32_t>({2, 2, 1}, {1, 7, 2, 1}).in(f32, {2, 2, 3}).i32s({4, 3}, fed).attr("bad_indices_policy", "IGNORE").check();
}

}  // namespace
}  // namespace t2o::numeric
