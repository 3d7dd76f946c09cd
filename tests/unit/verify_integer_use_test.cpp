#include "verify/integer_use.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "ir/text.h"
#include "verify/compare.h"
#include "verify/inputs.h"

namespace t2o::verify {
namespace {

IntegerUse use_in(const std::string& nodes) {
  return use_of(*ir::parse_graph("graph g tf { input %x: i64[2,3] " + nodes + " }")->inputs()[0]);
}

const std::string kTable = "%table: f32[50,4] = Placeholder() const %axis: i32[] = 0 ";

TEST(VerifyIntegerUse, PlacesInTables) {
  EXPECT_EQ(use_in(kTable + "%y: f32[2,3,4] = GatherV2(%table, %x, %axis) output %y").below, 50);
  EXPECT_EQ(use_in(kTable + "%y: f32[2,3,4] = Gather(%table, %x) output %y").below, 50);
  EXPECT_EQ(use_in(kTable + "%y: f32[2,3,4] = ResourceGather(%table, %x) output %y").below, 50);
  EXPECT_EQ(use_in("const %depth: i32[] = 8 const %on: f32[] = 1 %y: f32[2,3,8] = OneHot(%x, %depth, %on, %on) output %y").below, 8);
  const std::string both = "%t: f32[9,4] = Placeholder() %z: f32[2,3,4] = Gather(%t, %x) ";
  EXPECT_EQ(use_in(kTable + both + "%c: i32[2,3] = Cast(%x) %y: f32[2,3,4] = GatherV2(%table, %c, %axis) output %y, %z").below, 9);
  // counted from the end where it is negative
  EXPECT_EQ(use_in(kTable + "const %n: i64 = 50 const %o: i64 = 0 %a: i64[2,3] = AddV2(%x, %n) %l: bool[2,3] = Less(%x, %o) "
                            "%s: i64[2,3] = SelectV2(%l, %a, %x) %y: f32[2,3,4] = GatherV2(%table, %s, %axis) output %y").below, 50);
  EXPECT_EQ(use_in(kTable + "%d: i64[2,3] = Add(%x, %x) %y: f32[2,3,4] = Gather(%table, %d) output %y").below, std::nullopt);
  EXPECT_FALSE(use_in(kTable + "%y: f32[2,3,4] = Gather(%table, %x) output %y").is_number);
}

TEST(VerifyIntegerUse, Numbers) {
  EXPECT_TRUE(use_in("%y: i64[2,3] = AddV2(%x, %x) output %y").stays_integer);
  EXPECT_TRUE(use_in("%c: i64[2,3] = Identity(%x) %y: bool[2,3] = Less(%c, %x) output %y").is_number);
  const IntegerUse wide = use_in("%f: f32[2,3] = Cast(%x) %y: f32[2,3] = Exp(%f) output %y");
  EXPECT_TRUE(wide.is_number);
  EXPECT_FALSE(wide.stays_integer);
  EXPECT_FALSE(use_in("const %f: f32[] = 1 %y: f32[?] = Fill(%x, %f) output %y").is_number);
  EXPECT_FALSE(use_in("%y: f32[?] = Made(%x) output %y").is_number);
  EXPECT_FALSE(use_in("%f: f32[6] = Placeholder() %y: f32[?,?] = Reshape(%f, %x) output %y").is_number);
}

Port port(IntegerUse use, DType t = DType::i64) { return {"x", "x:0", t, Shape({40}), use}; }
const IntegerUse kNumber{.below = {}, .is_number = true, .stays_integer = false}, kInteger{.below = {}, .is_number = true, .stays_integer = true};

TEST(VerifyInputs, PlacesReachTheLastRow) {
  const Ints drawn = random_sample({port({.below = 50})}, 0).inputs[0]->to_ints();
  EXPECT_GT(*std::max_element(drawn.begin(), drawn.end()), 9);
  EXPECT_LT(*std::max_element(drawn.begin(), drawn.end()), 50);
  EXPECT_GE(*std::min_element(drawn.begin(), drawn.end()), 0);
}

TEST(VerifyInputs, IntegersAtTheirEdges) {
  const auto drawn = [](const Port& p) { return random_sample({p}, 0, {.edges = true}).inputs[0]->to_ints(); };
  const auto has = [](const Ints& all, auto is) { return std::any_of(all.begin(), all.end(), is); };
  for (const DType t : {DType::i64, DType::i32, DType::i16, DType::i8, DType::u32, DType::u64, DType::u8}) {
    const Ints all = drawn(port(kInteger, t));
    for (const int n : {0, 1}) EXPECT_TRUE(has(all, [&](auto v) { return v == n; })) << name(t);
    EXPECT_EQ(has(all, [&](auto v) { return v == -1; }), is_signed_int(t)) << name(t);
    EXPECT_EQ(has(all, [&](auto v) { return v > 1LL << 31; }), bit_width(t) == 64 || t == DType::u32) << name(t);
  }
  EXPECT_FALSE(has(drawn(port(kNumber)), [](auto v) { return v > 9; })) << "a float would lose digits";
  EXPECT_FALSE(has(drawn(port({})), [](auto v) { return v < 0 || v > 9; })) << "it may be a size";
  EXPECT_FALSE(has_free_integers({port({})}));
  EXPECT_TRUE(has_free_integers({port(kNumber)}));
}

TEST(VerifyInputs, OtherSizes) {
  const Port image{"x", "", DType::f32, Shape({-1, -1, -1, 3})}, fixed{"x", "", DType::f32, Shape({2, 3})};
  EXPECT_EQ(chosen_dims(image, kOtherSizes), (Ints{3, 32, 32, 3}));
  EXPECT_EQ(chosen_dims({"x", "", DType::i64, Shape({-1, -3})}, kOtherSizes), (Ints{3, 10}));
  EXPECT_TRUE(has_open_sizes({fixed, image}));
  EXPECT_FALSE(has_open_sizes({fixed}));
}

TEST(VerifyCompare, WhatProvesLittle) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  const auto of = [](const std::vector<float>& v) {
    return evidence_of(*Tensor::of<float>({static_cast<std::int64_t>(v.size())}, v));
  };
  EXPECT_EQ(of({nan, nan}), Evidence::all_nan);
  EXPECT_EQ(of({nan}), Evidence::all_nan);
  EXPECT_EQ(of({inf, -inf}), Evidence::all_infinite);
  EXPECT_EQ(of({3, 3, 3}), Evidence::constant);
  EXPECT_EQ(of({3}), Evidence::some);
  EXPECT_EQ(of({nan, 1}), Evidence::some);
  EXPECT_EQ(of({}), Evidence::empty);
  EXPECT_EQ(of({1e-8F, -1e-9F}), Evidence::tiny);
  EXPECT_EQ(of({1e-7F, 0.1F}), Evidence::some);
  EXPECT_EQ(evidence_of(*Tensor::of({2}, std::vector<bool>{true, true})), Evidence::constant);
  EXPECT_EQ(evidence_of(*Tensor::of<std::int64_t>({2}, {1, 1LL << 62})), Evidence::some);
  EXPECT_EQ(evidence_of(Tensor(Ints{2}, Strings{"a", "a"})), Evidence::constant);
}

}  // namespace
}  // namespace t2o::verify
