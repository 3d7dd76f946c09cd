#include "support/hash128.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace t2o {
namespace {

std::array<std::uint64_t, 2> hash_in_pieces(const std::string& text, std::size_t piece) {
  Hash128 hash;
  const Bytes all = std::as_bytes(std::span(text));
  for (std::size_t at = 0; at < all.size(); at += piece) hash.add(all.subspan(at, std::min(piece, all.size() - at)));
  return hash.value();
}

TEST(Hash128, DoesNotDependOnThePieces) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += static_cast<char>(i * 37);
  for (const std::size_t piece : {1, 3, 15, 16, 17, 64, 999}) EXPECT_EQ(hash_in_pieces(text, piece), hash_in_pieces(text, text.size())) << piece;
}

TEST(Hash128, SeesEachByteAndTheLength) {
  std::set<std::array<std::uint64_t, 2>> seen;
  std::size_t count = 0;
  for (std::size_t size = 0; size < 70; ++size)
    for (std::size_t changed = 0; changed <= size; ++changed, ++count) {
      std::string text(size, '\0');
      if (changed < size) text[changed] = 1;
      seen.insert(hash_in_pieces(text, 16));
    }
  EXPECT_EQ(seen.size(), count);
}

}  // namespace
}  // namespace t2o
