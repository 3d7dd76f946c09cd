#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"

namespace t2o::numeric {
namespace {

TEST(Scan, Cumsum) {
  for (const bool exclusive : {false, true})
    for (const bool reverse : {false, true})
      op_case("Cumsum").in(any, {3, 4}).range(-5, 5).scalar<std::int32_t>(-1).attr("exclusive", exclusive).attr("reverse", reverse)
          .dtypes({f32, f64, f16, i32, i64, i8}).empty().check();
  op_case("Cumsum").in(f32, {3, 4}).scalar<std::int64_t>(0).nan_inf().check();
  op_case("Cumsum").in(f32, {3, 4}).scalar<std::int32_t>(0, fed).check();
  op_case("Cumsum").values<std::uint8_t>({3}, {200, 100, 7}).scalar<std::int32_t>(0).check();
}

TEST(Scan, Cumprod) {
  for (const bool exclusive : {false, true})
    for (const bool reverse : {false, true})
      op_case("Cumprod").in(any, {3, 5}).range(-3, 3).scalar<std::int32_t>(1).attr("exclusive", exclusive).attr("reverse", reverse)
          .dtypes({f32, f64, f16, i32, i64}).check();
  op_case("Cumprod").in(f32, {3, 5}).scalar<std::int32_t>(1).only_opsets({26}).check();
  op_case("Cumprod").in(f32, {3, 5}).scalar<std::int32_t>(1).only_opsets({21}).check();
  for (const bool exclusive : {false, true})
    for (const bool reverse : {false, true})
      for (const std::int32_t axis : {1, -3})
        op_case("Cumprod").in(any, {2, 5, 3}).range(-3, 3).scalar(axis, fed).attr("exclusive", exclusive).attr("reverse", reverse)
            .dtypes({f32, i64, f16}).empty().only_opsets({11, 18}).check();
}

TEST(Scan, OfNothing) {
  for (const char* op : {"Cumprod", "CumulativeLogsumexp"})
    for (const std::int32_t axis : {0, 1, -1})
      for (const Ints& dims : {Ints{2, 0, 3}, Ints{0, 5, 3}, Ints{2, 5, 0}})
        op_case(op).in(f32, dims).scalar(axis).only_opsets({11, 13, 18}).check();
}

TEST(Scan, CumulativeLogsumexp) {
  for (const bool exclusive : {false, true})
    for (const bool reverse : {false, true})
      op_case("CumulativeLogsumexp").in(any, {3, 5}).range(-30, 30).scalar<std::int32_t>(1).attr("exclusive", exclusive)
          .attr("reverse", reverse).dtypes({f32, f64}).check();
  op_case("CumulativeLogsumexp").in(any, {3, 5}).range(-30, 30).scalar<std::int32_t>(-1, fed).attr("reverse", true).dtypes({f32, f64}).check();
  for (const bool exclusive : {false, true})
    for (const bool reverse : {false, true})
      op_case("CumulativeLogsumexp").values_as(any, {2, 6}, {NAN, 1, NAN, NAN, 2, 3, -INFINITY, 1, NAN, 4, 2, NAN}).scalar<std::int32_t>(1)
          .attr("exclusive", exclusive).attr("reverse", reverse).dtypes({f32, f64}).check();
}

}  // namespace
}  // namespace t2o::numeric
