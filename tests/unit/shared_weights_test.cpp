#include <gtest/gtest.h>

#include "ir/text.h"
#include "onnx/emitter.h"
#include "onnx/fold.h"
#include "rewriters/all.h"

namespace t2o {
namespace {

// A network that is called twice has its weights twice, as two constants of one storage.
class Twins {
 public:
  Twins()
      : g_(ir::parse_graph(
            "graph t onnx { input %x: f32[1,16,8,8] %r: f32[1,16,8,8] = Relu(%x) output %r }")) {
    const TensorPtr hwio = Tensor::of<float>({3, 3, 16, 16}, std::vector<float>(2304, 0.5F));
    const TensorPtr factor = Tensor::of<float>({16, 1, 1}, std::vector<float>(16, 2));
    Emitter e(*g_, target_, std::make_shared<const Origin>());
    Value* x = g_->first()->output();
    Values ends;
    for (int i = 0; i < 2; ++i) {
      Value* w = e.constant(onnx::transposed(hwio, {3, 2, 0, 1}));
      Value* y = e.emit("Conv", {x, w}, {{"kernel_shape", Ints{3, 3}}});
      ends.push_back(e.mul(y, e.constant(factor)));
    }
    g_->set_outputs({e.concat(ends, 1)});
  }
  std::size_t count(const std::string& op) {
    run_phases(onnx_phases(target_), *g_);
    std::size_t n = 0;
    for (const ir::Node& node : g_->nodes()) n += node.op() == op;
    return n;
  }

 private:
  onnx::Target target_ = onnx::make_target(21);
  GraphPtr g_;
};

TEST(SharedWeights, TheNetworkIsThereOnce) {
  Twins twins;
  EXPECT_EQ(twins.count("Conv"), 1U);
  EXPECT_EQ(twins.count("Mul"), 0U) << "the factor is in the weights";
}

}  // namespace
}  // namespace t2o
