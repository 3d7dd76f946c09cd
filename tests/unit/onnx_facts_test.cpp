#include "rewriters/onnx/facts.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "rewriters/onnx/attention_mask.h"

// Facts of values to which very many ways lead: each is looked at once. Before, these took for ever.
namespace t2o::rewriters {
namespace {

class OnnxFactsTest : public testing::Test {
 protected:
  Value* node(const std::string& op, Values in, const Shape& shape = {}) {
    return g.add({.op = op, .inputs = std::move(in), .outputs = {{"", DType::f32, shape}}}).output();
  }
  Value* numbers(const Ints& dims, float each) {
    return g.add_constant("c", Tensor::of<float>(dims, std::vector<float>(static_cast<std::size_t>(element_count(dims)), each)));
  }
  // What `op` makes of v `each` times, of that and that ...
  Value* repeated(const std::string& op, Value* v, int times, std::size_t each = 2) {
    for (int i = 0; i < times; ++i) v = node(op, Values(each, v), v->shape());
    return v;
  }

  ir::Graph g;
  Value* x = g.add_input("x", DType::f32, Shape(Ints{2}));
};

TEST_F(OnnxFactsTest, NeverNegative) {
  Value* some = node("Relu", {x});
  EXPECT_TRUE(is_never_negative(repeated("Concat", some, 6, 1000)));
  EXPECT_TRUE(is_never_negative(repeated("Add", some, 10000)));
  EXPECT_FALSE(is_never_negative(repeated("Concat", x, 6, 1000)));
}

TEST_F(OnnxFactsTest, UniformNumbers) {
  EXPECT_EQ(uniform_number(repeated("Add", numbers({1 << 15}, 1), 8)), 256.0);
  EXPECT_EQ(uniform_number(repeated("Add", numbers({1 << 15}, 1), 100)), 0x1p100);
  EXPECT_EQ(uniform_number(repeated("Add", numbers({1 << 17}, 1), 1)), std::nullopt) << "too many to look at";
}

TEST_F(OnnxFactsTest, Masks) {
  const Shape scores(Ints{1, 1, 512, 512});
  Value* s = g.add_input("scores", DType::f32, scores);
  for (const char* op : {"Add", "Mul"}) {
    Value* mask = repeated(op, numbers({512, 512}, 1), 16);
    AttentionMask m;
    ASSERT_TRUE(m.take(*node("Add", {s, mask}, scores)->producer(), 0, 1));
    EXPECT_TRUE(m.fits(scores, true)) << op;
  }
  AttentionMask lowest;
  ASSERT_TRUE(lowest.take(*node("Add", {s, repeated("Add", numbers({512, 512}, -3e38F), 16)}, scores)->producer(), 0, 1));
  EXPECT_FALSE(lowest.fits(scores, true));
}

TEST_F(OnnxFactsTest, ProductsOfZerosAndOnes) {
  Value* b = repeated("Mul", numbers({512, 512}, 1), 16);
  Value* kept = node("Mul", {x, b});
  Value* hidden = node("Mul", {node("Sub", {numbers({1}, 1), b}), numbers({1}, 1e30F)});
  AttentionMask m;
  EXPECT_EQ(m.take_product(*node("Sub", {kept, hidden})->producer()), x);
}

// A network over images has big weights, and nothing is known of its input.
TEST_F(OnnxFactsTest, NoWeightsAreReadBehindAnInputOfFloats) {
  int read = 0;
  const auto weights = [&](const Ints& dims) {
    const auto fill = [&](std::span<std::byte> out) {
      ++read;
      std::fill(out.begin(), out.end(), std::byte{0});
    };
    const auto size = static_cast<std::size_t>(element_count(dims)) * sizeof(float);
    return g.add_constant("w", std::make_shared<Tensor>(DType::f32, dims, computed_storage(size, fill)));
  };
  EXPECT_FALSE(onnx::is_finite(node("Conv", {x, weights({4, 3, 3, 3})})));
  EXPECT_FALSE(onnx::is_finite(node("LSTM", {x, weights({1, 8, 3}), weights({1, 8, 2})})));
  EXPECT_EQ(read, 0);
  Value* words = node("Cast", {g.add_input("i", DType::i64, Shape(Ints{2}))});
  EXPECT_TRUE(onnx::is_finite(node("MatMul", {words, weights({3, 4})})));
  EXPECT_EQ(read, 1);
}

}  // namespace
}  // namespace t2o::rewriters
