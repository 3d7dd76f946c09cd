#pragma once
#include <cstdint>
#include <vector>

// The arithmetic of LiteRT's integer kernels for recurrent layers: 16-bit numbers with a fixed point.
namespace t2o::tflite {

// The sigmoid and the tanh of x <= 0, where `integer_bits` of the 15 bits of x stand in front of the point.
// The result has none. Both are polynomials and Newton's steps of rounded products, so they are off by up to 12
// steps of 1/32768, in no smooth way.
std::int32_t fixed_sigmoid(std::int32_t x, int integer_bits);
std::int32_t fixed_tanh(std::int32_t x, int integer_bits);

// For x = 0, 1, 2, ...: tanh(x). It is as long as the results change. tanh(-x) = -tanh(x).
std::vector<std::int16_t> tanh_table(int integer_bits);
// For x = 0, 1, 2, ... with 3 bits in front of the point: 2 * sigmoid(x) - 32767.
// sigmoid(-x) = 32767 - sigmoid(x).
std::vector<std::int16_t> sigmoid_table();

constexpr std::int32_t kHighest16 = 32767, kOne16 = 1 << 15;

// A sum of products of codes becomes a 16-bit or 8-bit number by a factor. LiteRT rounds twice: to a fraction,
// then to a whole number. Both roundings are one of the sum with this value added, away from 0.
double second_rounding(double factor);

}  // namespace t2o::tflite
