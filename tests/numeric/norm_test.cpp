#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

Case batch_norm(const char* op, DType x, Ints dims, bool training, float factor = 1.0f) {
  const std::int64_t channels = dims.back();
  Case c = op_case(op);
  c.in(x, dims).in(f32, {channels}, constant).in(f32, {channels}, constant);
  const Ints running = training && factor == 1.0f ? Ints{0} : Ints{channels};
  c.in(f32, running, constant).in(f32, running, constant).range(0.5, 2);
  // TensorFlow leaves reserve_space_1 and _2 unset in inference.
  c.attr("is_training", training)
      .attr("epsilon", 0.01f)
      .attr("exponential_avg_factor", factor)
      .outputs(training ? 5 : 3);
  return c;
}

TEST(FusedBatchNorm, Inference) {
  for (const char* op : {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"})
    batch_norm(op, f32, {2, 4, 5, 3}, false).check();
  batch_norm("FusedBatchNormV3", f32, {2, 4, 5, 3}, false).outputs(1).empty().check();
  batch_norm("FusedBatchNormV3", f16, {2, 4, 5, 3}, false).check();
  batch_norm("FusedBatchNormV3", bf16, {2, 4, 5, 3}, false).since(13).check();
  batch_norm("FusedBatchNormV3", f32, {2, 4, 5, 2, 3}, false).attr("data_format", "NDHWC").outputs(1).check();
}

TEST(FusedBatchNorm, ChannelsFirst) {
  for (const bool training : {false, true})
    op_case("FusedBatchNormV3")
        .in(f32, {2, 3, 4, 5})
        .in(f32, {3}, constant)
        .in(f32, {3}, constant)
        .in(f32, {3}, constant)
        .in(f32, {3}, constant)
        .range(0.5, 2)
        .attr("data_format", "NCHW")
        .attr("is_training", training)
        .outputs(3)
        .check();
}

TEST(FusedBatchNorm, ParametersFedAtRunTime) {
  op_case("FusedBatchNormV3")
      .in(f32, {2, 4, 4, 3})
      .in(f32, {3})
      .in(f32, {3})
      .in(f32, {3})
      .in(f32, {3})
      .range(0.5, 2)
      .attr("is_training", false)
      .outputs(3)
      .check();
}

TEST(FusedBatchNorm, Training) {
  for (const char* op : {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"})
    batch_norm(op, f32, {2, 4, 5, 3}, true).check();
  batch_norm("FusedBatchNormV3", f32, {2, 4, 5, 3}, true, 0.25f).check();
  batch_norm("FusedBatchNormV3", f16, {2, 4, 5, 3}, true).check();
  batch_norm("FusedBatchNormV3", f32, {1, 1, 1, 3}, true).note("one sample: no unbiased variance").check();
}

TEST(LRN, RadiusAndParameters) {
  for (const std::int64_t radius : {0, 1, 2, 5})
    op_case("LRN")
        .in(f32, {2, 3, 4, 7})
        .attr("depth_radius", radius)
        .attr("bias", 2.0f)
        .attr("alpha", 0.3f)
        .attr("beta", 0.75f)
        .check();
  op_case("LRN").in(any, {2, 3, 4, 7}).dtypes({f32, f16}).check();
}

}  // namespace
}  // namespace t2o::numeric
