#include "support/hash128.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>

namespace t2o {
namespace {

constexpr std::uint64_t kFirst = 0x87c37b91114253d5, kSecond = 0x4cf5ad432745937f;

std::uint64_t scrambled(std::uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccd;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 33);
}

const std::array<std::uint64_t, 2>& seed() {
  static const std::array<std::uint64_t, 2> drawn = [] {
    std::random_device random;
    const auto draw = [&] { return std::uint64_t{random()} << 32 | random(); };
    const std::uint64_t first = draw();
    return std::array<std::uint64_t, 2>{first, draw()};
  }();
  return drawn;
}

}  // namespace

Hash128::Hash128() : state_(seed()) {}

void Hash128::mix(std::uint64_t low, std::uint64_t high) {
  auto& [a, b] = state_;
  a ^= std::rotl(low * kFirst, 31) * kSecond;
  a = (std::rotl(a, 27) + b) * 5 + 0x52dce729;
  b ^= std::rotl(high * kSecond, 33) * kFirst;
  b = (std::rotl(b, 31) + a) * 5 + 0x38495ab5;
}

void Hash128::add(Bytes bytes) {
  total_ += bytes.size();
  while (!bytes.empty()) {
    if (rest_size_ == 0 && bytes.size() >= rest_.size()) {
      std::uint64_t words[2];
      std::memcpy(words, bytes.data(), sizeof words);
      mix(words[0], words[1]);
      bytes = bytes.subspan(sizeof words);
      continue;
    }
    const std::size_t taken = std::min(bytes.size(), rest_.size() - rest_size_);
    std::copy_n(bytes.begin(), taken, rest_.begin() + static_cast<std::ptrdiff_t>(rest_size_));
    rest_size_ += taken;
    bytes = bytes.subspan(taken);
    if (rest_size_ < rest_.size()) return;
    std::uint64_t words[2];
    std::memcpy(words, rest_.data(), sizeof words);
    mix(words[0], words[1]);
    rest_size_ = 0;
  }
}

std::array<std::uint64_t, 2> Hash128::value() {
  std::fill(rest_.begin() + static_cast<std::ptrdiff_t>(rest_size_), rest_.end(), std::byte{});
  std::uint64_t words[2];
  std::memcpy(words, rest_.data(), sizeof words);
  mix(words[0], words[1]);
  mix(total_, kFirst);
  auto& [a, b] = state_;
  a += b;
  b += a;
  a = scrambled(a);
  b = scrambled(b);
  return {a + b, a + 2 * b};
}

}  // namespace t2o
