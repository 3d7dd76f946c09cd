// Quantized operators of TensorFlow Lite for both targets: uint8 codes inside for ONNX Runtime, int8 codes for any runtime.
#include <gtest/gtest.h>

#include "lite_case.h"

namespace t2o::numeric {
namespace {

constexpr DType i8 = DType::i8;

void for_any(Options& o) { o.target_runtime = "any"; }

// The case for ONNX Runtime, then for any runtime.
void at_both(const LiteCase& c) {
  LiteCase(c).note("for ONNX Runtime").check();
  LiteCase(c).note("for any runtime").convert_with(for_any).check();
}

TensorPtr ints(const std::vector<std::int32_t>& v) { return Tensor::of<std::int32_t>({static_cast<std::int64_t>(v.size())}, v); }

const Codes x = codes(0.05F, -3), y = codes(0.1F, 17);

template <class Make>
LiteCase image(B op, const Ints& out, const Codes& of_out, O type, Make&& make) {
  LiteCase c = lite_case(op);
  return c.in(i8, {1, 6, 6, 3}, x).out(i8, out, of_out).options(type, make);
}

auto pool(int size) {
  return [=](Fbb& b) { return schema::CreatePool2DOptions(b, schema::Padding::SAME, size, size, size, size).Union(); };
}

TEST(LiteRuntime, MovedCodes) {
  at_both(lite_case(B::RESHAPE).in(i8, {2, 6}, x).constant(ints({3, 4})).out(i8, {3, 4}, x));
  at_both(lite_case(B::TRANSPOSE).in(i8, {2, 6}, x).constant(ints({1, 0})).out(i8, {6, 2}, x));
  at_both(lite_case(B::SLICE).in(i8, {4, 6}, x).constant(ints({1, 2})).constant(ints({2, 3})).out(i8, {2, 3}, x));
  at_both(lite_case(B::PAD).in(i8, {2, 3}, x).constant(Tensor::of<std::int32_t>({2, 2}, {1, 0, 0, 2})).out(i8, {3, 5}, x));
  at_both(lite_case(B::GATHER).in(i8, {4, 3}, x).constant(ints({3, 0, 3})).out(i8, {3, 3}, x));
  at_both(image(B::MAX_POOL_2D, {1, 3, 3, 3}, x, O::Pool2DOptions, pool(2)));
  at_both(lite_case(B::CONCATENATION).in(i8, {2, 3}, x).in(i8, {2, 3}, x).out(i8, {4, 3}, x)
              .options(O::ConcatenationOptions, [](Fbb& b) { return schema::CreateConcatenationOptions(b, 0).Union(); }));
  at_both(lite_case(B::RESIZE_NEAREST_NEIGHBOR).in(i8, {1, 3, 3, 2}, x).constant(ints({6, 6})).out(i8, {1, 6, 6, 2}, x)
              .options(O::ResizeNearestNeighborOptions, [](Fbb& b) { return schema::CreateResizeNearestNeighborOptions(b).Union(); }));
}

// What an operator adds is the code of 0, which is the zero point.
TEST(LiteRuntime, CodesOfZero) {
  const TensorPtr both = ints({2, 2}), around = Tensor::of<std::int32_t>({2, 2}, {1, 1, 1, 1}), below = Tensor::of<std::int32_t>({1, 2}, {0, 2});
  for (const DType t : {i8, DType::u8})
    for (const std::int64_t zero : {-128, 0, 100}) {
      const Codes c = codes(0.05F, t == i8 ? zero : zero + 128);
      at_both(lite_case(B::SPACE_TO_BATCH_ND).in(t, {1, 4, 4, 3}, c).constant(both).constant(around).out(t, {4, 3, 3, 3}, c));
      at_both(lite_case(B::SPACE_TO_BATCH_ND).in(t, {1, 4, 3}, c).constant(ints({2})).constant(below).out(t, {2, 3, 3}, c));
      at_both(lite_case(B::PAD).in(t, {4, 3}, c).constant(around).out(t, {6, 5}, c));
    }
}

TEST(LiteRuntime, ComputedCodes) {
  at_both(lite_case(B::LOGISTIC).in(i8, {4, 6}, x).out(i8, {4, 6}, codes(1.0F / 256, -128)));
  at_both(lite_case(B::HARD_SWISH).in(i8, {16, 16}, x).out(i8, {16, 16}, y));
  lite_case(B::HARD_SWISH).in(i8, {16, 16}, x).out(i8, {16, 16}, y).gives({{"HardSwish", 1}, {"Mul", 0}}).check();
  at_both(lite_case(B::ADD).in(i8, {4, 6}, x).in(i8, {4, 6}, codes(0.03F, 5)).out(i8, {4, 6}, y)
              .options(O::AddOptions, [](Fbb& b) { return schema::CreateAddOptions(b).Union(); }));
  at_both(lite_case(B::MUL).in(i8, {4, 6}, x).random_constant(i8, {6}, codes(0.03F, 5)).out(i8, {4, 6}, y)
              .options(O::MulOptions, [](Fbb& b) { return schema::CreateMulOptions(b).Union(); }));
}

// What LiteRT computes in arithmetic of its own is exact for each target.
TEST(LiteRuntime, ArithmeticOfItsOwn) {
  at_both(image(B::AVERAGE_POOL_2D, {1, 3, 3, 3}, x, O::Pool2DOptions, pool(2)));
  at_both(image(B::AVERAGE_POOL_2D, {1, 2, 2, 3}, x, O::Pool2DOptions, pool(3)));
  at_both(lite_case(B::LEAKY_RELU).in(i8, {16, 16}, x).out(i8, {16, 16}, y)
              .options(O::LeakyReluOptions, [](Fbb& b) { return schema::CreateLeakyReluOptions(b, 0.1F).Union(); }));
}

TEST(LiteRuntime, Layers) {
  at_both(lite_case(B::FULLY_CONNECTED).in(i8, {4, 8}, x).random_constant(i8, {6, 8}, codes(0.02F)).constant(ints({100, -200, 30, 4, 5, -6}), codes(0.001F))
              .out(i8, {4, 6}, y).options(O::FullyConnectedOptions, [](Fbb& b) { return schema::CreateFullyConnectedOptions(b).Union(); }));
  at_both(lite_case(B::CONV_2D).in(i8, {1, 6, 6, 3}, x).random_constant(i8, {4, 3, 3, 3}, codes_by(0, {0.01F, 0.02F, 0.03F, 0.04F}))
              .constant(ints({100, -200, 30, 4}), codes_by(0, {0.0005F, 0.001F, 0.0015F, 0.002F})).out(i8, {1, 6, 6, 4}, y)
              .options(O::Conv2DOptions, [](Fbb& b) { return schema::CreateConv2DOptions(b, schema::Padding::SAME, 1, 1).Union(); }));
}

TEST(LiteRuntime, Files) {
  for (const char* file : {"cnn_int8", "cnn_int8io", "moves_int8io", "variable_stream_int8"}) at_both(lite_file(file));
}

TEST(LiteRuntime, FilesWithoutTheOptimizer) {
  for (const char* file : {"cnn_int8", "cnn_int8io", "trained_with_ranges", "variable_stream_int8"})
    lite_file(file).without_optimizer().check();
}

}  // namespace
}  // namespace t2o::numeric
