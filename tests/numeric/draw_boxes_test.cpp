#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

TEST(DrawBoundingBoxes, Sides) {
  for (const std::int64_t depth : {1, 3, 4})
    for (const DType t : {f32, f16})
      op_case("DrawBoundingBoxes").in(t, {2, 9, 7, depth}).in(f32, {2, 3, 4}).range(0, 1).check();
  op_case("DrawBoundingBoxes")
      .in(f32, {1, 12, 10, 3})
      .values<float>({1, 6, 4}, {0.1F, 0.2F, 0.8F, 0.9F, -0.5F, -0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 1.5F, 1.5F, 0.7F, 0.1F, 0.2F, 0.9F, 1.2F, 0, 1.5F, 1, -0.3F, 0.2F, 0.6F, 0.4F})
      .note("beyond the image, and turned around")
      .check();
  op_case("DrawBoundingBoxes").in(f32, {2, 5, 5, 3}).in(f32, {2, 0, 4}).check();
  for (const std::int64_t depth : {1, 3})  // colors of the image's depth
    op_case("DrawBoundingBoxesV2").in(f32, {2, 9, 7, depth}).in(f32, {2, 3, 4}).range(0, 1).in(f32, {2, depth}).range(0, 1).check();
}

TEST(DrawBoundingBoxes, Colors) {
  for (const Kind kind : {fed, constant})
    for (const Ints& colors : std::vector<Ints>{{2, 4}, {0, 4}})
      for (const std::int64_t depth : {1, 3})
        op_case("DrawBoundingBoxesV2").in(f32, {2, 9, 7, depth}).in(f32, {2, 12, 4}).range(0, 1).in(f32, colors, kind).range(0, 1).check();
  for (const std::int64_t channels : {3, 5})
    op_case("DrawBoundingBoxesV2").in(f32, {2, 9, 7, 3}).in(f32, {2, 4, 4}).range(0, 1).in(f32, {2, channels}, constant).range(0, 1).check();
}

}  // namespace
}  // namespace t2o::numeric
