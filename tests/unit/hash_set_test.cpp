#include "support/hash_set.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_set>

namespace t2o {
namespace {

TEST(HashSet, HoldsWhatWasPutIn) {
  HashSet set;
  set.erase(3);
  EXPECT_TRUE(set.insert(3));
  EXPECT_FALSE(set.insert(3));
  set.erase(4);
  EXPECT_EQ(set.size(), 1U);
  set.erase(3);
  EXPECT_EQ(set.size(), 0U);
  EXPECT_TRUE(set.insert(3));
}

// Few different low bits, so that many meet at one place, and the ends of the table too.
TEST(HashSet, AgreesWithTheStandardLibrarys) {
  std::mt19937_64 random(1);
  HashSet set;
  std::unordered_set<std::size_t> truth;
  for (int i = 0; i < 200'000; ++i) {
    const std::size_t key = 4 + (random() % 61) + 64 * (random() % 40) - (random() % 2 ? 0 : 3);
    if (random() % 2) {
      EXPECT_EQ(set.insert(key), truth.insert(key).second);
    } else {
      set.erase(key);
      truth.erase(key);
    }
    ASSERT_EQ(set.size(), truth.size());
    if (i % 50'000 == 0) set.reserve(2 * truth.size());
  }
  for (std::size_t key = 0; key < 4096; ++key)
    EXPECT_TRUE(!truth.contains(key) || !set.insert(key)) << key;
}

}  // namespace
}  // namespace t2o
