// LiteRT as the reference: which of its tensors are the ports, its state, its kernels.
#include "verify/tflite/lite_reference.h"

#include <gtest/gtest.h>

#include "diagnostics.h"
#include "tests/support/litert.h"

namespace t2o::verify {
namespace {

class LiteReference : public testing::TestWithParam<std::string> {
 protected:
  static tf2onnx::Options options(const std::string& model) {
    tf2onnx::Options o;
    o.model = T2O_SOURCE_DIR "/tests/data/litert/" + model + ".tflite";
    return o;
  }
  std::unique_ptr<Reference> open(const tf2onnx::Options& o, const Strings& inputs, const Strings& outputs) const {
    Ports ports;
    for (const std::string& tensor : inputs) ports.inputs.push_back({"port_" + tensor, tensor});
    for (const std::string& tensor : outputs) ports.outputs.push_back({"port_" + tensor, tensor});
    EngineOptions engine;
    engine.litert_library = GetParam();
    return lite_reference(o, std::move(ports), engine);
  }
};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LiteReference);
INSTANTIATE_TEST_SUITE_P(Engines, LiteReference, testing::ValuesIn(test::litert_libraries()), [](const auto& p) {
  return p.param.find("libLiteRt") != std::string::npos ? std::string("LiteRt") : std::string("TensorFlowLiteC");
});

constexpr const char* kIn = "serving_default_x:0";

TEST_P(LiteReference, PortsGetTypesShapesAndCodes) {
  const auto r = open(options("net_int8"), {kIn}, {"PartitionedCall:0"});
  EXPECT_EQ(r->inputs()[0].dtype, DType::i8);
  EXPECT_EQ(r->inputs()[0].shape, Shape({1, 8, 8, 3}));
  EXPECT_EQ(r->inputs()[0].codes.step, 1);
  EXPECT_EQ(r->outputs()[0].codes.bits, 8);
  EXPECT_EQ(r->runtime().name, "LiteRT");
  EXPECT_EQ(r->runtime().kernels, "XNNPACK");
  EXPECT_EQ(r->runtime().other_kernels, "builtin");
  const auto numbers = open(options("net_float"), {kIn}, {"PartitionedCall:0"});
  EXPECT_EQ(numbers->outputs()[0].codes.step, 0);
}

TEST_P(LiteReference, KernelsAsTheOptionsSay) {
  tf2onnx::Options o = options("net_float");
  o.reference_kernels = tf2onnx::ReferenceKernels::builtin;
  EXPECT_EQ(open(o, {kIn}, {"PartitionedCall:0"})->runtime().kernels, "builtin");
}

TEST_P(LiteReference, PortsInAnyOrder) {
  tf2onnx::Options o = options("two_signatures");
  o.signature = "add";
  const auto r = open(o, {"add_b:0", "add_a:0"}, {"PartitionedCall:0", "PartitionedCall:1"});
  const auto got = r->run({Tensor::of<float>({3}, {1, 1, 1}), Tensor::of<float>({3}, {5, 6, 7})});
  const auto other_order = open(o, {"add_a:0", "add_b:0"}, {"PartitionedCall:1", "PartitionedCall:0"});
  const auto again = other_order->run({Tensor::of<float>({3}, {5, 6, 7}), Tensor::of<float>({3}, {1, 1, 1})});
  EXPECT_TRUE(same_content(*got[0], *again[1]));
  EXPECT_TRUE(same_content(*got[1], *again[0]));
  EXPECT_FALSE(same_content(*got[0], *got[1]));
}

TEST_P(LiteReference, StateGoesOnWhenItIsKept) {
  const TensorPtr x = Tensor::of<float>({2}, {1, 2});
  const auto r = open(options("counter"), {kIn}, {"StatefulPartitionedCall:0"});
  EXPECT_EQ(r->run({x})[0]->to_floats(), (std::vector<double>{11, 22}));
  EXPECT_EQ(r->run({x})[0]->to_floats(), (std::vector<double>{11, 22}));
  const auto kept = open(options("counter"), {kIn}, {"StatefulPartitionedCall:0"});
  kept->keep_state();
  EXPECT_EQ(kept->run({x})[0]->to_floats(), (std::vector<double>{11, 22}));
  EXPECT_EQ(kept->run({x})[0]->to_floats(), (std::vector<double>{12, 24}));
}

TEST_P(LiteReference, OtherKernels) {
  const auto r = open(options("softmax_int8"), {kIn}, {"PartitionedCall:0"});
  std::vector<std::int8_t> codes(64);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::int8_t>(i * 5);
  const TensorPtr x = Tensor::of<std::int8_t>({4, 16}, codes);
  const auto a = r->run({x}), b = r->run_otherwise({x});
  EXPECT_EQ(a[0]->dims(), b[0]->dims());
  EXPECT_TRUE(same_content(*a[0], *r->run({x})[0]));
}

TEST_P(LiteReference, TensorsInsideOfTheModelAreRefused) {
  for (const auto& [in, out] : {std::pair<Strings, Strings>{{kIn}, {"no such tensor"}}, {{}, {"PartitionedCall:0"}}}) {
    try {
      open(options("net_float"), in, out);
      FAIL();
    } catch (const ConversionError& e) {
      EXPECT_EQ(e.diagnostic().code, Code::bad_option);
      EXPECT_NE(e.diagnostic().message.find("LiteRT runs whole models"), std::string::npos) << e.what();
    }
  }
}

}  // namespace
}  // namespace t2o::verify
