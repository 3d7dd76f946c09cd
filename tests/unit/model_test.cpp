#include "ir/model.h"

#include <gtest/gtest.h>

#include "diagnostics.h"
#include "onnx/fold.h"
#include "rewriters/onnx/per_channel.h"

namespace t2o::ir {
namespace {

constexpr std::size_t kSmallest = 64;

// Nobody may read it: what is equal must be known without its bytes.
class Unread final : public Storage {
 public:
  explicit Unread(std::size_t size, std::string identity = "") : size_(size), identity_(std::move(identity)) {}
  std::size_t size() const override { return size_; }
  Bytes bytes() override { fail(Code::internal, "a constant was read"); }
  std::string identity() const override { return identity_.empty() ? Storage::identity() : identity_; }

 private:
  std::size_t size_;
  std::string identity_;
};

TensorPtr unread(std::int64_t floats, std::string identity = "") {
  return std::make_shared<Tensor>(DType::f32, Ints{floats}, std::make_shared<Unread>(static_cast<std::size_t>(floats) * 4, std::move(identity)));
}

TensorPtr floats(std::int64_t n, float value) { return Tensor::of<float>({n}, std::vector<float>(static_cast<std::size_t>(n), value)); }

class Constants : public testing::Test {
 protected:
  // A graph with these constants, called w0, w1 ...
  void add_graph(const std::vector<TensorPtr>& tensors) {
    graphs_.push_back(std::make_shared<Graph>());
    Values& values = constants_.emplace_back();
    for (const TensorPtr& t : tensors)
      values.push_back(graphs_.back()->add_constant("g" + std::to_string(graphs_.size() - 1) + "w" + std::to_string(values.size()), t));
  }
  // "g0w0=g1w0! g0w1": the groups, and which are shared.
  std::string equal() const {
    std::string text;
    for (const EqualConstants& e : equal_constants(constants_, kSmallest)) {
      text += text.empty() ? "" : " ";
      for (const Value* v : e.values) text += (v == e.values.front() ? "" : "=") + v->name();
      if (e.is_shared) text += "!";
    }
    return text;
  }

 private:
  std::vector<GraphPtr> graphs_;
  std::vector<Values> constants_;
};

TEST_F(Constants, OfOneStorageAreKnownWithoutTheirBytes) {
  const TensorPtr one = unread(100), other = unread(100), third = unread(100);
  add_graph({one, other, third});
  add_graph({other, one->with_dims({10, 10}), third});
  EXPECT_EQ(equal(), "g0w0=g1w1! g0w1=g1w0! g0w2=g1w2!");
}

TEST_F(Constants, OfOnePlaceAreKnownWithoutTheirBytes) {
  add_graph({unread(100, "here"), unread(100, "there")});
  add_graph({unread(100, "there"), unread(100, "here"), unread(50, "here")});
  EXPECT_EQ(equal(), "g0w0=g1w1! g0w1=g1w0! g1w2");
}

// A weight that one graph alone has, and a size that one graph alone has, are not read either.
TEST_F(Constants, AreNotReadForNothing) {
  add_graph({unread(100), unread(100), unread(200)});
  add_graph({unread(300)});
  EXPECT_EQ(equal(), "g0w0 g0w1 g0w2 g1w0");
}

TEST_F(Constants, OfOneSizeAreCompared) {
  const TensorPtr shared = floats(100, 1);
  add_graph({shared, floats(100, 2), floats(8, 3)});
  add_graph({shared, floats(100, 4), floats(100, 2), floats(8, 3)});
  add_graph({floats(100, 1)});
  EXPECT_EQ(equal(), "g0w0=g1w0=g2w0! g0w1=g1w2! g1w1") << "small ones are left out";
}

TEST(Identity, OfMadeStoragesIsThatOfWhatTheyAreMadeFrom) {
  const std::vector<std::byte> bytes(std::size_t{3} * 3 * 64 * 64 * 4);
  const auto weight = [&] { return std::make_shared<Tensor>(DType::f32, Ints{3, 3, 64, 64}, borrowed_storage(bytes, Owner{})); };
  const auto identity = [](const TensorPtr& t) { return t->storage()->identity(); };
  const auto turned = [&](const Ints& perm) { return onnx::transposed(weight(), perm); };
  EXPECT_EQ(identity(weight()), identity(weight()));
  EXPECT_EQ(identity(turned({3, 2, 0, 1})), identity(turned({3, 2, 0, 1})));
  EXPECT_NE(identity(turned({3, 2, 0, 1})), identity(turned({2, 3, 0, 1})));
  EXPECT_NE(identity(turned({3, 2, 0, 1})), identity(weight()));
  const auto scaled = [&](double by) { return rewriters::scaled(turned({3, 2, 0, 1}), 0, rewriters::Doubles(64, by)); };
  EXPECT_EQ(identity(scaled(2)), identity(scaled(2)));
  EXPECT_NE(identity(scaled(2)), identity(scaled(3)));
  const std::vector<std::byte> copy = bytes;
  EXPECT_NE(identity(weight()), identity(std::make_shared<Tensor>(DType::f32, Ints{3, 3, 64, 64}, borrowed_storage(copy, Owner{}))));
}

}  // namespace
}  // namespace t2o::ir
