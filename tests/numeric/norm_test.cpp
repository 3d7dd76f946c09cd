#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"
#include "old_ops.h"

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
  batch_norm("FusedBatchNormV3", f32, {2, 4, 5, 3}, false).outputs(3).empty().check();
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
  batch_norm("FusedBatchNormV3", f32, {2, 4, 5, 3}, true).outputs(3).empty().check();
  batch_norm("FusedBatchNormV2", f32, {2, 4, 5, 3}, true, 0.25f).outputs(3).empty().check();
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
  for (const auto& [alpha, beta] : std::vector<std::pair<float, float>>{{0.0F, 0.5F}, {-0.1F, 0.5F}, {0.3F, 0.0F}, {0.3F, -0.5F}})
    for (const DType t : {f32, f16})
      op_case("LRN").in(t, {2, 3, 4, 7}).attr("depth_radius", std::int64_t{2}).attr("bias", 3.0F).attr("alpha", alpha).attr("beta", beta).check();
}

TEST(FusedBatchNorm, Gradients) {
  const verify::Range positive{0.5, 2};
  for (const bool training : {false, true})
    for (const DType t : {f32, f16})
      for (const char* op : {"FusedBatchNormGrad", "FusedBatchNormGradV2", "FusedBatchNormGradV3"}) {
        if (t == f16 && op == std::string("FusedBatchNormGrad")) continue;
        Case c = op_case(op).in(t, {2, 4, 5, 3}).in(t, {2, 4, 5, 3}).in(f32, {3}).in(f32, {3}).in(f32, {3}).range(positive.low, positive.high);
        if (op == std::string("FusedBatchNormGradV3")) c.in(f32, {3});
        c.attr("epsilon", 0.01F).attr("is_training", training).outputs(3).check();
      }
}

TEST(GlobalBatchNorm, ScaledOrNot) {
  const verify::Range positive{0.5, 2};
  for (const DType t : {f32, f64, f16})
    for (const bool scaled : {false, true})
      old_case("BatchNormWithGlobalNormalization", 8,
               {{t, {2, 4, 5, 3}}, {t, {3}}, {t, {3}, positive}, {t, {3}}, {t, {3}}},
               {{"variance_epsilon", 0.01f}, {"scale_after_normalization", scaled}})
          .check();
}

// What TensorFlow's optimizer makes of a FusedBatchNormV3 and what follows. Its CPU kernel makes nothing.
TEST(FusedBatchNormEx, AddedAndActivated) {
  verify::Random random(7);
  const TensorPtr scale = verify::random_tensor(f32, {4}, random, verify::Range{0.5, 2});
  const engines::Feeds feeds = {{"x", verify::random_tensor(f32, {2, 4, 5, 4}, random, {})},
                                {"side", verify::random_tensor(f32, {2, 4, 5, 4}, random, {})}};
  for (const bool training : {false, true})
    for (const bool side : {false, true})
      for (const bool relu : {false, true}) {
        const auto graph_of = [&](bool is_fused) {
          engines::TfGraph g;
          const Strings xs = {g.placeholder("x", f32, Shape({2, 4, 5, 4})),
                              g.placeholder("side", f32, Shape({2, 4, 5, 4}))};
          const std::string s = g.constant("s", scale);
          std::vector<TfInput> inputs = {xs[0], s, s, s, s};
          std::vector<TfAttr> attrs = {{"U", f32}, {"is_training", training}, {"epsilon", 0.01f}};
          if (is_fused) {
            inputs.emplace_back(side ? Strings{xs[1]} : Strings{});
            attrs.insert(attrs.end(), {{"num_side_inputs", std::int64_t{side}},
                                       {"activation_mode", relu ? "Relu" : "Identity"}});
          }
          std::string y = g.add({is_fused ? "_FusedBatchNormEx" : "FusedBatchNormV3", "n", inputs, attrs});
          if (side && !is_fused) y = g.add({"AddV2", "sum", {y, xs[1]}});
          if (relu && !is_fused) y = g.add({"Relu", "relu", {y}});
          const std::string zero = g.constant("zero", Tensor::scalar<float>(0));
          g.add({"AddN", "y", {Strings{y, g.add({"Mul", "none", {xs[1], zero}})}}});
          return g;
        };
        check_against(graph_of(false), graph_of(true), feeds, {11, 18, 21});
      }
}

TEST(LRN, Gradient) {
  for (const std::int64_t radius : {0, 2, 5})
    op_case("LRNGrad").in(any, {2, 3, 4, 7}).in(any, {2, 3, 4, 7}).in(any, {2, 3, 4, 7}).attr("depth_radius", radius).attr("bias", 2.0F).attr("alpha", 0.3F)
        .attr("beta", 0.75F).dtypes({f32}).check();
  op_case("LRNGrad").values<float>({1, 1, 1, 6}, {NAN, 1, 2, -1, 3, NAN}).in(f32, {1, 1, 1, 6}).in(f32, {1, 1, 1, 6}).attr("depth_radius", std::int64_t{1}).check();
  op_case("LRNGrad").in(f16, {2, 3, 4, 7}).in(f16, {2, 3, 4, 7}).in(f16, {2, 3, 4, 7}).attr("bias", 2.0F).tol(2e-2, 2e-2).check();
}

TEST(FusedBatchNorm, ReservesNothingForItsGradient) {
  graph_case("FusedBatchNormV3 and its gradient", [](Builder& b) {
    const std::string x = b.input(f32, {2, 4, 5, 3}), g = b.input(f32, {2, 4, 5, 3}), v = b.input(f32, {3}, verify::Range{0.5, 2});
    const std::string y = b.op("FusedBatchNormV3", {x, v, v, v, v});
    b.output(b.op("FusedBatchNormGradV3", {g, x, v, y + ":3", y + ":4", y + ":5"}));
  }).check();
}

}  // namespace
}  // namespace t2o::numeric
