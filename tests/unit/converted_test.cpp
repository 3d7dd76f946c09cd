#include "onnx/converted.h"

#include <gtest/gtest.h>

#include <numeric>

#include "onnx/fold.h"

namespace t2o::onnx {
namespace {

TensorPtr halves(const Ints& dims) {
  std::vector<std::uint16_t> bits(static_cast<std::size_t>(element_count(dims)));
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = float_to_half(static_cast<float>(i % 2000) * 0.25F);
  return Tensor::of<std::uint16_t>(dims, bits)->with_dtype(DType::f16);
}

std::vector<float> streamed(const TensorPtr& t) {
  std::vector<std::byte> all;
  t->storage()->stream([&](Bytes b) { all.insert(all.end(), b.begin(), b.end()); });
  std::vector<float> floats(all.size() / sizeof(float));
  std::memcpy(floats.data(), all.data(), all.size());
  return floats;
}

TEST(Converted, ElementsAreMadeInParts) {
  const TensorPtr t = converted(halves({1500, 1000}), DType::f32);  // more than one piece of the stream
  const std::vector<float> all = streamed(t);
  ASSERT_EQ(all.size(), 1500000U);
  for (std::size_t i = 0; i < all.size(); ++i) ASSERT_EQ(all[i], static_cast<float>(i % 2000) * 0.25F);
  const PartReader parts = t->storage()->parts();
  EXPECT_TRUE(parts.computes);
  std::vector<std::byte> part(parts.granule * 3);
  parts.read(parts.granule * 700, part);
  float third;
  std::memcpy(&third, part.data() + parts.granule * 2, sizeof third);
  EXPECT_EQ(third, 702 * 0.25F);
}

TEST(Converted, EachPairOfTypes) {
  std::vector<float> v(3000);
  std::iota(v.begin(), v.end(), -1500.0F);
  for (float& f : v) f *= 0.37F;
  const TensorPtr f32 = Tensor::of<float>({3000}, v);
  for (const DType t : {DType::f16, DType::bf16, DType::f64}) {
    const TensorPtr there = converted(f32, t), back = converted(there, DType::f32);
    for (std::int64_t i = 0; i < 3000; ++i) {
      EXPECT_EQ(there->float_at(i), back->float_at(i));
      EXPECT_NEAR(back->float_at(i), f32->float_at(i), std::abs(f32->float_at(i)) / 256);
    }
  }
}

// The weights of a layer in half floats: as floats they are twice as many bytes, which need not be in memory.
TEST(Converted, ATransposeMovesTheNarrowElements) {
  const TensorPtr narrow = halves({300, 200}), wide = converted(narrow, DType::f32);
  const TensorPtr t = transposed(wide, {1, 0});
  ASSERT_EQ(t->dims(), (Ints{200, 300}));
  ASSERT_NE(before_conversion(t), nullptr);
  EXPECT_EQ(before_conversion(t)->dtype(), DType::f16);
  const std::vector<float> all = streamed(t);
  for (std::int64_t i = 0; i < 200; ++i)
    for (std::int64_t j = 0; j < 300; ++j)
      ASSERT_EQ(static_cast<double>(all[static_cast<std::size_t>(i * 300 + j)]), wide->float_at(j * 200 + i));
  EXPECT_EQ(transposed(wide, {1, 0}).get(), t.get());
}

TEST(Converted, OtherDimsAndTheSameBytesUnderAnotherType) {
  const TensorPtr wide = converted(halves({300, 200}), DType::f32);
  const TensorPtr t = transposed(wide->with_dims({100, 3, 200}), {1, 0, 2});
  ASSERT_EQ(t->dims(), (Ints{3, 100, 200}));
  for (const std::int64_t i : {0, 1, 99, 100, 20000, 59999})
    EXPECT_EQ(t->float_at(i), wide->float_at((i % 20000) / 200 * 600 + i / 20000 * 200 + i % 200));
  EXPECT_EQ(before_conversion(wide->with_dtype(DType::i32)), nullptr);
  EXPECT_EQ(before_conversion(halves({300, 200})), nullptr);
}

}  // namespace
}  // namespace t2o::onnx
