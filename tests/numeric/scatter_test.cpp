#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes kNumbers = {f32, f64, f16, i8, u8, i16, i32, i64};

TEST(Scatter, DuplicatesAdd) {
  op_case("ScatterNd").values<std::int32_t>({3, 1}, {0, 0, 2}).in(any, {3, 2}).i32s({4, 2}).dtypes(kNumbers).since(16).check();
  op_case("ScatterNd").values<std::int32_t>({3, 1}, {0, 0, 2}).in(f32, {3}).i32s({4}, fed).since(16).check();
  op_case("ScatterNd").values<std::int32_t>({3, 1}, {0, 0, 2}).values<bool>({3}, {true, false, false}).i32s({4}).since(16).check();
  op_case("ScatterNd").values<std::int32_t>({3, 1}, {0, 0, 2}, constant).in(f32, {3}).i32s({4})
      .refuses_below(16, Code::opset_too_low, "add up").check();
  op_case("ScatterNd").values<std::int64_t>({2, 2}, {0, 1, 2, 0}, constant).in(any, {2, 3}).ints({3, 2, 3}).dtypes(kNumbers).check();
  op_case("ScatterNd").values<std::int64_t>({2, 1}, {0, 3}, constant).strings({2}, {"a", "b"}, fed).ints({5}).check();
}

TEST(Scatter, Tensor) {
  for (const char* op : {"TensorScatterAdd", "TensorScatterSub", "ScatterNdNonAliasingAdd"}) {
    op_case(op).in(any, {4, 2}).values<std::int32_t>({3, 1}, {1, 1, 3}).in(any, {3, 2}).dtypes(kNumbers).since(16).check();
    op_case(op).in(f32, {4, 2}).values<std::int32_t>({2, 1}, {1, 3}, constant).in(f32, {2, 2}).check();
  }
  for (const char* op : {"TensorScatterMax", "TensorScatterMin"}) {
    op_case(op).in(any, {4, 2}).values<std::int32_t>({3, 1}, {1, 1, 3}).in(any, {3, 2}).dtypes(kNumbers).since(18).check();
    op_case(op).in(f32, {4, 2}).values<std::int32_t>({2, 1}, {1, 3}, constant).in(f32, {2, 2}).check();
    op_case(op).in(f32, {4, 2}).values<std::int32_t>({2, 1}, {1, 3}).in(f32, {2, 2}).refuses_below(18, Code::opset_too_low, "repeat").check();
  }
  op_case("TensorScatterUpdate").in(any, {4, 2}).values<std::int32_t>({2, 1}, {1, 3}).in(any, {2, 2}).dtypes(kNumbers).check();
  op_case("TensorScatterUpdate").in(boolean, {4}).values<std::int64_t>({2, 1}, {1, 3}).in(boolean, {2}).check();
}

TEST(Scatter, DynamicStitch) {
  op_case("DynamicStitch").i32s({0, 3}).i32s({2, 1}).as_list(2).in(f32, {2, 3}).in(f32, {2, 3}).as_list(2).check();
  op_case("DynamicStitch").i32s({0, 2}).i32s({2, 1}).as_list(2).in(f32, {2, 3}).in(f32, {2, 3}).as_list(2).note("the later wins").check();
  op_case("DynamicStitch").i32s({0, 2}, fed).i32s({2, 1, 0}, fed).as_list(2).in(f32, {2, 3}).in(f32, {3, 3}).as_list(2)
      .since(18).refuses(Code::not_constant, "rank", {Mode::rank}).check();
  op_case("DynamicStitch").values<std::int32_t>({}, {1}).values<std::int32_t>({2, 2}, {0, 4, 3, 2}).as_list(2).in(f32, {3})
      .in(f32, {2, 2, 3}).as_list(2).since(18).refuses(Code::not_constant, "rank", {Mode::rank}).check();
}

TEST(Scatter, DynamicPartition) {
  op_case("DynamicPartition").in(any, {5, 2}).values<std::int32_t>({5}, {0, 2, 0, 1, 2}).attr("num_partitions", std::int64_t{4})
      .dtypes({f32, f64, f16, i32, i64, u8, boolean}).refuses(Code::not_constant, "rank", {Mode::rank}).check();
  op_case("DynamicPartition").in(f32, {2, 3, 2}).values<std::int32_t>({2, 3}, {0, 1, 0, 1, 1, 0}).attr("num_partitions", std::int64_t{2})
      .refuses(Code::not_constant, "rank", {Mode::rank}).check();
}

}  // namespace
}  // namespace t2o::numeric
