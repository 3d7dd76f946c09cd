#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "harness.h"

namespace t2o::numeric {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

const std::vector<double> kBoxes = {0, 0,    1, 1,    0, 0.1, 1, 1.1, 1,   0.9, 0,   -0.1, 0, 10,  1, 11,
                                    0, 10.1, 1, 11.1, 0, 100, 1, 101, 0.5, 0.5, 0.5, 0.5,  1, 1.2, 0, 0.2};
const std::vector<double> kScores = {0.9, 0.75, 0.6, 0.95, 0.5, 0.3, 0.9, 0.75};

Case boxes(const std::string& op, DType t = f32) {
  return op_case(op).values_as(t, {8, 4}, kBoxes).values_as(t, {8}, kScores);
}

TEST(NonMaxSuppression, V1V2) {
  for (const Kind kind : {constant, fed})
    for (const std::int32_t most : {0, 2, 3, 30}) {
      boxes("NonMaxSuppression").scalar(most, kind).attr("iou_threshold", 0.4F).check();
      boxes("NonMaxSuppressionV2").scalar(most, kind).scalar(0.5F, kind).check();
    }
  boxes("NonMaxSuppressionV2", f16)
      .scalar(5)
      .values_as(f16, {}, {0.5})
      .attr("T", f16)
      .attr("T_threshold", f16)
      .check();
  op_case("NonMaxSuppressionV2")
      .values_as(f32, {8, 4}, kBoxes)
      .values<float>({8}, {0.5F, NAN, -kInf, kInf, -3, NAN, 0.1F, 0})
      .scalar(9)
      .scalar(0.5F)
      .check();
}

TEST(NonMaxSuppression, V3) {
  for (const Kind kind : {constant, fed})
    for (const float threshold : {-kInf, 0.5F, 0.75F, 2.0F})
      boxes("NonMaxSuppressionV3").scalar(4, kind).scalar(0.5F, kind).scalar(threshold, kind).check();
  op_case("NonMaxSuppressionV3")
      .in(f32, {6, 4})
      .in(f32, {6})
      .scalar(4)
      .scalar(0.1F)
      .scalar(-9.0F)
      .empty()
      .check();
  op_case("NonMaxSuppressionV3").in(f32, {60, 4}).in(f32, {60}).scalar(40).scalar(0.3F).scalar(-1.0F).check();
  for (const float overlap : {0.0F, 1.0F})
    boxes("NonMaxSuppressionV3").scalar(9).scalar(overlap).scalar(0.0F).check();
}

TEST(NonMaxSuppression, V4) {
  for (const Kind kind : {constant, fed})
    for (const bool pad : {false, true})
      for (const std::int32_t most : {0, 3, 12})
        boxes("NonMaxSuppressionV4")
            .scalar(most, kind)
            .scalar(0.5F)
            .scalar(0.4F)
            .attr("pad_to_max_output_size", pad)
            .check();
}

TEST(NonMaxSuppression, V5) {
  for (const Kind kind : {constant, fed})
    for (const float sigma : {0.0F, 0.5F, 0.05F})
      for (const bool pad : {false, true})
        for (const std::int32_t most : {0, 3, 12})
          boxes("NonMaxSuppressionV5")
              .scalar(most)
              .scalar(0.5F)
              .scalar(0.4F)
              .scalar(sigma, kind)
              .attr("pad_to_max_output_size", pad)
              .check();
  boxes("NonMaxSuppressionV5").scalar(8).scalar(0.5F).scalar(-kInf).scalar(0.01F).check();
  for (const double sigma : {0.0, 0.5})
    boxes("NonMaxSuppressionV5", f16)
        .scalar(8)
        .values_as(f16, {}, {0.5})
        .values_as(f16, {}, {0.0})
        .values_as(f16, {}, {sigma})
        .check();
  op_case("NonMaxSuppressionV5")
      .in(f32, {40, 4})
      .in(f32, {40})
      .scalar(30)
      .scalar(0.3F)
      .scalar(0.0F)
      .scalar(0.3F)
      .empty()
      .check();
}

TEST(NonMaxSuppression, Overlaps) {
  for (const Kind kind : {constant, fed})
    op_case("NonMaxSuppressionWithOverlaps")
        .in(f32, {6, 6}, kind)
        .range(0, 1)
        .in(f32, {6})
        .scalar(4, kind)
        .scalar(0.6F, kind)
        .scalar(-1.0F, kind)
        .check();
}

Case combined(const Ints& boxes, const Ints& scores) {
  return op_case("CombinedNonMaxSuppression").in(f32, boxes).range(-0.3, 1.2).in(f32, scores).range(0, 1);
}

TEST(NonMaxSuppression, Combined) {
  for (const std::int64_t q : {1, 3})
    for (const bool pad : {false, true})
      for (const bool clip : {false, true})
        for (const Kind kind : {constant, fed})
          for (const std::int32_t total : {4, 20, 100})
            combined({2, 10, q, 4}, {2, 10, 3})
                .scalar(3, kind)
                .scalar(total, kind)
                .scalar(0.3F)
                .scalar(0.2F)
                .attr("pad_per_class", pad)
                .attr("clip_boxes", clip)
                .check();
  combined({2, 10, 1, 4}, {2, 10, 1}).scalar(3).scalar(5).scalar(0.5F).scalar(2.0F).note("none").check();
  for (const std::int64_t q : {1, 3}) combined({2, 0, q, 4}, {2, 0, 3}).scalar(3).scalar(5).scalar(0.5F).scalar(0.2F).only_opsets({18, 21}).note("no boxes").check();
}

}  // namespace
}  // namespace t2o::numeric
