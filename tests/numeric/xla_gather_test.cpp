#include <gtest/gtest.h>

#include "harness.h"
#include "xla.h"

namespace t2o::numeric {
namespace {

struct Numbers {
  Ints offset, collapsed, mapped;
  std::int64_t vector_axis;
  Ints own = {}, batch = {};
  std::string text() const { return message({{1, offset}, {2, collapsed}, {3, mapped}, {4, {vector_axis}}, {5, own}, {6, batch}}); }
};

Case gather(const Ints& operand, const Ints& index_dims, const std::vector<std::int32_t>& index, const std::vector<std::int32_t>& sizes, const Numbers& n) {
  return op_case("XlaGather").in(any, operand).values<std::int32_t>(index_dims, index).i32s(sizes).attr("dimension_numbers", n.text()).attr("indices_are_sorted", false).dtypes({f32})
      .refuses(Code::not_constant, "rank of its indices", {Mode::rank});
}

TEST(XlaGather, AlongOneAxis) {
  gather({5, 3}, {4, 1}, {0, 4, 2, 9}, {1, 3}, {{1}, {0}, {0}, 1}).dtypes({f32, f16, i32, i64, boolean}).note("rows, the last out of bounds").check();
  gather({5, 3}, {2, 2, 1}, {0, 4, 2, -3}, {1, 3}, {{2}, {0}, {0}, 2}).check();
  gather({5, 3}, {4}, {0, 4, 2, 9}, {1, 3}, {{1}, {0}, {0}, 1}).note("no axis of coordinates").check();
  gather({5, 3}, {4, 1}, {0, 2, 1, 9}, {5, 1}, {{0}, {1}, {1}, 1}).note("columns").check();
  gather({5, 3}, {4, 1}, {0, 2, 1, 9}, {5, 1}, {{1}, {1}, {1}, 1}).note("columns behind").check();
  gather({5, 3}, {4, 1}, {0, 2, 1, 9}, {5, 1}, {{0, 2}, {}, {1}, 1}).note("columns that keep their axis").check();
  gather({6, 3}, {4, 1}, {0, 3, 1, 9}, {3, 3}, {{1, 2}, {}, {0}, 1}).note("windows").check();
  gather({6, 3}, {4, 1}, {0, 3, 1, 9}, {3, 2}, {{0, 2}, {}, {0}, 1}).note("windows before the batch, cut").check();
}

TEST(XlaGather, AlongSeveralAxes) {
  gather({5, 3, 4}, {3, 2}, {0, 1, 4, 2, 9, -1}, {1, 1, 4}, {{1}, {0, 1}, {0, 1}, 1}).dtypes({f32, i64}).check();
  gather({5, 3, 4}, {3, 2}, {0, 1, 2, 4, 9, -1}, {1, 3, 1}, {{1}, {0, 2}, {2, 0}, 1}).note("in another order").check();
  gather({5, 3, 4}, {2, 3}, {0, 2, 4, 1, 3, 9}, {1, 3, 2}, {{1, 2}, {0}, {0, 2}, 0}).note("windows").check();
  gather({5, 6, 4}, {2, 2}, {0, 2, 3, 1}, {2, 3, 4}, {{1, 2, 3}, {}, {0, 1}, 1}).note("two windows").check();
  gather({5, 6, 4}, {2, 2}, {0, 2, 3, 1}, {2, 1, 4}, {{0, 2}, {1}, {0, 1}, 1}).check();
}

TEST(XlaGather, OneSlice) {
  gather({5, 3}, {1}, {2}, {1, 3}, {{0}, {0}, {0}, 0}).check();
  gather({5, 3, 4}, {2}, {4, 9}, {2, 3, 3}, {{0, 1, 2}, {}, {0, 2}, 0}).check();
  gather({5, 3, 4}, {2}, {4, 9}, {1, 2, 3}, {{0, 1}, {0}, {0, 2}, 0}).check();
}

TEST(XlaGather, BatchAxes) {
  gather({2, 5, 3}, {2, 4, 1}, {0, 4, 2, 9, 1, 1, 3, 0}, {1, 1, 3}, {{2}, {1}, {1}, 2, {0}, {0}}).check();
  gather({5, 2, 3}, {4, 2, 1}, {0, 4, 2, 9, 1, 1, 3, 0}, {1, 1, 2}, {{2}, {0}, {0}, 2, {1}, {1}}).check();
}

TEST(XlaGather, KnownIndices) {
  op_case("XlaGather").in(f32, {5, 3}).values<std::int64_t>({3, 1}, {0, 2, 9}, constant).ints({1, 3}).attr("dimension_numbers", Numbers{{1}, {0}, {0}, 1}.text()).attr("indices_are_sorted", true).check();
}

TEST(XlaGather, DynamicSlice) {
  const auto slice = [](const Ints& x, const std::vector<std::int32_t>& start, const std::vector<std::int32_t>& size) {
    return op_case("XlaDynamicSlice").in(any, x).values<std::int32_t>({static_cast<std::int64_t>(start.size())}, start).i32s(size).dtypes({f32});
  };
  slice({5, 3}, {1, 0}, {2, 3}).dtypes({f32, i32, boolean}).check();
  slice({5, 3}, {9, -4}, {2, 2}).check();
  slice({5, 3, 4}, {1, 1, 1}, {5, 2, 4}).check();
  slice({5}, {4}, {1}).check();
  op_case("XlaDynamicSlice").in(f32, {5, 3}).ints({4, 1}).ints({3, 2}).note("known").check();
}

TEST(XlaGather, DynamicUpdateSlice) {
  const auto update = [](const Ints& x, const Ints& u, const std::vector<std::int32_t>& start) {
    return op_case("XlaDynamicUpdateSlice").in(any, x).in(any, u).values<std::int32_t>({static_cast<std::int64_t>(start.size())}, start).dtypes({f32}).refuses(Code::not_constant, "rank", {Mode::rank});
  };
  update({5, 3}, {2, 3}, {1, 0}).dtypes({f32, i64, boolean}).check();
  update({5, 3}, {2, 2}, {9, -4}).check();
  update({5, 3, 4}, {1, 2, 3}, {2, 1, 1}).check();
  update({5}, {5}, {3}).check();
}

}  // namespace
}  // namespace t2o::numeric
