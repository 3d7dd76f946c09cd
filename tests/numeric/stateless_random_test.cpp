#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"

namespace t2o::numeric {
namespace {


void check_seeded(const std::string& op, DType dtype, const std::vector<std::int32_t>& shape, bool of_range = false) {
  const auto make = [&](Kind shape_kind, Kind seed_kind) {
    Case k = op_case(op).i32s(shape, shape_kind).ints({-3, 7'000'000'000}, seed_kind);
    if (of_range) {
      const double low = is_unsigned_int(dtype) ? 3 : -5;
      k.values_as(dtype, {}, {low}, seed_kind).values_as(dtype, {}, {1000}, constant);
    }
    return k.attr("dtype", dtype);
  };
  make(constant, constant).only_opsets(dtype == bf16 ? std::vector{18, 26} : std::vector{11, 18, 26}).check();
  make(fed, constant).only_opsets({18, 26}).check();
  make(constant, fed).only_opsets({18, 26}).check();
  make(fed, fed).only_opsets({18}).check();
}

TEST(StatelessRandom, Floats) {
  for (const char* op : {"StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"})
    for (const DType t : {f32, f64, f16, bf16}) check_seeded(op, t, {3, 7});
  for (const char* op : {"StatelessRandomUniform", "StatelessRandomNormal", "StatelessTruncatedNormal"})
    for (const std::vector<std::int32_t>& shape : {std::vector<std::int32_t>{}, {0, 3}, {4}, {1}}) check_seeded(op, f32, shape);
}

TEST(StatelessRandom, Integers) {
  for (const DType t : {i32, i64, u32, u64}) check_seeded("StatelessRandomUniformFullInt", t, {3, 7});
  for (const DType t : {i32, i64}) check_seeded("StatelessRandomUniformInt", t, {3, 7}, true);
  op_case("StatelessRandomUniformInt").i32s({20}).i32s({1, 2}).scalar<std::int32_t>(-2147483647).scalar<std::int32_t>(2147483647).attr("dtype", i32).only_opsets({11, 18}).check();
}

TEST(StatelessRandom, ManyNumbers) {
  op_case("StatelessRandomUniform").i32s({300, 1001}).i32s({1, 2}).only_opsets({11, 18}).check();
  op_case("StatelessTruncatedNormal").i32s({200, 101}).i32s({1, 2}, fed).only_opsets({18}).check();
}

TEST(StatelessRandom, RuntimeSeedAtAnyOpset) {
  op_case("StatelessRandomUniform").i32s({3}).i32s({1, 2}, fed).check();
  op_case("StatelessRandomNormal").i32s({5}, fed).i32s({1, -2}, fed).only_opsets({11, 13, 18}).check();
}

void check_keyed(const std::string& op, DType dtype, const std::vector<std::uint64_t>& counter, bool of_range = false) {
  for (const Kind kind : {constant, fed}) {
    Case k = op_case(op).i32s({3, 7}).values<std::uint64_t>({1}, {0xfedcba9876543210U}, kind).values<std::uint64_t>({2}, counter, kind).scalar<std::int32_t>(1);
    if (of_range) k.values_as(dtype, {}, {3}).values_as(dtype, {}, {1000});
    k.attr("dtype", dtype).only_opsets({11, 18, 26}).check();
  }
}

TEST(StatelessRandom, KeysAndCounters) {
  const std::vector<std::uint64_t> plain = {0, 0x8765432112345678U}, wraps = {0xfffffffffffffffeU, 5};
  for (const auto& counter : {plain, wraps}) {
    for (const char* op : {"StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"})
      for (const DType t : {f32, f64}) check_keyed(op, t, counter);
    for (const DType t : {i32, i64, u32, u64}) {
      check_keyed("StatelessRandomUniformFullIntV2", t, counter);
      if (!is_unsigned_int(t)) check_keyed("StatelessRandomUniformIntV2", t, counter, true);
    }
  }
}

TEST(StatelessRandom, KeyOfSeed) {
  for (const Kind kind : {constant, fed}) {
    for (const char* op : {"StatelessRandomGetKeyCounter", "StatelessRandomGetKeyCounterAlg"})
      op_case(op).ints({-1, 1'234'567'890'123}, kind).only_opsets({18, 26}).check();
    graph_case("seed to numbers", [kind](Builder& b) {
      const auto seed = Tensor::of<std::int32_t>({2}, {11, -4});
      const std::string s = kind == fed ? b.input(seed) : b.const_input(seed);
      const std::string key = b.op("StatelessRandomGetKeyCounter", {s});
      const std::string alg = b.op("StatelessRandomGetAlg", {});
      const std::string shape = b.constant_of<std::int32_t>({2}, {2, 3});
      b.output(b.op("StatelessRandomUniformV2", {shape, key, key + ":1", alg}));
    }).only_opsets({18, 26}).check();
  }
}

TEST(StatelessRandom, Shuffle) {
  for (const Kind kind : {constant, fed})
    for (const Ints& dims : {Ints{1}, Ints{11}, Ints{6, 2}, Ints{0, 2}})
      op_case("StatelessShuffle").in(f32, dims).values<std::uint64_t>({1}, {77}, kind).values<std::uint64_t>({2}, {0, 99}, kind).scalar<std::int32_t>(1).only_opsets({18, 26}).check();
  op_case("StatelessShuffle").in(any, {7}).values<std::uint64_t>({1}, {77}).values<std::uint64_t>({2}, {0, 99}).scalar<std::int32_t>(1).dtypes({i64, boolean, f16}).only_opsets({11}).without({Mode::batch, Mode::dims, Mode::rank}).check();
}

TEST(StatelessRandom, Multinomial) {
  for (const Kind kind : {constant, fed})
    for (const DType index : {i32, i64})
      op_case("StatelessMultinomial").in(any, {1, 20}).scalar<std::int32_t>(13, kind).ints({-3, 7'000'000'000}, kind).attr("output_dtype", index).dtypes({f32, f64, f16}).only_opsets({18, 26}).check();
  op_case("StatelessMultinomial").in(f32, {3, 5}).scalar<std::int32_t>(4).ints({1, 2}).only_opsets({11, 18}).check();
  op_case("StatelessMultinomial").values<float>({1, 4}, {0, -INFINITY, 1, -INFINITY}).scalar<std::int32_t>(9).ints({5, 6}).only_opsets({11, 18}).check();
}

}  // namespace
}  // namespace t2o::numeric
