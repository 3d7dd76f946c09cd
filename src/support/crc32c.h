#pragma once
#include <cstdint>

#include "support/storage.h"

namespace t2o {

// CRC-32C (Castagnoli) of the bytes that crc stands for, followed by these.
std::uint32_t crc32c_extend(std::uint32_t crc, Bytes bytes);
inline std::uint32_t crc32c(Bytes bytes) { return crc32c_extend(0, bytes); }

std::uint32_t crc32c_joined(std::uint32_t first, std::uint32_t second, std::size_t second_size);  // of two pieces, by their CRCs

// LevelDB and TensorFlow store CRCs masked: the CRC of a string that holds its own CRC would be no check.
constexpr std::uint32_t crc32c_mask(std::uint32_t crc) { return ((crc >> 15) | (crc << 17)) + 0xa282ead8u; }
constexpr std::uint32_t crc32c_unmask(std::uint32_t masked) {
  const std::uint32_t rotated = masked - 0xa282ead8u;
  return (rotated >> 17) | (rotated << 15);
}

std::uint32_t crc32c_extend_portable(std::uint32_t crc, Bytes bytes);  // without special instructions

}  // namespace t2o
