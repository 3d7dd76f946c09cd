// LSTM layers of 8-bit codes, which LiteRT computes in integers: sizes, scales of the cells, peepholes, coupled
// gates, biases whose scale is not that of the products. All codes are LiteRT's, except for a few in a thousand.
#include <gtest/gtest.h>

#include <cmath>

#include "lite_case.h"

namespace t2o::numeric {
namespace {

using enum t2o::DType;

constexpr double kIdentical = 0.997;  // floats hold the sums of products not quite exactly

struct Layer {
  std::int64_t batch = 1, steps = 6, features = 3, units = 4;
  int cell_bits = 1;                                                        // in front of the point
  float clip = 10;
  bool is_coupled = false, has_peepholes = false, is_time_first = false;
  float weights = 0.006F;  // their scale
};

std::string text(const Layer& l) {
  std::string s;
  for (const std::int64_t v : {l.batch, l.steps, l.features, l.units}) s += std::to_string(v) + " ";
  return s + std::to_string(l.cell_bits) + " bits, clip " + std::to_string(l.clip) +
         (l.is_time_first ? ", time first" : "");
}

void check(const Layer& l) {
  const auto dims = [&](std::int64_t size) {
    return l.is_time_first ? Ints{l.steps, l.batch, size} : Ints{l.batch, l.steps, size};
  };
  const Codes h = codes(0.0075F, -7);
  LiteCase c = lite_case(B::UNIDIRECTIONAL_SEQUENCE_LSTM);
  c.in(i8, dims(l.features), codes(0.031F, -5));
  const auto gates = [&](const Ints& shape, float scale) {
    for (int g = 0; g < 4; ++g) {
      if (g == 0 && l.is_coupled) c.missing();
      else c.random_constant(i8, shape, codes(scale * (1 + 0.13F * static_cast<float>(g))));
    }
  };
  gates({l.units, l.features}, l.weights);
  gates({l.units, l.units}, l.weights * 0.8F);
  for (int i = 0; i < 3; ++i) {
    if (!l.has_peepholes || (i == 0 && l.is_coupled)) c.missing();
    else c.random_constant(i16, {l.units}, codes(2e-5F), verify::Range{-32767, 32767});
  }
  for (int g = 0; g < 4; ++g) {
    if (g == 0 && l.is_coupled) c.missing();
    else c.random_constant(i32, {l.units}, codes(0.031F * l.weights), verify::Range{-6000, 6000});
  }
  c.missing().missing();  // no projection
  c.variable(i8, {l.batch, l.units}, h);
  c.variable(i16, {l.batch, l.units}, codes(std::ldexp(1.0F, l.cell_bits - 15)));
  for (int g = 0; g < 4; ++g) c.missing();
  for (int i = 0; i < 4; ++i) c.intermediate();
  c.intermediate(h).out(i8, dims(l.units), h).version(3);
  c.options(O::UnidirectionalSequenceLSTMOptions, [=](Fbb& b) {
    return schema::CreateUnidirectionalSequenceLSTMOptions(b, A::TANH, l.clip, 0, l.is_time_first).Union();
  });
  c.gives({{"LSTM", 0}, {"Scan", l.steps == 1 ? 0 : 1}}).identical(kIdentical).samples(8).note(text(l)).check();
}

TEST(LiteLstm, Sizes) {
  check({});
  check({.batch = 2, .steps = 12, .features = 8, .units = 16});
  check({.steps = 24, .features = 16, .units = 32, .weights = 0.004F});
  check({.batch = 3, .steps = 5, .features = 5, .units = 7, .is_time_first = true});
  check({.steps = 40, .features = 10, .units = 64, .weights = 0.003F});
  check({.batch = 2, .steps = 1, .features = 4, .units = 9});
}

// The table of the cells' tanh has another step for each of them.
TEST(LiteLstm, ScalesOfCells) {
  for (const int bits : {0, 1, 2, 3, 4, 5, 6})
    for (const float clip : {0.0F, 0.7F, 10.0F})
      check({.steps = 20, .features = 6, .units = 12, .cell_bits = bits, .clip = clip, .weights = 0.01F});
}

// Products of which no rounding, one and two take place, and gates far from 0.
TEST(LiteLstm, ScalesOfWeights) {
  for (const float scale : {0.0008F, 0.002F, 0.02F, 0.05F, 0.2F})
    check({.steps = 16, .features = 6, .units = 12, .cell_bits = 3, .weights = scale});
}

TEST(LiteLstm, PeepholesAndCoupledGates) {
  for (const bool peepholes : {false, true})
    for (const bool coupled : {false, true})
      check({.batch = 2, .steps = 14, .features = 6, .units = 12, .is_coupled = coupled, .has_peepholes = peepholes});
}

}  // namespace
}  // namespace t2o::numeric
