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

TEST(Random, AllBits) {
  for (const DType t : {i32, i64, u32, u64})
    op_case("NonDeterministicInts").i32s({2, 3}, fed).attr("dtype", t).shape_only().only_opsets({11, 21, 22, 26}).check();
  for (const DType t : {i64, u64})
    graph_case("random bits are above and below, and odd as often as even", [t](Builder& b) {
      const std::string x = b.op("NonDeterministicInts", {b.constant_of<std::int32_t>({1}, {100'000})}, {{"dtype", t}});
      const std::string middle = t == i64 ? b.constant_of<std::int64_t>({}, {0}) : b.constant_of<std::uint64_t>({}, {1ULL << 63});
      const std::string two = b.op("Cast", {b.constant_of<std::int32_t>({}, {2})}, {{"DstT", t}});
      const std::string none = b.op("Cast", {b.constant_of<std::int32_t>({}, {0})}, {{"DstT", t}});
      const std::string axis = b.constant_of<std::int32_t>({}, {0});
      const auto share = [&](const std::string& is_true) { b.output(b.op("Mean", {b.op("Cast", {is_true}, {{"DstT", f32}}), axis})); };
      share(b.op("Less", {x, middle}));
      share(b.op("Equal", {b.op("FloorMod", {x, two}), none}));
    }).only_opsets({11, 22}).without({Mode::batch, Mode::dims, Mode::rank}).tol(0, 0.03).check();
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

TEST(Random, WithParameters) {
  for (const DType t : {f32, f64, f16}) {
    op_case("RandomGamma").i32s({2, 3}).in(t, {4}).range(0.1, 3).shape_only().only_opsets({11, 18, 21, 22, 26}).check();
    op_case("RandomPoissonV2").i32s({2, 3}, fed).in(t, {4}).range(0.1, 30).attr("dtype", i32).shape_only().only_opsets({11, 18, 21, 22, 26}).check();
  }
  op_case("ParameterizedTruncatedNormal").i32s({3, 5}).in(f32, {3}).in(f32, {3}).range(0.5, 1).in(f32, {3}).range(-3, -2).in(f32, {}).range(2, 3).shape_only().only_opsets({11, 18, 22}).check();
  op_case("ParameterizedTruncatedNormal").i32s({3, 5}, fed).in(f64, {}).in(f64, {}).range(0.5, 1).in(f64, {}).range(-3, -2).in(f64, {}).range(2, 3).shape_only().only_opsets({11, 22}).refuses(Code::not_constant, "rank of the random numbers", {Mode::batch, Mode::dims, Mode::rank}).check();
}

// The moments of 4,000 numbers: bits take room.
TEST(Random, MomentsOfDistributionsWithParameters) {
  graph_case("gamma, Poisson and bounded normal numbers", [](Builder& b) {
    const std::string dims = b.constant_of<std::int32_t>({1}, {4'000});
    const std::string axis = b.constant_of<std::int32_t>({}, {0});
    const auto moments = [&](const std::string& x) {
      b.output(b.op("Mean", {x, axis}));
      b.output(b.op("Mean", {b.op("Square", {x}), axis}));
    };
    const std::string few = b.constant_of<float>({5}, {0.3F, 0.9F, 1, 2.5F, 7});
    moments(b.op("RandomGamma", {dims, few}, {{"seed", std::int64_t{5}}}));
    const std::string rates = b.constant_of<float>({4}, {0.5F, 3, 9.5F, 11});
    moments(b.op("RandomPoissonV2", {dims, rates}, {{"dtype", f32}, {"seed", std::int64_t{5}}}));
    const std::string one_row = b.constant_of<std::int32_t>({2}, {4, 4'000}), rows = b.constant_of<std::int32_t>({}, {1});
    const std::string mean = b.constant_of<float>({4}, {0, 0, -1, 1}), deviation = b.constant_of<float>({4}, {1, 1, 2, 0.5F});
    const std::string low = b.constant_of<float>({4}, {-1, 3, -20, -5}), high = b.constant_of<float>({4}, {2, 9, -4, 0});
    const std::string x = b.op("ParameterizedTruncatedNormal", {one_row, mean, deviation, low, high}, {{"seed", std::int64_t{5}}});
    b.output(b.op("Mean", {x, rows}));
    b.output(b.op("Mean", {b.op("Square", {x}), rows}));
  }).only_opsets({11, 22, 26}).without({Mode::batch, Mode::dims, Mode::rank}).tol(0.15, 0.05).check();
}

TEST(Random, Shuffle) {
  op_case("RandomShuffle").in(any, {5, 2}).dtypes({f32, i64}).shape_only().only_opsets({11, 21, 22, 26}).check();
  op_case("RandomShuffle").in(i32, {0, 2}).only_opsets({11, 21, 22, 26}).check();
  op_case("RandomShuffle").values<float>({3, 2}, {1, 2, 1, 2, 1, 2}).only_opsets({11, 21, 22, 26}).note("one possible value").check();
}

}  // namespace
}  // namespace t2o::numeric
