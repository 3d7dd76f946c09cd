#include <gtest/gtest.h>

#include <cmath>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes kFloats = {f32, f64, f16, bf16};

TEST(Loss, SoftmaxCrossEntropy) {
  const std::string op = "SoftmaxCrossEntropyWithLogits";
  op_case(op).in(any, {3, 5}).in(any, {3, 5}).range(0, 1).dtypes(kFloats).check();
  op_case(op).in(f32, {3, 5}).in(f32, {3, 5}).empty().check();
  op_case(op).in(f32, {3, 5}).in(f32, {3, 5}).range(0, 1).nan_inf().check();
  op_case(op).in(f32, {3, 1}).in(f32, {3, 5}).range(0, 1).note("one logit for all classes").check();
  op_case(op).in(f32, {3, 5}).in(f32, {3, 1}).range(0, 1).check();
  op_case(op).in(f32, {1, 5}).in(f32, {3, 5}).range(0, 1).check();
  op_case(op).in(f32, {3, 5}).in(f32, {1, 5}).range(0, 1).check();
  op_case(op).in(f32, {5}).in(f32, {3, 5}).range(0, 1).check();
  op_case(op).in(f32, {3, 5}).in(f32, {5}).range(0, 1).check();
  op_case(op).in(f32, {3, 1}).in(f32, {1, 5}).range(0, 1).check();
  op_case(op).in(f32, {3, 1}).in(f32, {3, 1}).check();
  op_case(op).values<float>({2, 3}, {1000, -1000, 0, 88, 89, -89}).values<float>({2, 3}, {1, 0, 0, 0, 2, 0.5F}).check();
}

TEST(Loss, SparseSoftmaxCrossEntropy) {
  const std::string op = "SparseSoftmaxCrossEntropyWithLogits";
  op_case(op).in(any, {4, 5}).values<std::int64_t>({4}, {0, 4, 2, 2}).dtypes(kFloats).check();
  op_case(op).in(f32, {4, 5}).values<std::int32_t>({4}, {0, 4, 2, 2}).nan_inf().check();
  op_case(op).in(f32, {4, 5}).values<std::int32_t>({4}, {0, 4, 2, 2}, constant).check();
  op_case(op).in(f32, {0, 5}).values<std::int64_t>({0}, {}).check();
  op_case(op).in(f32, {2, 1}).values<std::int64_t>({2}, {0, 0}).check();
}

TEST(Loss, GradientsOfActivations) {
  for (const char* op : {"ReluGrad", "Relu6Grad", "LeakyReluGrad", "EluGrad", "SeluGrad", "SoftplusGrad", "SoftsignGrad",
                         "SigmoidGrad", "TanhGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad", "InvGrad"})
    op_case(op).in(any, {3, 4}).range(-8, 8).in(any, {3, 4}).range(-8, 8).dtypes({f32, f16}).nan_inf().empty().check();
  for (const char* op : {"SigmoidGrad", "TanhGrad", "SqrtGrad", "RsqrtGrad", "ReciprocalGrad"})
    op_case(op).values<float>({4}, {0, INFINITY, NAN, -INFINITY}).values<float>({4}, {0, 0, 0, 0}).check();
  for (const char* op : {"ReluGrad", "LeakyReluGrad", "SeluGrad", "RsqrtGrad"}) op_case(op).in(any, {3}).in(any, {3}).dtypes({f64, bf16}).check();
  op_case("RsqrtGrad").values<float>({2}, {3e18F, 2}).values<float>({2}, {1e-37F, 3}).check();
  op_case("LeakyReluGrad").in(f32, {3, 4}).in(f32, {3, 4}).attr("alpha", 0.75F).check();
  for (const char* op : {"ReluGrad", "Relu6Grad"}) op_case(op).in(any, {3, 4}).in(any, {3, 4}).dtypes({i32, i64, i8, u8, u16}).check();
}

TEST(Loss, BiasAddGrad) {
  op_case("BiasAddGrad").in(any, {3, 4}).dtypes({f32, f64, f16, i32}).empty().check();
  op_case("BiasAddGrad").in(f32, {2, 3, 0}).check();
  op_case("BiasAddGrad").in(f32, {2, 0, 3}).check();
  op_case("BiasAddGrad").in(f32, {2, 3, 4, 5}).check();
  op_case("BiasAddGrad").in(f32, {2, 3, 4, 5, 3}).check();
  op_case("BiasAddGrad").in(f32, {2, 3, 4, 5}).attr("data_format", "NCHW").check();
}

TEST(Loss, BroadcastGradientArgs) {
  struct Pair {
    std::vector<std::int32_t> a, b;
  };
  const std::vector<Pair> pairs = {{{1, 2}, {1, 2}}, {{1, 2}, {3, 1}}, {{2}, {1, 2}}, {{}, {1, 1}}, {{1}, {1, 1}}, {{5, 1, 2}, {1, 2}}, {{0, 1}, {1, 3}}, {{}, {}}};
  for (const Pair& p : pairs)
    for (const Kind kind : {constant, fed}) op_case("BroadcastGradientArgs").i32s(p.a, kind).i32s(p.b, kind).check();
  op_case("BroadcastGradientArgs").ints({4, 1}, fed).ints({3}, fed).check();
}

}  // namespace
}  // namespace t2o::numeric
