#include "ir/tensor.h"

#include <gtest/gtest.h>

namespace t2o {
namespace {

TEST(Tensor, HoldsValues) {
  const TensorPtr t = Tensor::of<std::int32_t>({2, 2}, {1, -2, 3, 4});
  EXPECT_EQ(t->dtype(), DType::i32);
  EXPECT_EQ(t->elements(), 4);
  EXPECT_EQ(t->byte_size(), 16U);
  EXPECT_EQ(t->to_ints(), (Ints{1, -2, 3, 4}));
  EXPECT_EQ(Tensor::scalar<float>(1.5F)->shape(), Shape::scalar());
  EXPECT_EQ(Tensor::of<bool>({2}, {true, false})->to_ints(), (Ints{1, 0}));
}

TEST(Tensor, RefusesBytesThatDoNotFit) {
  EXPECT_THROW(Tensor(DType::f32, {3}, heap_storage(std::vector<std::byte>(8))), std::length_error);
  EXPECT_THROW(Tensor(DType::f32, {-1}, heap_storage({})), std::length_error);
  EXPECT_THROW(Tensor({2}, {"one"}), std::length_error);
  EXPECT_THROW(element_count({std::int64_t{1} << 40, std::int64_t{1} << 40}), std::length_error);
}

TEST(Tensor, ReadsPackedIntegers) {
  const std::vector<std::byte> bytes = {std::byte{0x7f}, std::byte{0x08}};
  const Tensor t(DType::i4, {3}, heap_storage(bytes));
  EXPECT_EQ(t.to_ints(), (Ints{-1, 7, -8}));
  EXPECT_EQ(t.with_dtype(DType::u4)->to_ints(), (Ints{15, 7, 8}));
}

TEST(Tensor, ReadsFloatsOfEveryWidth) {
  EXPECT_EQ(Tensor::scalar<double>(0.1)->float_at(0), 0.1);
  const TensorPtr bits = Tensor::of<std::uint16_t>({1}, {0x3c00});
  EXPECT_EQ(bits->with_dtype(DType::f16)->float_at(0), 1.0);
  EXPECT_EQ(Tensor::of<std::uint16_t>({1}, {0x3f80})->with_dtype(DType::bf16)->float_at(0), 1.0);
}

TEST(Tensor, SharesBytesUnderAnotherShape) {
  const TensorPtr t = Tensor::of<float>({2, 3}, std::vector<float>(6));
  EXPECT_EQ(t->with_dims({6})->storage(), t->storage());
  EXPECT_THROW(t->with_dims({5}), std::length_error);
}

TEST(Tensor, FilledRepeatsAnElement) {
  const float value = 2.5F;
  const TensorPtr t = Tensor::filled(DType::f32, {3}, std::as_bytes(std::span(&value, 1)));
  EXPECT_EQ(t->to_floats(), (std::vector<double>{2.5, 2.5, 2.5}));
}

TEST(Tensor, FilledIsNeverInMemoryAsAWhole) {
  const double value = -1.5;
  const TensorPtr t = Tensor::filled(DType::f64, {3, 5, 1000, 1000}, std::as_bytes(std::span(&value, 1)));  // 120 MB
  std::size_t total = 0, largest = 0;
  t->storage()->stream([&](Bytes b) {
    total += b.size();
    largest = std::max(largest, b.size());
    double last = 0;
    std::memcpy(&last, b.data() + b.size() - sizeof last, sizeof last);
    EXPECT_EQ(last, value);
  });
  EXPECT_EQ(total, t->byte_size());
  EXPECT_LE(largest, std::size_t{8} << 20);
}

TEST(Storage, ComputedIsMadeAgainAfterRelease) {
  int runs = 0;
  const StoragePtr s = computed_storage(4, [&](std::span<std::byte> out) {
    ++runs;
    std::fill(out.begin(), out.end(), std::byte{7});
  });
  EXPECT_EQ(s->size(), 4U);
  EXPECT_EQ(runs, 0);
  EXPECT_EQ(s->bytes()[3], std::byte{7});
  s->bytes();
  EXPECT_EQ(runs, 1);
  s->release();
  std::size_t seen = 0;
  s->stream([&](Bytes b) { seen += b.size(); });
  EXPECT_EQ(seen, 4U);
  EXPECT_EQ(runs, 2);
  s->bytes();
  EXPECT_EQ(runs, 3) << "stream() gives the memory back";
}

TEST(Storage, BorrowedKeepsItsOwner) {
  auto owner = std::make_shared<std::vector<std::byte>>(3, std::byte{1});
  const std::weak_ptr<const void> watch = owner;
  StoragePtr s = borrowed_storage(Bytes(*owner).first(2), owner);
  owner.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(s->bytes()[1], std::byte{1});
  s.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(Tensor, SameContentComparesEverything) {
  const TensorPtr a = Tensor::of<std::int32_t>({2}, {1, 2});
  EXPECT_TRUE(same_content(*a, *Tensor::of<std::int32_t>({2}, {1, 2})));
  EXPECT_FALSE(same_content(*a, *Tensor::of<std::int32_t>({2}, {1, 3})));
  EXPECT_FALSE(same_content(*a, *a->with_dims({1, 2})));
  EXPECT_FALSE(same_content(*a, *a->with_dtype(DType::u32)));
  EXPECT_TRUE(same_content(Tensor({1}, {"a"}), Tensor({1}, {"a"})));
  EXPECT_FALSE(same_content(Tensor({1}, {"a"}), Tensor({1}, {"b"})));
}

}  // namespace
}  // namespace t2o
