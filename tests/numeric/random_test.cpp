#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

const std::string kNoKernel = "no kernel for random numbers";

TEST(Random, Floats) {
  for (const char* op : {"RandomUniform", "RandomStandardNormal"}) {
    for (const DType t : {f32, f64, f16})
      op_case(op).i32s({2, 3}).attr("dtype", t).attr("seed", std::int64_t{3}).shape_only().only_opsets({11, 13, 18, 21}).check();
    op_case(op).i32s({2, 3}, fed).attr("dtype", f32).shape_only().only_opsets({11, 21}).check();
    op_case(op).i32s({2, 3}).attr("dtype", f32).only_opsets({22, 26}).refuses(Code::unsupported_op, kNoKernel).check();
  }
}

TEST(Random, Integers) {
  for (const Kind kind : {constant, fed})
    op_case("RandomUniformInt").i32s({2, 3}, kind).scalar<std::int32_t>(-5).scalar<std::int32_t>(9, kind).shape_only().only_opsets({11, 21}).check();
  op_case("RandomUniformInt").i32s({50}).scalar<std::int32_t>(4).scalar<std::int32_t>(5).only_opsets({11, 21}).note("one possible value").check();
  op_case("Multinomial").in(f32, {2, 5}).scalar<std::int32_t>(4).shape_only().only_opsets({11, 21}).check();
}

TEST(Random, TruncatedNormal) {
  for (const DType t : {f32, f64, f16})
    for (const Kind kind : {constant, fed}) op_case("TruncatedNormal").i32s({2, 3}, kind).attr("dtype", t).shape_only().only_opsets({11, 13, 21}).check();
  op_case("TruncatedNormal").i32s({}).attr("dtype", f32).shape_only().only_opsets({11, 21}).check();
  op_case("TruncatedNormal").i32s({2, 3}).attr("dtype", f32).only_opsets({22, 26}).refuses(Code::unsupported_op, kNoKernel).check();
}

TEST(Random, Shuffle) {
  op_case("RandomShuffle").in(any, {5, 2}).dtypes({f32, i64}).shape_only().only_opsets({11, 21}).check();
  op_case("RandomShuffle").in(i32, {0, 2}).only_opsets({11, 21}).check();
  op_case("RandomShuffle").values<float>({3, 2}, {1, 2, 1, 2, 1, 2}).only_opsets({11, 21}).note("one possible value").check();
}

}  // namespace
}  // namespace t2o::numeric
