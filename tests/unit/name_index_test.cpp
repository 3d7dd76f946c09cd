#include "tf/name_index.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace t2o::tf {
namespace {

TEST(NameIndex, NumbersInTheOrderOfAdding) {
  std::vector<std::string> names;
  for (int i = 0; i < 5000; ++i) names.push_back("block/node_" + std::to_string(i * 7919));
  for (const bool reserved : {false, true}) {
    NameIndex index;
    EXPECT_EQ(index.find("a"), std::nullopt);
    if (reserved) index.reserve(names.size());
    for (const std::string& n : names) EXPECT_TRUE(index.add(n));
    for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(index.find(std::string(names[i])), i);
    EXPECT_EQ(index.find("block/node_"), std::nullopt);
  }
}

TEST(NameIndex, ASecondOfOneNameTakesANumberAllTheSame) {
  NameIndex index;
  EXPECT_TRUE(index.add("a"));
  EXPECT_FALSE(index.add("a"));
  EXPECT_TRUE(index.add("b"));
  EXPECT_EQ(index.find("a"), 0U);
  EXPECT_EQ(index.find("b"), 2U);
  for (int i = 0; i < 100; ++i) index.add("a");  // grows
  EXPECT_EQ(index.find("a"), 0U);
  EXPECT_EQ(index.find("b"), 2U);
}

}  // namespace
}  // namespace t2o::tf
