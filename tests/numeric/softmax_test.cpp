#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"

namespace t2o::numeric {
namespace {

TEST(Softmax, DtypesAndRanks) {
  for (const char* op : {"Softmax", "LogSoftmax"}) {
    op_case(op).in(any, {3, 5}).dtypes({f32, f64, f16}).empty().check();
    op_case(op).in(bf16, {3, 5}).since(13).check();
    op_case(op).in(f32, {2, 3, 4, 5}).check();
    op_case(op).in(f32, {5}).check();
  }
}

TEST(Softmax, NotFinite) {
  for (const char* op : {"Softmax", "LogSoftmax"})
    for (const double odd : {double{NAN}, double{INFINITY}, -double{INFINITY}})
      op_case(op).values_as(any, {2, 3}, {1, odd, 2, 3, 4, 5}).dtypes({f32, f64, f16}).check();
}

TEST(Softmax, LargeLogits) {
  op_case("Softmax").values<float>({2, 3}, {1000, 999, -1000, -INFINITY, 0, 1}).check();
}

}  // namespace
}  // namespace t2o::numeric
