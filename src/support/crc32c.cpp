#include "support/crc32c.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "support/parallel.h"

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace t2o {
namespace {

using Table = std::array<std::uint32_t, 256>;

// tables[k][b]: the register after byte b and k zero bytes.
constexpr std::array<Table, 8> make_tables() {
  std::array<Table, 8> t{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t r = b;
    for (int bit = 0; bit < 8; ++bit) r = (r >> 1) ^ ((r & 1) != 0 ? 0x82f63b78u : 0u);
    t[0][b] = r;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t b = 0; b < 256; ++b) t[k][b] = (t[k - 1][b] >> 8) ^ t[0][t[k - 1][b] & 0xff];
  return t;
}
constexpr std::array<Table, 8> kTables = make_tables();

std::uint64_t load64(const std::byte* p) {
  std::uint64_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

#if defined(__x86_64__)

constexpr std::size_t kLane = 2048;  // bytes; three lanes hide the latency of the crc32 instruction

__attribute__((target("sse4.2"))) std::uint32_t append_zero_lane(std::uint32_t r) {
  std::uint64_t v = r;
  for (std::size_t i = 0; i < kLane; i += 8) v = _mm_crc32_u64(v, 0);
  return static_cast<std::uint32_t>(v);
}

// What kLane zero bytes make of a register, by its bytes: the CRC is linear.
const std::array<Table, 4>& lane_shift() {
  static const std::array<Table, 4> shift = [] {
    std::array<Table, 4> t{};
    for (std::size_t k = 0; k < 4; ++k)
      for (std::size_t bit = 0; bit < 8; ++bit) {
        const std::uint32_t image = append_zero_lane(1u << (8 * k + bit));
        for (std::size_t b = 0; b < 256; ++b)
          if ((b >> bit & 1) != 0) t[k][b] ^= image;
      }
    return t;
  }();
  return shift;
}

std::uint32_t shifted(const std::array<Table, 4>& t, std::uint32_t r) {
  return t[0][r & 0xff] ^ t[1][r >> 8 & 0xff] ^ t[2][r >> 16 & 0xff] ^ t[3][r >> 24];
}

__attribute__((target("sse4.2"))) std::uint32_t extend_sse42(std::uint32_t crc, Bytes bytes) {
  const std::byte* p = bytes.data();
  std::size_t n = bytes.size();
  std::uint64_t a = ~crc;
  if (n >= 3 * kLane) {
    const auto& shift = lane_shift();
    for (; n >= 3 * kLane; n -= 3 * kLane, p += 3 * kLane) {
      std::uint64_t b = 0, c = 0;
      for (std::size_t i = 0; i < kLane; i += 8) {
        a = _mm_crc32_u64(a, load64(p + i));
        b = _mm_crc32_u64(b, load64(p + kLane + i));
        c = _mm_crc32_u64(c, load64(p + 2 * kLane + i));
      }
      a = shifted(shift, static_cast<std::uint32_t>(a)) ^ b;
      a = shifted(shift, static_cast<std::uint32_t>(a)) ^ c;
    }
  }
  for (; n >= 8; n -= 8, p += 8) a = _mm_crc32_u64(a, load64(p));
  auto r = static_cast<std::uint32_t>(a);
  for (; n != 0; --n, ++p) r = _mm_crc32_u8(r, std::to_integer<std::uint8_t>(*p));
  return ~r;
}

#endif

// Registers are polynomials modulo the CRC's, the highest bit that of x^0.
std::uint32_t product(std::uint32_t a, std::uint32_t b) {
  std::uint32_t p = 0;
  for (std::uint32_t bit = 1u << 31; bit != 0; bit >>= 1) {
    if ((a & bit) != 0) p ^= b;
    b = (b >> 1) ^ ((b & 1) != 0 ? 0x82f63b78u : 0u);
  }
  return p;
}

std::uint32_t extend(std::uint32_t crc, Bytes bytes) {
#if defined(__x86_64__)
  static const bool fast = __builtin_cpu_supports("sse4.2") != 0;
  if (fast) return extend_sse42(crc, bytes);
#endif
  return crc32c_extend_portable(crc, bytes);
}

}  // namespace

std::uint32_t crc32c_joined(std::uint32_t first, std::uint32_t second, std::size_t second_size) {
  std::uint32_t shift = 1u << 31, square = 1u << 23;  // x^0 and x^8: one byte
  for (std::size_t n = second_size; n != 0; n >>= 1, square = product(square, square))
    if ((n & 1) != 0) shift = product(shift, square);
  return product(shift, first) ^ second;
}

std::uint32_t crc32c_extend_portable(std::uint32_t crc, Bytes bytes) {
  const std::byte* p = bytes.data();
  std::size_t n = bytes.size();
  std::uint32_t r = ~crc;
  for (; n >= 8; n -= 8, p += 8) {
    const std::uint64_t v = load64(p) ^ r;
    r = 0;
    for (std::size_t k = 0; k < 8; ++k) r ^= kTables[7 - k][v >> (8 * k) & 0xff];
  }
  for (; n != 0; --n, ++p) r = (r >> 8) ^ kTables[0][(r ^ std::to_integer<std::uint32_t>(*p)) & 0xff];
  return ~r;
}

std::uint32_t crc32c_extend(std::uint32_t crc, Bytes bytes) {
  constexpr std::size_t kPart = std::size_t{256} << 10;
  if (bytes.size() < 4 * kPart) return extend(crc, bytes);
  const auto part = [&](std::size_t i) {
    return bytes.subspan(i * kPart, std::min(kPart, bytes.size() - i * kPart));
  };
  std::vector<std::uint32_t> crcs((bytes.size() + kPart - 1) / kPart);
  in_parallel(static_cast<std::int64_t>(crcs.size()), bytes.size(), [&](std::int64_t from, std::int64_t to) {
    for (auto i = static_cast<std::size_t>(from); i < static_cast<std::size_t>(to); ++i)
      crcs[i] = extend(0, part(i));
  });
  for (std::size_t i = 0; i < crcs.size(); ++i) crc = crc32c_joined(crc, crcs[i], part(i).size());
  return crc;
}

}  // namespace t2o
