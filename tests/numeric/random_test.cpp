#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

TEST(Random, Floats) {
  for (const char* op : {"RandomUniform", "RandomStandardNormal"}) {
    for (const DType t : {f32, f64, f16})
      op_case(op).i32s({2, 3}).attr("dtype", t).attr("seed", std::int64_t{3}).shape_only().only_opsets({11, 13, 18, 21, 22, 26}).check();
    op_case(op).i32s({2, 3}, fed).attr("dtype", f32).shape_only().only_opsets({11, 21, 22, 26}).check();
  }
}

TEST(Random, Integers) {
  for (const Kind kind : {constant, fed})
    op_case("RandomUniformInt").i32s({2, 3}, kind).scalar<std::int32_t>(-5).scalar<std::int32_t>(9, kind).shape_only().only_opsets({11, 21, 22, 26}).check();
  op_case("RandomUniformInt").i32s({50}).scalar<std::int32_t>(4).scalar<std::int32_t>(5).only_opsets({11, 21, 22, 26}).note("one possible value").check();
  op_case("Multinomial").in(f32, {2, 5}).scalar<std::int32_t>(4, fed).shape_only().only_opsets({11, 21, 22}).check();
  op_case("Multinomial").values<float>({2, 3}, {-1e30F, 0, -1e30F, 3e30F, 0, 0}).scalar<std::int32_t>(4).only_opsets({11, 22, 26}).note("one possible class").check();
  op_case("Multinomial").in(f32, {2, 5}).scalar<std::int32_t>(4).shape_only().only_opsets({11, 21, 22, 26}).check();
}

// The mean of many uniform numbers is the same everywhere, nearly.
TEST(Random, Moments) {
  graph_case("mean of uniform and normal numbers", [](Builder& b) {
    const std::string dims = b.constant_of<std::int32_t>({1}, {100'000});
    const std::string axis = b.constant_of<std::int32_t>({}, {0});
    const auto mean_of_square = [&](const std::string& op) {
      const std::string x = b.op(op, {dims}, {{"dtype", f32}, {"seed", std::int64_t{5}}});
      b.output(b.op("Mean", {x, axis}));
      b.output(b.op("Mean", {b.op("Square", {x}), axis}));
    };
    mean_of_square("RandomUniform");
    mean_of_square("RandomStandardNormal");
    mean_of_square("TruncatedNormal");
  }).only_opsets({11, 22, 26}).without({Mode::batch, Mode::dims, Mode::rank}).tol(0, 0.03).check();
}

TEST(Random, TruncatedNormal) {
  for (const DType t : {f32, f64, f16})
    for (const Kind kind : {constant, fed}) op_case("TruncatedNormal").i32s({2, 3}, kind).attr("dtype", t).shape_only().only_opsets({11, 13, 21, 22, 26}).check();
  op_case("TruncatedNormal").i32s({}).attr("dtype", f32).shape_only().only_opsets({11, 21, 22, 26}).check();
}

TEST(Random, Shuffle) {
  op_case("RandomShuffle").in(any, {5, 2}).dtypes({f32, i64}).shape_only().only_opsets({11, 21, 22, 26}).check();
  op_case("RandomShuffle").in(i32, {0, 2}).only_opsets({11, 21, 22, 26}).check();
  op_case("RandomShuffle").values<float>({3, 2}, {1, 2, 1, 2, 1, 2}).only_opsets({11, 21, 22, 26}).note("one possible value").check();
}

}  // namespace
}  // namespace t2o::numeric
