#include <gtest/gtest.h>

#include "harness.h"
#include "xla.h"

namespace t2o::numeric {
namespace {

Case dot(const Ints& a, const Ints& b, const Ints& sum_a, const Ints& sum_b, const Ints& batch_a = {}, const Ints& batch_b = {}) {
  return op_case("XlaDotV2").in(any, a).in(any, b).attr("dimension_numbers", message({{1, sum_a}, {2, sum_b}, {3, batch_a}, {4, batch_b}})).attr("precision_config", "").attr("preferred_element_type", any)
      .dtypes({f32}).refuses(Code::not_constant, "rank", {Mode::rank});
}

TEST(XlaDot, Products) {
  dot({4, 3}, {3, 5}, {1}, {0}).dtypes({f32, f64, f16, i32}).check();
  dot({4, 3}, {5, 3}, {1}, {1}).check();
  dot({3, 4}, {3, 5}, {0}, {0}).check();
  dot({2, 4, 3}, {3, 5}, {2}, {0}).check();
  dot({2, 4, 3}, {2, 5, 3}, {2}, {2}, {0}, {0}).check();
  dot({2, 4, 3, 6}, {2, 5, 3, 6}, {3}, {3}, {0, 2}, {0, 2}).nan_inf().check();
  dot({2, 4, 3}, {5, 4, 3}, {1, 2}, {1, 2}).check();
  dot({2, 3, 4}, {4, 3, 5}, {2, 1}, {0, 1}).check();
  dot({4}, {5}, {}, {}).check();
  dot({4}, {4}, {0}, {0}).check();
  dot({2, 4}, {4, 2}, {1}, {0}, {0}, {1}).check();
}

TEST(XlaDot, FirstVersion) {
  op_case("XlaDot").in(any, {4, 3}).in(any, {3, 5}).attr("dimension_numbers", message({{1, {1}}, {2, {0}}})).attr("precision_config", "").dtypes({f32, i32})
      .refuses(Code::not_constant, "rank", {Mode::rank}).check();
}

TEST(XlaDot, AnotherResultType) {
  const auto mixed = [](DType a, DType b, DType y) {
    return op_case("XlaDotV2").in(a, {4, 3}).in(b, {3, 5}).attr("dimension_numbers", message({{1, {1}}, {2, {0}}})).attr("precision_config", "").attr("preferred_element_type", y)
        .refuses(Code::not_constant, "rank", {Mode::rank});
  };
  mixed(f16, f16, f32).check();
  mixed(i8, i8, i32).check();
  mixed(f32, f32, f64).check();
}

Case conv(const Ints& x, const Ints& k, const Ints& strides, const Ints& pads, const Ints& stretch, const Ints& dilations, std::int64_t groups = 1) {
  const auto n = static_cast<std::int64_t>(strides.size());
  Ints first, last;
  for (std::int64_t i = 0; i < n; ++i) first.push_back(i), last.push_back(i + 1);
  const auto ints = [](const Ints& v) { return Tensor::of<std::int64_t>({static_cast<std::int64_t>(v.size())}, v); };
  return op_case("XlaConvV2").in(any, x).in(any, k).in(ints(strides), constant).values<std::int64_t>({n, 2}, pads, constant).in(ints(stretch), constant).in(ints(dilations), constant)
      .scalar(groups)
      .attr("dimension_numbers", message({{7, {0}}, {8, {n + 1}}, {11, last}, {3, {n}}, {4, {n + 1}}, {6, first}, {9, {0}}, {10, {n + 1}}, {12, last}}))
      .attr("precision_config", "").attr("preferred_element_type", any).dtypes({f32});
}

TEST(XlaConv, Windows) {
  conv({2, 8, 7, 3}, {3, 3, 3, 4}, {1, 1}, {1, 1, 1, 1}, {1, 1}, {1, 1}).dtypes({f32, f64, f16}).check();
  conv({2, 8, 7, 3}, {3, 2, 3, 4}, {2, 1}, {0, 1, 2, 0}, {1, 1}, {1, 2}).check();
  conv({2, 9, 3}, {3, 3, 4}, {2}, {1, -1}, {1}, {1}).check();  // not {-1, 1}: XLA on CPUs reads beyond the end there
  conv({2, 9, 3}, {3, 3, 4}, {1}, {-2, -1}, {1}, {2}).check();
  conv({1, 4, 5, 6, 2}, {2, 2, 2, 2, 3}, {1, 2, 1}, {0, 0, 0, 1, 1, 0}, {1, 1, 1}, {1, 1, 1}).check();
  conv({2, 8, 7, 6}, {3, 3, 2, 9}, {1, 1}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 3).check();
  conv({2, 8, 7, 6}, {3, 3, 1, 6}, {1, 1}, {1, 1, 1, 1}, {1, 1}, {1, 1}, 6).check();
}

TEST(XlaConv, StretchedInputs) {
  conv({2, 4, 5, 3}, {3, 3, 3, 4}, {1, 1}, {1, 2, 2, 1}, {2, 2}, {1, 1}).check();
  conv({2, 4, 5, 3}, {3, 2, 3, 4}, {1, 1}, {2, 2, 1, 1}, {2, 3}, {1, 1}).check();
  conv({2, 4, 3}, {3, 3, 4}, {1}, {1, 3}, {2}, {1}).note("output_padding").check();
  conv({2, 4, 3}, {3, 3, 4}, {1}, {2, 2}, {2}, {2}).note("dilated").check();
  conv({2, 4, 6}, {3, 2, 9}, {1}, {1, 1}, {2}, {1}, 3).note("groups").check();
  conv({2, 4, 3}, {3, 3, 4}, {2}, {1, 1}, {3}, {1}).note("and strides").check();
  conv({2, 4, 3}, {3, 3, 4}, {1}, {5, 4}, {2}, {1}).note("padded far").check();
  conv({2, 4, 3}, {3, 3, 4}, {1}, {-1, -2}, {2}, {1}).note("cropped").check();
}

TEST(XlaConv, AxesInAnyOrder) {
  op_case("XlaConv").in(f32, {2, 3, 8, 7}).in(f32, {4, 3, 3, 2}).ints({1, 2}).values<std::int64_t>({2, 2}, {1, 1, 0, 0}, constant).ints({1, 1}).ints({1, 1}).scalar<std::int64_t>(1)
      .attr("dimension_numbers", message({{7, {0}}, {8, {1}}, {11, {2, 3}}, {3, {1}}, {4, {0}}, {6, {2, 3}}, {9, {1}}, {10, {0}}, {12, {2, 3}}})).attr("precision_config", "").check();
  op_case("XlaConv").in(f32, {8, 3, 2, 7}).in(f32, {3, 4, 2, 3}).ints({1, 2}).values<std::int64_t>({2, 2}, {1, 1, 0, 0}, constant).ints({1, 1}).ints({1, 1}).scalar<std::int64_t>(1)
      .attr("dimension_numbers", message({{7, {2}}, {8, {1}}, {11, {0, 3}}, {3, {0}}, {4, {1}}, {6, {3, 2}}, {9, {0}}, {10, {3}}, {12, {2, 1}}})).attr("precision_config", "").check();
}

TEST(XlaConv, GroupsOfTheBatch) {
  const auto grouped = [](const Ints& x, const Ints& kernel) {
    return op_case("XlaConvV2").in(f32, x).in(f32, kernel).ints({1, 2}).values<std::int64_t>({2, 2}, {1, 1, 0, 2}, constant).ints({1, 1}).ints({1, 2}).scalar<std::int64_t>(1)
        .attr("dimension_numbers", message({{7, {0}}, {8, {1}}, {11, {2, 3}}, {3, {1}}, {4, {0}}, {6, {2, 3}}, {9, {0}}, {10, {1}}, {12, {2, 3}}}))
        .attr("precision_config", "").attr("batch_group_count", std::int64_t{2}).attr("preferred_element_type", f32);
  };
  grouped({4, 3, 8, 7}, {6, 3, 3, 2}).check();
  grouped({6, 1, 8, 7}, {2, 1, 3, 2}).check();
}

TEST(XlaConv, Integers) {
  const auto of = [](Ints strides, Ints pads, Ints stretch, std::int64_t groups) {
    return op_case("XlaConv").in(any, {2, 4, 8, 7}).in(any, {6, 4 / groups, 3, 2}, constant).ints(strides).values<std::int64_t>({2, 2}, pads, constant).ints(stretch)
        .ints({1, 2}).scalar<std::int64_t>(groups)
        .attr("dimension_numbers", message({{7, {0}}, {8, {1}}, {11, {2, 3}}, {3, {1}}, {4, {0}}, {6, {2, 3}}, {9, {0}}, {10, {1}}, {12, {2, 3}}})).attr("precision_config", "")
        .dtypes({i32, i64});
  };
  of({1, 2}, {1, 1, 0, 2}, {1, 1}, 1).check();
  of({1, 1}, {1, -1, 0, 0}, {2, 1}, 2).check();
}

}  // namespace
}  // namespace t2o::numeric
