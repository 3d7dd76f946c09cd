#include "support/crc32c.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "support/parallel.h"

namespace t2o {
namespace {

Bytes bytes_of(std::string_view s) { return std::as_bytes(std::span(s)); }

TEST(Crc32c, KnownValues) {  // RFC 3720, B.4
  EXPECT_EQ(crc32c(bytes_of("123456789")), 0xe3069283u);
  EXPECT_EQ(crc32c({}), 0u);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32)), 0x8a9136aau);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0xff})), 0x62a8ab43u);
}

TEST(Crc32c, MaskIsUndone) {
  EXPECT_NE(crc32c_mask(0xe3069283u), 0xe3069283u);
  EXPECT_EQ(crc32c_unmask(crc32c_mask(0xe3069283u)), 0xe3069283u);
}

TEST(Crc32c, SpecialInstructionsGiveWhatThePortableWayGives) {
  std::vector<std::byte> data(20'000);
  std::uint32_t x = 1;
  for (std::byte& b : data) b = static_cast<std::byte>((x = x * 1664525u + 1013904223u) >> 24);
  for (const std::size_t size : {0u, 1u, 7u, 8u, 9u, 6143u, 6144u, 6145u, 12288u, 19999u}) {
    const Bytes part = Bytes(data).subspan(1, size);
    EXPECT_EQ(crc32c_extend(5, part), crc32c_extend_portable(5, part)) << size;
  }
}

TEST(Crc32c, PiecesGiveWhatTheWholeGives) {
  const std::vector<std::byte> data(10'000, std::byte{0x5a});
  const Bytes all = data;
  EXPECT_EQ(crc32c_extend(crc32c(all.first(6'500)), all.subspan(6'500)), crc32c(all));
}

TEST(Crc32c, ManyMegabytesInSeveralThreads) {
  std::vector<std::byte> data(3'333'333);
  std::uint32_t x = 1;
  for (std::byte& b : data) b = static_cast<std::byte>((x = x * 1664525u + 1013904223u) >> 24);
  const Bytes all = data;
  const HelpingThreads threads(3);
  EXPECT_EQ(crc32c_extend(5, all), crc32c_extend_portable(5, all));
  for (const std::size_t n : {0u, 1u, 77u, 4096u, 1'000'000u, 3'333'333u})
    EXPECT_EQ(crc32c_joined(crc32c(all.first(n)), crc32c(all.subspan(n)), all.size() - n), crc32c(all)) << n;
}

}  // namespace
}  // namespace t2o
