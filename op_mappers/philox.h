#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

// TensorFlow's random numbers: Philox4x32-10 (Salmon et al., 2011). A counter of 128 bits and a key of 64
// give a block of four 32-bit words.
namespace t2o::op_mappers::philox {

using Word = std::uint64_t;
using Block = std::array<Word, 4>;

inline constexpr Word kLow = 0xffffffff;
inline constexpr std::array<Word, 2> kMultiplier = {0xd2511f53, 0xcd9e8d57}, kWeyl = {0x9e3779b9, 0xbb67ae85};
inline constexpr int kRounds = 10;

inline Block block(std::array<Word, 2> key, const std::array<Word, 2>& counter) {
  Block x = {counter[0] & kLow, counter[0] >> 32, counter[1] & kLow, counter[1] >> 32};
  for (int round = 0; round < kRounds; ++round) {
    const Word p = x[0] * kMultiplier[0], q = x[2] * kMultiplier[1];
    x = {(q >> 32) ^ x[1] ^ key[0], q & kLow, (p >> 32) ^ x[3] ^ key[1], p & kLow};
    for (std::size_t i = 0; i < 2; ++i) key[i] = (key[i] + kWeyl[i]) & kLow;
  }
  return x;
}

inline std::array<Word, 2> plus(std::array<Word, 2> counter, Word n) {
  counter[0] += n;
  if (counter[0] < n) ++counter[1];
  return counter;
}

}  // namespace t2o::op_mappers::philox
