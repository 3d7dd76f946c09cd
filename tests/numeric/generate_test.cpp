#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes kAll = {f32, f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64, boolean};

Case range_of(double start, double limit, double delta, Kind kind) {
  return op_case("Range").values_as(any, {}, {start}, kind).values_as(any, {}, {limit}, kind).values_as(any, {}, {delta}, kind);
}

TEST(Generate, Range) {
  for (const Kind kind : {constant, fed}) {
    range_of(2, 11, 3, kind).dtypes({f32, f64, i32, i64}).check();
    range_of(5, -3, -2, kind).dtypes({f32, f64, i32, i64}).check();
    range_of(3, 3, 1, kind).dtypes({f32, i32}).check();
    for (const double limit : {0.3, 0.6, 0.7, 1.0, 1.1, 2.3}) range_of(0, limit, 0.1, kind).dtypes({f32, f64}).check();
  }
  range_of(1, 300, 0.7, fed).dtypes({f16, bf16}).since(13).check();
  for (const double limit : {0.3, 1.0}) range_of(0, limit, 0.1, fed).dtypes({f16}).check();
  range_of(3, -2, -0.37, fed).dtypes({f16}).check();
}

TEST(Generate, LinSpace) {
  for (const Kind kind : {constant, fed}) {
    for (const std::int32_t n : {1, 2, 7})
      op_case("LinSpace").values_as(any, {}, {-1}, kind).values_as(any, {}, {2}, kind).scalar<std::int32_t>(n, kind).dtypes({f32, f64}).check();
    for (const std::int32_t n : {1, 2, 4}) {  // its ends are as they are given
      op_case("LinSpace").values<float>({}, {INFINITY}, kind).values<float>({}, {2}).scalar<std::int32_t>(n, kind).check();
      op_case("LinSpace").values<float>({}, {1}).values<float>({}, {-INFINITY}, kind).scalar<std::int32_t>(n, kind).check();
    }
  }
}

TEST(Generate, Fill) {
  op_case("Fill").i32s({2, 3}).values_as(any, {}, {1}).dtypes(kAll).check();
  op_case("Fill").i32s({2, 0}, fed).scalar<float>(7, fed).check();
  op_case("Fill").i32s({2, 3}, fed).scalar<float>(7).check();
  op_case("Fill").i32s({}).scalar<float>(7).check();
  op_case("Fill").ints({3}).strings({}, {"x"}, constant).check();
}

TEST(Generate, Like) {
  op_case("ZerosLike").in(any, {2, 3}).dtypes(kAll).empty().check();
  op_case("OnesLike").in(any, {2, 3}).dtypes(kAll).empty().check();
  op_case("ZerosLike").in(f32, {2, 3}).nan_inf().check();
  op_case("ZerosLike").in(f32, {}).check();
  op_case("ZerosLike").strings({2}, {"a", "b"}).check();
  op_case("Empty").i32s({2, 3}, fed).attr("dtype", f32).attr("init", true).check();
}

}  // namespace
}  // namespace t2o::numeric
