#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "engines/child_process.h"
#include "verify/special_values.h"

// Which special values are fed, and what they say of an export.
namespace t2o::verify {
namespace {

using enum Special;

Port port(const std::string& name, DType t, Shape shape) { return {name, name + ":0", t, std::move(shape), {}, {}, {}}; }

std::set<Special> kinds_for(const Port& p) {
  std::set<Special> kinds;
  for (const SpecialDraw& d : plan_special_values({p})) kinds.insert(d.kind);
  return kinds;
}

Sample sample_of(const Port& p, const SpecialDraw& d) { return special_sample({p}, random_sample({p}, 0), 0, d); }

TEST(SpecialPlan, FloatsHaveAllKinds) {
  for (const DType t : {DType::f16, DType::bf16, DType::f32, DType::f64, DType::c64})
    EXPECT_EQ(kinds_for(port("x", t, Shape({2, 3}))), (std::set<Special>{nan, infinity, largest, smallest, denormal, zero})) << name(t);
  EXPECT_TRUE(kinds_for(port("x", DType::f32, Shape({-1, 3}))).contains(empty));
}

TEST(SpecialPlan, OnlyIntegersThatAreNumbersHaveExtremes) {
  Port p = port("i", DType::i32, Shape({4}));
  EXPECT_EQ(kinds_for(p), std::set<Special>{});
  p.use = {{}, true, false};
  EXPECT_EQ(kinds_for(p), std::set<Special>{});
  p.use.stays_integer = true;
  EXPECT_EQ(kinds_for(p), std::set<Special>{integer});
  EXPECT_EQ(kinds_for(port("b", DType::boolean, Shape({4}))), std::set<Special>{});
  EXPECT_EQ(kinds_for(port("s", DType::string, Shape({4}))), std::set<Special>{});
}

TEST(SpecialPlan, ExtremesOfEachIntegerType) {
  for (const auto& [t, lowest, highest] : std::vector<std::tuple<DType, std::int64_t, std::int64_t>>{
           {DType::i8, -128, 127}, {DType::u8, 0, 255}, {DType::i16, -32768, 32767}, {DType::i32, INT32_MIN, INT32_MAX}, {DType::u32, 0, UINT32_MAX}, {DType::i64, INT64_MIN, INT64_MAX}}) {
    Port p = port("i", t, Shape({4}));
    p.use = {{}, true, true};
    EXPECT_EQ(sample_of(p, {integer, SpecialDraw::Spread::all, 1}).inputs[0]->to_ints(), Ints(4, highest)) << name(t);
    EXPECT_EQ(sample_of(p, {integer, SpecialDraw::Spread::all, -1}).inputs[0]->to_ints(), Ints(4, lowest)) << name(t);
  }
}

TEST(SpecialPlan, OneSomeOrAllElements) {
  const Port p = port("x", DType::f32, Shape({64}));
  const auto count = [&](SpecialDraw::Spread spread) {
    const std::vector<double> x = sample_of(p, {nan, spread, 1}).inputs[0]->to_floats();
    return std::ranges::count_if(x, [](double v) { return std::isnan(v); });
  };
  EXPECT_EQ(count(SpecialDraw::Spread::one), 1);
  EXPECT_EQ(count(SpecialDraw::Spread::some), 8);
  EXPECT_EQ(count(SpecialDraw::Spread::all), 64);
}

TEST(SpecialPlan, SignsTakeTurns) {
  const Port p = port("x", DType::f32, Shape({4}));
  const double inf = INFINITY;
  EXPECT_EQ(sample_of(p, {infinity, SpecialDraw::Spread::all}).inputs[0]->to_floats(), (std::vector<double>{inf, -inf, inf, -inf}));
  EXPECT_EQ(sample_of(p, {infinity, SpecialDraw::Spread::all, -1}).inputs[0]->to_floats(), std::vector<double>(4, -inf));
  EXPECT_TRUE(std::signbit(sample_of(p, {zero, SpecialDraw::Spread::all, -1}).inputs[0]->float_at(0)));
}

TEST(SpecialPlan, NumbersOfEachFloatType) {
  for (const DType t : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    const Port p = port("x", t, Shape({1}));
    const auto only = [&](Special kind, int root = 1) { return sample_of(p, {kind, SpecialDraw::Spread::all, 1, root}).inputs[0]; };
    EXPECT_TRUE(is_ordinary(*only(largest))) << name(t);
    EXPECT_TRUE(is_ordinary(*only(smallest))) << name(t);
    EXPECT_FALSE(is_ordinary(*only(denormal))) << name(t);
    EXPECT_NE(only(denormal)->float_at(0), 0) << name(t);
    EXPECT_FALSE(is_ordinary(*only(nan))) << name(t);
    const double root = only(largest, 2)->float_at(0), highest = only(largest)->float_at(0);
    EXPECT_LE(root * root, highest) << name(t);
    EXPECT_GE(root * root, highest / 8) << name(t);
  }
}

TEST(SpecialPlan, EmptySizesAndCaches) {
  Port p = port("past", DType::f32, Shape({-1, -1, 4}));
  EXPECT_FALSE(kinds_for(p).contains(empty_cache));
  p.joined_axis = -2;
  EXPECT_TRUE(kinds_for(p).contains(empty_cache));
  EXPECT_EQ(sample_of(p, {empty_cache}).inputs[0]->dims(), (Ints{2, 0, 4}));
  EXPECT_EQ(sample_of(p, {empty, SpecialDraw::Spread::all, 0, 1, {0, 64, 7}}).inputs[0]->dims(), (Ints{0, 7, 4}));
  EXPECT_FALSE(kinds_for(port("x", DType::f32, Shape({2, 3}))).contains(empty));
}

TEST(SpecialVerdict, WhatALevelPromises) {
  for (const Special k : {nan, infinity, denormal, empty}) {
    EXPECT_EQ(promise({.strict = false, .any = false}, k), Promise::no) << name(k);
    EXPECT_EQ(promise({.strict = true, .any = false}, k), Promise::yes) << name(k);
    EXPECT_EQ(promise({.strict = true, .any = true}, k), Promise::no) << name(k);
  }
  for (const Special k : {largest, smallest, zero, integer}) EXPECT_EQ(promise({}, k), Promise::if_ordinary) << name(k);
  EXPECT_EQ(promise({}, empty_cache), Promise::yes);
  EXPECT_EQ(promise({.strict = true, .any = true}, integer), Promise::no);
}

TEST(SpecialVerdict, ListedDifferences) {
  EXPECT_FALSE(known_difference(nan, "Softmax").empty());
  EXPECT_FALSE(known_difference(largest, "Softmax").empty()) << "sums of the largest numbers are infinite";
  EXPECT_TRUE(known_difference(zero, "Softmax").empty());
  EXPECT_TRUE(known_difference(nan, "Max").empty());
  EXPECT_TRUE(known_difference(nan, "").empty());
  EXPECT_TRUE(known_difference(zero, "Cast").empty());
  EXPECT_EQ(known_difference(denormal, "FloorMod"), kFlushesDenormals);
}

SpecialResult result(Special kind, std::int64_t differing, bool promised, const std::string& known = "", const std::string& skipped = "") {
  SpecialResult r{.kind = kind, .label = "l", .skipped = skipped, .problem = "", .elements = 10, .differing = differing, .promised = promised};
  r.known = known;
  return r;
}

TEST(SpecialVerdict, OnlyABrokenPromiseFails) {
  SpecialReport r;
  r.results = {result(nan, 3, false), result(zero, 0, false), result(largest, 2, true, "listed"), result(denormal, 0, false, "", "refused")};
  EXPECT_TRUE(r.ok());
  r.results.push_back(result(integer, 1, true));
  EXPECT_FALSE(r.ok());
}

TEST(SpecialVerdict, AKindShowsItsWorstSample) {
  SpecialReport r;
  r.results = {result(largest, 9, false), result(largest, 1, true), result(largest, 5, true, "listed"), result(zero, 0, false, "", "refused")};
  const std::vector<SpecialKind> kinds = r.kinds();
  ASSERT_EQ(kinds.size(), 2U);
  EXPECT_EQ(kinds[0].samples, 3);
  EXPECT_EQ(kinds[0].differing, 15);
  EXPECT_EQ(kinds[0].failing, 1);
  EXPECT_EQ(kinds[0].worst, &r.results[1]);
  EXPECT_EQ(kinds[1].skipped, 1);
  EXPECT_EQ(kinds[1].why_skipped, "refused");
}

TEST(SpecialVerdict, WhatWasNotComparedDoesNotPass) {
  SpecialReport r;
  r.problem = "loading ended the process (SIGSEGV)";
  EXPECT_FALSE(r.ok());
  r.results = {result(zero, 0, false)};
  EXPECT_FALSE(r.ok());
}

TEST(SpecialVerdict, AsFarOffAsTheSourceIsItself) {
  EXPECT_TRUE(is_within(1, 1.5, {1.1}, true)) << "rounding grows";
  EXPECT_FALSE(is_within(1, 1.5, {1.1}, false)) << "another kernel's result does not";
  EXPECT_TRUE(is_within(INFINITY, 1, {1}, false));
  EXPECT_TRUE(is_within(1, NAN, {NAN}, true));
  EXPECT_FALSE(is_within(INFINITY, 1, {2}, true));
  for (const double z : {HUGE_VAL, -HUGE_VAL, std::nan("")})
    for (const bool by_rounding : {false, true}) {
      EXPECT_FALSE(is_within(3e38, 0, {z}, by_rounding)) << z << " is infinitely far from every number";
      EXPECT_TRUE(is_within(3e38, 0, {z, -3e38}, by_rounding)) << z;
    }
}

// What the process that runs the samples tells of two samples, and its end.
class Collecting : public testing::Test {
 protected:
  static constexpr const char* kHow = "ended the process (SIGSEGV)";
  void begin() {
    told_.begin();
    told_.take({{"step", Step::reference}, {"engine", "TensorFlow"}, {"what", "loads"}});
  }
  void plan() {
    auto draws = nlohmann::ordered_json::array();
    for (int i = 0; i < 2; ++i) draws.push_back(as_message(result(nan, 0, false)));
    told_.take({{"plan", draws}, {"seconds", 0.5}});
  }
  void at(Step s) { told_.take({{"step", s}, {"engine", s == Step::candidate ? "ONNX Runtime" : "TensorFlow"}, {"what", "runs"}}); }
  void preliminary(bool promised) { told_.take({{"preliminary", as_message(result(nan, 4, promised))}}); }
  const SpecialReport& report() const { return told_.report(); }
  SpecialCollector told_{{.strict = true, .any = false}, ""};
};

TEST_F(Collecting, ResultsAndNothingElse) {
  begin(), plan();
  told_.take({{"result", as_message(result(nan, 0, false))}});
  told_.take({{"result", as_message(result(nan, 1, false))}});
  EXPECT_FALSE(told_.done());
  told_.take({{"done", true}});
  EXPECT_TRUE(told_.done());
  EXPECT_TRUE(report().ok());
  EXPECT_EQ(report().results.size(), 2U);
}

TEST_F(Collecting, AnEndAfterADifferenceCountsAsTheDifference) {
  for (const Step s : {Step::reference, Step::candidate, Step::explaining})
    for (const bool promised : {true, false}) {
      SpecialCollector fresh({.strict = true, .any = false}, "");
      std::swap(told_, fresh);
      begin(), plan(), at(Step::candidate), preliminary(promised), at(s);
      told_.end(kHow);
      ASSERT_EQ(report().results.size(), 1U);
      EXPECT_EQ(report().results[0].skipped, "");
      EXPECT_EQ(report().results[0].differing, 4);
      EXPECT_EQ(report().ok(), !promised);
      EXPECT_FALSE(told_.done()) << "the next sample runs in a new process";
    }
}

TEST_F(Collecting, AnEndWithoutADifference) {
  begin(), plan(), at(Step::reference);
  told_.end(kHow);
  EXPECT_EQ(report().results[0].skipped, std::string("TensorFlow ") + kHow);
  EXPECT_TRUE(report().ok());
  told_.begin();
  plan(), at(Step::reference);
  told_.take({{"result", as_message(result(nan, 0, false))}});
  told_.end(kHow);
  EXPECT_TRUE(told_.done()) << "all is told";
  EXPECT_TRUE(report().ok());
}

TEST_F(Collecting, AnEndBeforeThePlanIsAProblem) {
  begin();
  told_.end(kHow);
  EXPECT_TRUE(told_.done());
  EXPECT_EQ(report().problem, std::string("TensorFlow ") + kHow);
  EXPECT_FALSE(report().ok());
}

TEST_F(Collecting, SoItIsInALaterProcess) {
  for (const bool by_error : {false, true}) {
    SpecialCollector fresh({.strict = true, .any = false}, "");
    std::swap(told_, fresh);
    begin(), plan(), at(Step::reference);
    told_.end(kHow);
    EXPECT_FALSE(told_.done());
    begin();
    if (by_error)
      told_.take({{"error", "no memory"}});
    else
      told_.end(kHow);
    EXPECT_TRUE(told_.done());
    EXPECT_FALSE(report().ok());
    EXPECT_EQ(report().results.size(), 1U) << "no sample is to blame";
  }
}

TEST_F(Collecting, OnlyARunHasTheShortLimit) {
  begin();
  const auto to_load = told_.limit();
  plan();
  for (const Step s : {Step::reference, Step::candidate}) {
    at(s);
    EXPECT_LT(told_.limit(), to_load);
  }
  at(Step::explaining);
  EXPECT_EQ(told_.limit(), to_load);
}

// The process that runs the samples may die; this one goes on.
TEST(SpecialProcess, MayDie) {
  using engines::ChildProcess;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  char byte = 0;
  ChildProcess talks([](int socket) { std::ignore = ::write(socket, "x", 1); });
  EXPECT_EQ(talks.receive(&byte, 1, deadline), ChildProcess::Result::ok);
  EXPECT_EQ(byte, 'x');
  EXPECT_EQ(talks.end(), "exit code 0");
  ChildProcess dies([](int) { std::raise(SIGKILL); });
  EXPECT_EQ(dies.receive(&byte, 1, deadline), ChildProcess::Result::closed);
  EXPECT_EQ(dies.end(), "SIGKILL");
}

}  // namespace
}  // namespace t2o::verify
