#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

struct Sparse {
  std::vector<std::int64_t> indices, shape;
  std::vector<double> values;
};

Case distance(DType type, const Sparse& made, const Sparse& truth, bool normalize) {
  Case c = op_case("EditDistance");
  for (const Sparse* s : {&made, &truth}) {
    const auto n = static_cast<std::int64_t>(s->values.size()), rank = static_cast<std::int64_t>(s->shape.size());
    c.values<std::int64_t>({n, rank}, s->indices).values_as(type, {n}, s->values, fed).ints(s->shape, fed);
  }
  return c.attr("normalize", normalize);
}

TEST(EditDistance, OfSequences) {
  const Sparse made{{0, 0, 0, 1, 0, 2, 1, 0, 3, 0, 3, 1}, {4, 3}, {1, 2, 3, 4, 5, 6}};
  const Sparse truth{{0, 0, 0, 1, 2, 0, 2, 1, 3, 0, 3, 1, 3, 2}, {4, 3}, {1, 3, 5, 6, 6, 5, 6}};
  for (const bool normalize : {false, true})
    for (const DType t : {i32, i64, u8, f32}) distance(t, made, truth, normalize).check();
}

TEST(EditDistance, OfMoreAxesAndOfNothing) {
  distance(i32, {{0, 0, 0, 1, 1, 2}, {2, 2, 3}, {7, 8}}, {{0, 0, 0, 0, 1, 0, 2, 1, 0}, {3, 2, 1}, {7, 7, 9}}, true).check();
  distance(i32, {{}, {2, 3}, {}}, {{0, 0}, {2, 1}, {1}}, true).check();
}

TEST(EditDistance, OfStrings) {
  op_case("EditDistance").values<std::int64_t>({2, 2}, {0, 0, 0, 1}).strings({2}, {"a", "b"}).ints({1, 2}, fed)
      .values<std::int64_t>({2, 2}, {0, 0, 0, 1}).strings({2}, {"a", "c"}).ints({1, 2}, fed).attr("normalize", true).check();
}

}  // namespace
}  // namespace t2o::numeric
