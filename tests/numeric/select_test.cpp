#include <gtest/gtest.h>

#include "harness.h"
#include "old_ops.h"

namespace t2o::numeric {
namespace {

const DTypes kAll = {f32, f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64, boolean};

TEST(Select, Select) {
  op_case("Select").in(boolean, {3, 4}).in(any, {3, 4}).in(any, {3, 4}).dtypes(kAll).check();
  op_case("Select").in(boolean, {3}).in(f32, {3, 4, 2}).in(f32, {3, 4, 2}).nan_inf().check();
  op_case("Select").in(boolean, {}).in(f32, {3, 4}).in(f32, {3, 4}).check();
  op_case("Select").in(boolean, {4}).in(f32, {4}).in(f32, {4}).nan_inf().empty().check();
  op_case("Select").in(boolean, {2}).strings({2}, {"a", "b"}).strings({2}, {"c", "d"}).check();
}

TEST(Select, SelectV2) {
  op_case("SelectV2").in(boolean, {3, 1}).in(any, {4}).in(any, {3, 4}).dtypes(kAll).check();
  op_case("SelectV2").in(boolean, {3, 4}).in(f32, {3, 4}).in(f32, {}).nan_inf().empty().check();
  op_case("SelectV2").in(boolean, {}).in(f32, {3}).in(f32, {3}).check();
}

TEST(Select, TopK) {
  op_case("TopKV2").in(any, {3, 6}).scalar<std::int32_t>(2).dtypes({f32, f64, f16, i8, u8, i16, i32, i64}).check();
  op_case("TopKV2").in(any, {3, 6}).scalar<std::int32_t>(2).dtypes({bf16, u16, u32, u64}).since(13).check();
  op_case("TopKV2").values<std::uint64_t>({4}, {1, 1ULL << 63, ~0ULL, 7}).scalar<std::int32_t>(4).check();
  op_case("TopKV2").values<float>({6}, {1, 3, 3, 2, 3, 0}).scalar<std::int32_t>(4).check();
  op_case("TopKV2").in(f32, {2, 6}).scalar<std::int32_t>(3, fed).attr("sorted", true).check();
  op_case("TopKV2").in(f32, {2, 6}).scalar<std::int32_t>(0).check();
  op_case("NthElement").in(f32, {2, 6}).scalar<std::int32_t>(3).check();
  op_case("NthElement").values<std::uint64_t>({4}, {7, 1ULL << 63, 5, 9}).scalar<std::int32_t>(3).check();
  op_case("NthElement").in(f32, {2, 6}).scalar<std::int32_t>(1).attr("reverse", true).check();
}

TEST(Select, InTopK) {
  op_case("InTopKV2").in(f32, {4, 6}).i32s({0, 3, 5, 2}, fed).scalar<std::int32_t>(2).nan_inf().check();
  op_case("InTopKV2").values<float>({3, 3}, {1, 2, 2, 3, 1, 2, 0, 0, 0}).i32s({1, 7, -1}, fed).scalar<std::int32_t>(1).check();
  op_case("InTopK").in(f32, {4, 6}).i32s({0, 3, 5, 2}, fed).attr("k", std::int64_t{3}).check();
}

// The kernel of TensorFlow's wants an attribute that the op does not have.
TEST(Select, TopKOfKnownK) {
  verify::Random random(7);
  for (const DType t : {f32, i32})
    for (const char* output : {"top", "top:1"}) {
      const auto graph_of = [&](bool is_old) {
        engines::TfGraph g;
        of_version(g, 6);  // the last one that had it
        const std::string x = g.placeholder("x", t, Shape({3, 6})),
                          k = g.constant("k", Tensor::scalar<std::int32_t>(2));
        if (is_old)
          g.add({"TopK", "top", {x}, {{"k", 2}}});
        else
          g.add({"TopKV2", "top", {x, k}});
        g.add({"Identity", "y", {output}});
        return g;
      };
      check_against(graph_of(false), graph_of(true), {{"x", verify::random_tensor(t, {3, 6}, random, {})}},
                    {11, 18, 21});
    }
}

TEST(TopK, Approximate) {
  op_case("ApproxTopK").in(f32, {3, 9}).attr("k", std::int64_t{4}).check();
}

}  // namespace
}  // namespace t2o::numeric
