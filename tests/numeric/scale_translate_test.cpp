#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"

namespace t2o::numeric {
namespace {

TEST(ScaleAndTranslate, Kernels) {
  for (const auto* kernel :
       {"lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"})
    for (const bool antialias : {false, true})
      for (const Kind kind : {constant, fed}) {
        op_case("ScaleAndTranslate")
            .in(f32, {2, 9, 7, 3})
            .i32s({5, 12}, kind)
            .values<float>({2}, {0.45F, 1.7F}, kind)
            .values<float>({2}, {0.3F, -1.2F}, kind)
            .attr("kernel_type", kernel)
            .attr("antialias", antialias)
            .check();
        op_case("ScaleAndTranslate")
            .values<float>({1, 2, 4, 1}, {1, INFINITY, 3, -INFINITY, 5, NAN, 2, 7})
            .i32s({3, 5}, kind)
            .values<float>({2}, {1.5F, 1.25F}, kind)
            .values<float>({2}, {0, 0.1F}, kind)
            .attr("kernel_type", kernel)
            .attr("antialias", antialias)
            .check();
        op_case("ScaleAndTranslate")
            .in(f32, {1, 4, 5, 1})
            .i32s({6, 9}, kind)
            .values<float>({2}, {1, 1}, kind)
            .values<float>({2}, {3, -4}, kind)
            .attr("kernel_type", kernel)
            .attr("antialias", antialias)
            .note("partly outside")
            .check();
      }
}

TEST(ScaleAndTranslate, Types) {
  op_case("ScaleAndTranslate")
      .in(any, {1, 4, 5, 2})
      .i32s({6, 2})
      .values<float>({2}, {1.5F, 0.4F})
      .values<float>({2}, {0, 0})
      .dtypes({u8, i8, i16, u16, i32, i64, f16, f64})
      .check();
}

}  // namespace
}  // namespace t2o::numeric
