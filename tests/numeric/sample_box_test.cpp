#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

TEST(SampleDistortedBoundingBox, Shapes) {
  for (const DType t : {u8, i16, i32, i64})
    op_case("SampleDistortedBoundingBoxV2")
        .values_as(t, {3}, {20, 30, 3})
        .in(f32, {1, 2, 4})
        .range(0, 1)
        .scalar(0.3F)
        .attr("seed", std::int64_t{3})
        .only_opsets({11, 18, 21, 26})
        .shape_only()
        .check();
}

// A square of the whole area is the only crop.
TEST(SampleDistortedBoundingBox, OnePossibility) {
  for (const bool boxes : {false, true})
    op_case("SampleDistortedBoundingBox")
        .i32s({40, 40, 3}, fed)
        .in(f32, {1, boxes ? 2 : 0, 4})
        .range(0, 1)
        .attr("area_range", Floats{1, 1})
        .attr("aspect_ratio_range", Floats{1, 1})
        .attr("use_image_if_no_bounding_boxes", true)
        .only_opsets({11, 21, 26})
        .check();
  op_case("SampleDistortedBoundingBoxV2")
      .i32s({40, 30, 3}, fed)
      .values<float>({1, 1, 4}, {0, 0, 1, 1})
      .scalar(1.0F)
      .attr("area_range", Floats{0.1F, 0.2F})
      .only_opsets({11, 21, 26})
      .note("no crop covers the object: the whole image")
      .check();
}

}  // namespace
}  // namespace t2o::numeric
