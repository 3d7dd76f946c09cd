#include "tflite/fixed_point.h"

#include <algorithm>
#include <cmath>

namespace t2o::tflite {
namespace {

using I = std::int32_t;

I cut(I x) { return std::clamp(x, -kOne16, kHighest16); }

// Half of the doubled product's upper 16 bits, rounded.
I product(I a, I b) {
  if (a == -kOne16 && b == -kOne16) return kHighest16;
  const I p = a * b, half = p >= 0 ? 1 << 14 : 1 - (1 << 14);
  return (p + half) / kOne16;
}

// x / 2^bits, rounded half away from 0
I shifted_right(I x, int bits) {
  const I mask = (1 << bits) - 1, threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> bits) + ((x & mask) > threshold ? 1 : 0);
}

I shifted_left(I x, int bits) { return cut(x * (1 << bits)); }

// The 16 upper bits of a 32-bit constant.
constexpr I constant(std::int64_t bits32) { return static_cast<I>((bits32 + (1 << 15)) >> 16); }

// exp(x) for -1/4 <= x < 0, without bits in front of the point
I exp_of_quarter(I x) {
  constexpr I kExpOfEighth = constant(1895147668), kThird = constant(715827883);
  constexpr I kEighth = 1 << 12;
  const I y = cut(x + kEighth), y2 = product(y, y), y3 = product(y2, y), y4 = product(y2, y2);
  const I tail = shifted_right(product(cut(shifted_right(y4, 2) + y3), kThird) + y2, 1);
  return cut(kExpOfEighth + product(kExpOfEighth, cut(y + tail)));
}

// exp(x) for x <= 0: the part below 1/4 by a polynomial, times a constant for each bit above
I exp_of_negative(I x, int integer_bits) {
  if (x == 0) return kHighest16;
  const int fraction_bits = 15 - integer_bits;
  const I quarter = 1 << (fraction_bits - 2), rest = (x & (quarter - 1)) - quarter;
  I result = exp_of_quarter(shifted_left(rest, integer_bits));
  struct Factor {
    int exponent;
    std::int64_t bits32;  // exp(-2^exponent)
  };
  constexpr Factor kFactors[] = {{-2, 1672461947}, {-1, 1302514674}, {0, 790015084}, {1, 290630308},
                                 {2, 39332535},    {3, 720401},      {4, 242}};
  for (const Factor& f : kFactors)
    if (integer_bits > f.exponent && ((rest - x) & (1 << (fraction_bits + f.exponent))) != 0)
      result = product(result, constant(f.bits32));
  constexpr int kMostBits = 5;
  if (integer_bits > kMostBits && x < -(1 << (fraction_bits + kMostBits))) return 0;
  return result;
}

constexpr I kOneOfTwoBits = 1 << 13;  // 1, with two bits in front of the point

// 2 / (1 + a), with two bits in front of the point
I twice_reciprocal(I a) {
  constexpr I kStart = constant(1515870810), kSlope = constant(-1010580540);  // 48/17 and -32/17
  const I half = (a + kHighest16 + 1) / 2;
  I y = cut(kStart + product(half, kSlope));
  constexpr int kSteps = 3;
  for (int i = 0; i < kSteps; ++i)
    y = cut(y + shifted_left(product(y, cut(kOneOfTwoBits - product(half, y))), 2));
  return y;
}

}  // namespace

I fixed_sigmoid(I x, int integer_bits) {
  if (x == 0) return kOne16 / 2;
  return kHighest16 - shifted_left(twice_reciprocal(exp_of_negative(x, integer_bits)), 1);
}

I fixed_tanh(I x, int integer_bits) {
  if (x == 0) return 0;
  return -shifted_left(cut(twice_reciprocal(exp_of_negative(x, integer_bits + 1)) - kOneOfTwoBits), 2);
}

std::vector<std::int16_t> tanh_table(int integer_bits) {
  std::vector<std::int16_t> table;
  for (I x = 0; x < kOne16; ++x) table.push_back(static_cast<std::int16_t>(-fixed_tanh(-x, integer_bits)));
  while (table.size() > 1 && table[table.size() - 2] == table.back()) table.pop_back();
  return table;
}

std::vector<std::int16_t> sigmoid_table() {
  constexpr int kBits = 3;
  std::vector<std::int16_t> table{1};
  for (I x = 1; x < kOne16; ++x)
    table.push_back(static_cast<std::int16_t>(kHighest16 - 2 * fixed_sigmoid(-x, kBits)));
  return table;
}

double second_rounding(double factor) {
  int exponent = 0;
  std::frexp(static_cast<float>(factor), &exponent);
  return exponent < 0 ? std::ldexp(1, exponent - 1) : 0;
}

}  // namespace t2o::tflite
