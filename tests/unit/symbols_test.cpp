#include <gtest/gtest.h>

#include "ir/shape.h"

namespace t2o {
namespace {

TEST(Symbols, SizesThatFollowFromOthers) {
  Symbols s;
  const Dim h = s.intern("h"), w = s.intern("w");
  const Dim twice = multiply_dims(h, 2, s), more = add_dims(twice, 3, s);
  EXPECT_EQ(s.name(twice), "2*h");
  EXPECT_EQ(s.name(more), "2*h+3");
  EXPECT_EQ(subtract_dims(more, 3, s), twice);
  EXPECT_EQ(divide_dims(twice, 2, s), h);
  EXPECT_EQ(s.name(divide_dims(more, 2, s)), "h+1") << "rounded down";
  EXPECT_EQ(s.name(floor_divide_dims(subtract_dims(twice, 1, s), 2, s)), "h-1");
  EXPECT_EQ(divide_dims(subtract_dims(twice, 1, s), 2, s), kUnknownDim) << "of h = 0 it is 0";
  EXPECT_EQ(s.name(divide_dims(subtract_dims(twice, 2, s), 2, s)), "h-1");
  EXPECT_EQ(divide_dims(multiply_dims(h, 3, s), 2, s), kUnknownDim);
  EXPECT_EQ(subtract_dims(more, twice, s), 3);
  EXPECT_EQ(subtract_dims(twice, more, s), kUnknownDim) << "a negative number is no size";
  EXPECT_EQ(add_dims(h, h, s), twice);
  EXPECT_EQ(add_dims(h, w, s), kUnknownDim);
  EXPECT_EQ(larger_dim(more, twice, s), more);
  EXPECT_EQ(smaller_dim(more, twice, s), twice);
  EXPECT_EQ(larger_dim(h, w, s), kUnknownDim);
  EXPECT_EQ(multiply_dims(h, 0, s), 0);
  EXPECT_EQ(multiply_dims(multiply_dims(h, std::int64_t{1} << 40, s), std::int64_t{1} << 40, s), kUnknownDim);
}

TEST(Symbols, FreshOnesAreNobodyElses) {
  Symbols s;
  const Dim taken = s.intern("dim0");
  const Dim a = s.fresh(), b = s.fresh();
  EXPECT_NE(a, taken);
  EXPECT_NE(a, b);
}

}  // namespace
}  // namespace t2o
