#include "onnx/fold.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ir/graph.h"

namespace t2o::onnx {
namespace {

TensorPtr i64(Ints dims, Ints v) { return Tensor::of<std::int64_t>(std::move(dims), v); }
TensorPtr vec(Ints v) { return i64({static_cast<std::int64_t>(v.size())}, v); }
TensorPtr f32(Ints dims, std::vector<float> v) { return Tensor::of<float>(std::move(dims), v); }

TensorPtr run(const std::string& op, const std::vector<TensorPtr>& in, const Attrs& attrs = {}) {
  auto r = fold(op, in, attrs, 21);
  return r ? r->at(0) : nullptr;
}
void expect(const TensorPtr& t, const Ints& dims, const Ints& v) {
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->dims(), dims);
  EXPECT_EQ(t->to_ints(), v);
}

TEST(Fold, TransposeOfEveryPermutationAgreesWithIndexArithmetic) {
  const Ints dims = {2, 3, 4, 5};
  std::vector<float> data(120);
  std::iota(data.begin(), data.end(), 0.0F);
  Ints perm = {0, 1, 2, 3};
  do {
    const TensorPtr t = transposed(f32(dims, data), perm);
    Ints at(4);
    std::int64_t n = 0;
    for (at[0] = 0; at[0] < t->dims()[0]; ++at[0])
      for (at[1] = 0; at[1] < t->dims()[1]; ++at[1])
        for (at[2] = 0; at[2] < t->dims()[2]; ++at[2])
          for (at[3] = 0; at[3] < t->dims()[3]; ++at[3]) {
            Ints source(4);
            for (std::size_t i = 0; i < 4; ++i) source[static_cast<std::size_t>(perm[i])] = at[i];
            const std::int64_t flat = ((source[0] * 3 + source[1]) * 4 + source[2]) * 5 + source[3];
            ASSERT_EQ(t->at<float>(n++), data[static_cast<std::size_t>(flat)]);
          }
  } while (std::next_permutation(perm.begin(), perm.end()));
}

TEST(Fold, BigTransposesAreComputedOnDemandAndGivenBack) {
  const TensorPtr t = transposed(f32({64, 64}, std::vector<float>(4096, 1)), {1, 0});
  EXPECT_EQ(t->byte_size(), 16384U);
  std::size_t streamed = 0;
  t->storage()->stream([&](Bytes b) { streamed += b.size(); });
  EXPECT_EQ(streamed, 16384U);
  EXPECT_EQ(t->at<float>(7), 1);
}

TEST(Fold, TransposesOfOneTensorAreOneStorage) {
  const TensorPtr x = f32({64, 64}, std::vector<float>(4096, 1));
  const TensorPtr t = transposed(x, {1, 0});
  EXPECT_EQ(transposed(x, {1, 0})->storage(), t->storage());
  EXPECT_NE(transposed(x->with_dims({32, 128}), {1, 0})->storage(), t->storage());
  EXPECT_NE(transposed(f32({64, 64}, std::vector<float>(4096, 1)), {1, 0})->storage(), t->storage());
}

TEST(Fold, Clip) {
  expect(run("Clip", {vec({-3, 2, 9}), i64({}, {0}), i64({}, {6})}), {3}, {0, 2, 6});
  expect(run("Clip", {vec({-3, 2, 9}), nullptr, i64({}, {6})}), {3}, {-3, 2, 6});
  const TensorPtr t = run("Clip", {f32({2}, {NAN, -1}), f32({}, {0})});
  ASSERT_NE(t, nullptr);
  EXPECT_TRUE(std::isnan(t->at<float>(0)));
  EXPECT_EQ(t->at<float>(1), 0);
}

TEST(Fold, SliceClampsAndStepsBackwards) {
  const TensorPtr x = vec({0, 1, 2, 3, 4});
  expect(run("Slice", {x, vec({1}), vec({100}), vec({0})}), {4}, {1, 2, 3, 4});
  expect(run("Slice", {x, vec({-2}), vec({INT64_MAX}), vec({0})}), {2}, {3, 4});
  expect(run("Slice", {x, vec({-1}), vec({INT64_MIN}), vec({0}), vec({-2})}), {3}, {4, 2, 0});
  expect(run("Slice", {x, vec({3}), vec({1}), vec({0})}), {0}, {});
  expect(run("Slice", {x, vec({1}), vec({5}), vec({0}), vec({INT64_MAX})}), {1}, {1});
  expect(run("Slice", {x, vec({-1}), vec({INT64_MIN}), vec({0}), vec({INT64_MIN})}), {1}, {4});
}

TEST(Fold, ReshapesThatCannotBeAreLeft) {
  const TensorPtr x = vec({0, 1, 2, 3});
  EXPECT_EQ(run("Reshape", {x, vec({-2, -2})}), nullptr);
  EXPECT_EQ(run("Reshape", {x, vec({-2, 4})}), nullptr);
  EXPECT_EQ(run("Reshape", {x, vec({3, -1})}), nullptr);
  EXPECT_EQ(run("Reshape", {x, vec({INT64_MAX, INT64_MAX, -1})}), nullptr);
  expect(run("Reshape", {x, vec({2, -1})}), {2, 2}, {0, 1, 2, 3});
}

// What a computed weight is made of is made once, however many parts and pieces are written of it, and then
// given back.
TEST(Fold, AComputedWeightIsComputedOnce) {
  int made = 0;
  const auto weight = [&](Ints dims) {
    const auto size = static_cast<std::size_t>(element_count(dims)) * sizeof(float);
    return std::make_shared<const Tensor>(DType::f32, std::move(dims),
                                          computed_storage(size, [&made](std::span<std::byte> out) {
                                            ++made;
                                            std::fill(out.begin(), out.end(), std::byte{1});
                                          }));
  };
  const auto write = [](const TensorPtr& t) {
    std::size_t bytes = 0;
    t->storage()->stream([&](Bytes b) { bytes += b.size(); });
    EXPECT_EQ(bytes, t->byte_size());
    t->storage()->release();
  };
  const auto parts =
      fold("Split", {weight({1000, 400}), vec({100, 100, 100, 100})}, {{"axis", std::int64_t{1}}}, 21);
  ASSERT_TRUE(parts);
  for (const TensorPtr& part : *parts) write(part);
  EXPECT_EQ(made, 1);
  made = 0;
  write(transposed(weight({5000, 2, 1200}), {1, 0, 2}));  // 48 MB: in pieces
  EXPECT_EQ(made, 1);
  made = 0;
  const TensorPtr w = weight({1000, 100});
  write((*fold("Concat", {w, weight({1000, 100})}, {{"axis", std::int64_t{1}}}, 21))[0]);
  EXPECT_EQ(made, 2);
  w->bytes();
  EXPECT_EQ(made, 3) << "the inputs were given back";
}

TEST(Fold, RemaindersHaveTheSignThatOnnxGivesThem) {
  const TensorPtr x = vec({7, -7, 7, -7, INT64_MIN}), y = vec({3, 3, -3, -3, -1});
  expect(run("Mod", {x, y}), {5}, {1, 2, -2, -1, 0});
  expect(run("Mod", {x, y}, {{"fmod", std::int64_t{1}}}), {5}, {1, -1, 1, -1, 0});
  EXPECT_EQ(run("Mod", {x, vec({0})}), nullptr);
  EXPECT_EQ(run("Mod", {f32({2}, {5.5F, -5.5F}), f32({}, {2})}, {{"fmod", std::int64_t{1}}})->to_floats(),
            (std::vector<double>{1.5, -1.5}));
}

TEST(Fold, PartsOfWeights) {
  std::vector<float> values(200 * 1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  const TensorPtr w = Tensor::of<float>({200, 1000}, values);
  const auto parts = fold("Split", {w, vec({400, 600})}, {{"axis", std::int64_t{1}}}, 21);
  ASSERT_TRUE(parts && parts->size() == 2);
  EXPECT_EQ((*parts)[1]->dims(), (Ints{200, 600}));
  for (const std::int64_t i : {0, 599, 600, 119999})
    EXPECT_EQ((*parts)[1]->at<float>(i), static_cast<float>(i / 600 * 1000 + 400 + i % 600));
  const auto whole = fold("Concat", {(*parts)[0], (*parts)[1]}, {{"axis", std::int64_t{-1}}}, 21);
  ASSERT_TRUE(whole);
  EXPECT_TRUE(same_content(*(*whole)[0], *w));
  const auto rows = fold("Slice", {w, vec({199, 1}), vec({0, 1000}), vec({0, 1}), vec({-1, 3})}, {}, 21);
  ASSERT_TRUE(rows);
  EXPECT_EQ((*rows)[0]->dims(), (Ints{199, 333}));
  EXPECT_EQ((*rows)[0]->at<float>(334), 198.0F * 1000 + 4);
  EXPECT_FALSE(fold("Split", {w, vec({400, 500})}, {{"axis", std::int64_t{1}}}, 21));
}

TEST(Fold, ShapeArithmetic) {
  expect(run("Concat", {vec({1, 2}), vec({3})}, {{"axis", std::int64_t{0}}}), {3}, {1, 2, 3});
  expect(run("Gather", {vec({5, 6, 7}), i64({}, {-1})}, {{"axis", std::int64_t{0}}}), {}, {7});
  expect(run("Unsqueeze", {i64({}, {4}), vec({0})}), {1}, {4});
  expect(run("Squeeze", {vec({4}), vec({0})}), {}, {4});
  expect(run("ReduceProd", {vec({2, 3, 4})}, {{"keepdims", std::int64_t{0}}}), {}, {24});
  expect(run("Mul", {vec({2, 3}), i64({}, {10})}), {2}, {20, 30});
  expect(run("Div", {vec({-7, 7}), vec({2, 2})}), {2}, {-3, 3});
  expect(run("Where", {Tensor::of<bool>({2}, {true, false}), vec({1, 2}), vec({3, 4})}), {2}, {1, 4});
  expect(run("Range", {i64({}, {1}), i64({}, {8}), i64({}, {3})}), {3}, {1, 4, 7});
  expect(run("Expand", {vec({1, 2}), vec({2, 2})}), {2, 2}, {1, 2, 1, 2});
  expect(run("Tile", {vec({1, 2}), vec({2})}), {4}, {1, 2, 1, 2});
}

TEST(Fold, ReduceOfAScalarAndOverNoElements) {
  expect(run("ReduceSum", {i64({}, {3})}, {{"keepdims", std::int64_t{0}}}), {}, {3});
  expect(run("ReduceSum", {i64({0, 2}, {}), vec({0})}, {{"keepdims", std::int64_t{0}}}), {2}, {0, 0});
  EXPECT_EQ(run("ReduceMax", {i64({0, 2}, {}), vec({0})}, {{"keepdims", std::int64_t{0}}}), nullptr);
}

TEST(Fold, ProductsOfMatricesAndMeans) {
  const auto whole = [](const TensorPtr& t) { return t ? converted(t, DType::i64) : nullptr; };
  const TensorPtr a = f32({2, 2}, {1, 2, 3, 4}), stack = f32({2, 1, 2, 1}, {1, 10, 100, 1000});
  expect(whole(run("MatMul", {a, f32({2, 3}, {1, 0, 2, 0, 1, 3})})), {2, 3}, {1, 2, 8, 3, 4, 18});
  expect(whole(run("MatMul", {a, stack})), {2, 1, 2, 1}, {21, 43, 2100, 4300});
  expect(whole(run("MatMul", {f32({3, 1, 2}, {1, 2, 3, 4, 5, 6}), stack})), {2, 3, 1, 1},
         {21, 43, 65, 2100, 4300, 6500});
  EXPECT_TRUE(std::isnan(run("MatMul", {f32({1, 2}, {INFINITY, 1}), f32({2, 1}, {0, 1})})->float_at(0)));
  EXPECT_EQ(run("MatMul", {a, f32({3, 1}, {1, 2, 3})}), nullptr);
  EXPECT_EQ(run("MatMul", {a, f32({2}, {1, 2})}), nullptr);
  EXPECT_EQ(run("MatMul", {f32({2, 0}, {}), f32({0, 2}, {})}), nullptr);
  EXPECT_EQ(run("MatMul", {i64({1, 1}, {2}), i64({1, 1}, {2})}), nullptr);
  const TensorPtr big = f32({512, 512}, std::vector<float>(512 * 512, 1));
  EXPECT_EQ(run("MatMul", {big, big}), nullptr);
  expect(whole(run("ReduceMean", {f32({2, 2}, {1, 3, 10, 20}), vec({1})})), {2, 1}, {2, 15});
  expect(whole(run("ReduceMean", {f32({2, 2}, {1, 3, 10, 30})}, {{"keepdims", std::int64_t{0}}})), {}, {11});
  EXPECT_EQ(run("ReduceMean", {f32({0, 2}, {}), vec({0})}), nullptr);
  EXPECT_EQ(run("ReduceMean", {vec({1, 2})}), nullptr);
}

TEST(Fold, DivisionByZeroIsLeftToTheRuntime) { EXPECT_EQ(run("Div", {vec({1}), vec({0})}), nullptr); }

TEST(Fold, CastsWrapTruncateAndSaturateWithoutUndefinedBehaviour) {
  expect(converted(vec({300, -1}), DType::u8), {2}, {44, 255});
  expect(converted(f32({4}, {1.9F, -1.9F, 1e30F, NAN}), DType::i32)->with_dtype(DType::i32), {4},
         {1, -1, -1, 0});
  expect(converted(f32({2}, {0.5F, 0}), DType::boolean), {2}, {1, 0});
  EXPECT_EQ(converted(f32({1}, {1.0F}), DType::f16)->at<std::uint16_t>(0), 0x3c00);
}

TEST(Fold, TensorsWithoutElementsMayHaveAnyDims) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 40;
  const TensorPtr none = f32({0, kHuge, kHuge}, {});
  expect(run("Slice", {none, vec({0, 5, 5}), vec({0, kHuge, kHuge})}), {0, kHuge - 5, kHuge - 5}, {});
  expect(run("Expand", {none, vec({0, kHuge, kHuge})}), {0, kHuge, kHuge}, {});
  expect(run("Gather", {none, vec({3, 4})}, {{"axis", std::int64_t{1}}}), {0, 2, kHuge}, {});
}

TEST(Fold, DoesNotBlowUpConstants) {
  EXPECT_EQ(run("Tile", {f32({1}, {0}), vec({1 << 20})}), nullptr);
  EXPECT_EQ(run("Expand", {f32({1}, {0}), vec({1 << 20})}), nullptr);
}

TEST(Fold, BitsOfIntegers) {
  const auto u8 = [](std::vector<std::uint8_t> v) {
    return Tensor::of<std::uint8_t>({static_cast<std::int64_t>(v.size())}, v);
  };
  const auto i8 = [](std::vector<std::int8_t> v) {
    return Tensor::of<std::int8_t>({static_cast<std::int64_t>(v.size())}, v);
  };
  expect(run("BitwiseAnd", {i8({-62, 70, -1}), i8({15})}), {3}, {2, 6, 15});
  expect(run("BitwiseOr", {i8({-62, 70, 0}), i8({15})}), {3}, {-49, 79, 15});
  expect(run("BitwiseXor", {i8({-62, 70, -128}), i8({8})}), {3}, {-54, 78, -120});
  expect(run("BitwiseNot", {i8({-62, 0, 127})}), {3}, {61, -1, -128});
  expect(run("BitwiseNot", {u8({0, 200})}), {2}, {255, 55});
  const Attrs left = {{"direction", std::string("LEFT")}}, right = {{"direction", std::string("RIGHT")}};
  expect(run("BitShift", {u8({200, 3, 255}), u8({4})}, right), {3}, {12, 0, 15});
  expect(run("BitShift", {u8({200, 3, 255}), u8({0, 7, 1})}, left), {3}, {200, 128, 254});
  EXPECT_EQ(run("BitShift", {u8({200}), u8({8})}, right), nullptr)
      << "by all bits: what that gives is the runtime's";
}

TEST(Fold, UniqueTellsWhereEachValueStands) {
  const auto in_order = fold("Unique", {vec({3, 1, 3, 2, 1})}, {{"sorted", std::int64_t{0}}}, 21);
  ASSERT_TRUE(in_order && in_order->size() == 4);
  expect(in_order->at(0), {3}, {3, 1, 2});
  expect(in_order->at(1), {3}, {0, 1, 3});
  expect(in_order->at(2), {5}, {0, 1, 0, 2, 1});
  expect(in_order->at(3), {3}, {2, 2, 1});
  const auto sorted = fold("Unique", {vec({3, 1, 3, 2, 1})}, {}, 21);
  ASSERT_TRUE(sorted && sorted->size() == 4);
  expect(sorted->at(0), {3}, {1, 2, 3});
  expect(sorted->at(1), {3}, {1, 3, 0});
  expect(sorted->at(2), {5}, {2, 0, 2, 1, 0});
  expect(run("Unique", {vec({})}), {0}, {});
  EXPECT_EQ(run("Unique", {i64({1, 2}, {1, 1})}), nullptr);  // rows, or all of it
  EXPECT_EQ(run("Unique", {f32({2}, {1, 1})}), nullptr);     // NaN
}

TEST(Fold, PlacesOfListsAreFoundAndFilled) {
  expect(run("NonZero", {vec({0, 5, 0, -1})}), {1, 2}, {1, 3});
  expect(run("NonZero", {vec({0})}), {1, 0}, {});
  EXPECT_EQ(run("NonZero", {i64({1, 1}, {1})}), nullptr);
  expect(run("ScatterElements", {vec({0, 0, 0}), vec({2, -3, 2}), vec({7, 8, 9})}), {3}, {8, 0, 9});
  EXPECT_EQ(run("ScatterElements", {vec({0, 0}), vec({2}), vec({7})}), nullptr);  // no such place
  const Attrs add = {{"reduction", std::string("add")}};
  EXPECT_EQ(run("ScatterElements", {vec({0}), vec({0}), vec({7})}, add), nullptr);
}

TEST(Fold, Masks) {
  const TensorPtr x = i64({2, 3}, {1, 2, 3, 4, 5, 6});
  const Attrs lower = {{"upper", std::int64_t{0}}};
  expect(run("Trilu", {x}), {2, 3}, {1, 2, 3, 0, 5, 6});
  expect(run("Trilu", {x}, lower), {2, 3}, {1, 0, 0, 4, 5, 0});
  expect(run("Trilu", {x, i64({}, {1})}), {2, 3}, {0, 2, 3, 0, 0, 6});
  expect(run("Trilu", {x, i64({}, {-1})}, lower), {2, 3}, {0, 0, 0, 4, 0, 0});
  const TensorPtr y = run("Trilu", {f32({2, 2, 2}, {1, NAN, 3, 4, 5, INFINITY, 7, 8})}, lower);
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(y->to_floats(), (std::vector<double>{1, 0, 3, 4, 5, 0, 7, 8}));
  EXPECT_EQ(run("Trilu", {x, i64({}, {std::numeric_limits<std::int64_t>::min()})}), nullptr);
}

TEST(Fold, SumsThatRunOn) {
  const TensorPtr x = i64({2, 3}, {1, 2, 3, 4, 5, 6});
  expect(run("CumSum", {x, i64({}, {1})}), {2, 3}, {1, 3, 6, 4, 9, 15});
  expect(run("CumSum", {x, i64({}, {0})}), {2, 3}, {1, 2, 3, 5, 7, 9});
  expect(run("CumSum", {x, i64({}, {-1})}, {{"reverse", std::int64_t{1}}, {"exclusive", std::int64_t{1}}}),
         {2, 3}, {5, 3, 0, 11, 6, 0});
  EXPECT_EQ(run("CumSum", {x, i64({}, {2})}), nullptr);
  const TensorPtr y = run("CumSum", {f32({3}, {1, 2, 4}), i64({}, {0})});
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(y->to_floats(), (std::vector<double>{1, 3, 7}));
}

TEST(Fold, SoftmaxOfRows) {
  const TensorPtr y = run("Softmax", {f32({2, 2}, {0, 0, 1, -INFINITY})});
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(y->to_floats(), (std::vector<double>{0.5, 0.5, 1, 0}));
  EXPECT_FALSE(fold("Softmax", {f32({2}, {0, 0})}, {}, 12));  // over all axes behind the first
}

TEST(Fold, Margins) {
  const TensorPtr x = f32({1, 2}, {1, 2});
  const TensorPtr y = run("Pad", {x, vec({1, 0, 0, 1}), f32({}, {9})});
  ASSERT_NE(y, nullptr);
  EXPECT_EQ(y->dims(), (Ints{2, 3}));
  EXPECT_EQ(y->to_floats(), (std::vector<double>{9, 9, 9, 1, 2, 9}));
  EXPECT_EQ(run("Pad", {x, vec({1, 0, 0, -1})}), nullptr);  // takes away
  EXPECT_EQ(run("Pad", {x, vec({1, 0, 0, 1})}, {{"mode", std::string("edge")}}), nullptr);
  EXPECT_EQ(run("Pad", {x, vec({0, 65536, 0, 0})}), nullptr);  // too big
}

TEST(Fold, SignsOfIntegers) { expect(run("Sign", {vec({-3, 0, 7})}), {3}, {-1, 0, 1}); }

TEST(Fold, Einsums) {
  const auto run_it = [](const char* equation, const std::vector<TensorPtr>& in) {
    return run("Einsum", in, {{"equation", std::string(equation)}});
  };
  const TensorPtr x = f32({2}, {1, 2}), y = f32({3}, {3, 4, 5}), m = f32({2, 3}, {1, 2, 3, 4, 5, 6});
  const auto is = [](const TensorPtr& t, const Ints& dims, const std::vector<double>& v) {
    ASSERT_NE(t, nullptr);
    EXPECT_EQ(t->dims(), dims);
    EXPECT_EQ(t->to_floats(), v);
  };
  is(run_it("i,j->ij", {x, y}), {2, 3}, {3, 4, 5, 6, 8, 10});
  is(run_it("i, j -> j i", {x, y}), {3, 2}, {3, 6, 4, 8, 5, 10});
  is(run_it("ij,j->i", {m, y}), {2}, {26, 62});
  is(run_it("ij,kj->ik", {m, m}), {2, 2}, {14, 32, 32, 77});
  is(run_it("ij->", {m}), {}, {21});
  is(run_it("ii->i", {f32({2, 2}, {1, 2, 3, 4})}), {2}, {1, 4});
  is(run_it("i,i,i->", {x, x, x}), {}, {9});
  EXPECT_EQ(run_it("i,j", {x, y}), nullptr);
  EXPECT_EQ(run_it("...i,i->...", {m, y}), nullptr);
  EXPECT_EQ(run_it("i,j->ik", {x, y}), nullptr);
  EXPECT_EQ(run_it("i,j->ii", {x, y}), nullptr);
  EXPECT_EQ(run_it("i,i->i", {x, y}), nullptr);
  EXPECT_EQ(run_it("ij,j->i", {x, y}), nullptr);
  EXPECT_EQ(run_it("i->i->i", {x}), nullptr);
  const TensorPtr big = f32({2048}, std::vector<float>(2048, 1));
  EXPECT_EQ(run_it("i,j->ij", {big, big}), nullptr);
}

TEST(Fold, NumbersOf64BitsWithoutSign) {
  const auto u64 = [](std::vector<std::uint64_t> v) {
    return Tensor::of<std::uint64_t>({static_cast<std::int64_t>(v.size())}, v);
  };
  const std::uint64_t top = std::uint64_t{1} << 63;
  const auto first = [](const TensorPtr& t) { return t ? t->at<std::uint64_t>(0) : 0xbad; };
  EXPECT_EQ(first(run("Add", {u64({top}), u64({top + 5})})), 5U);
  EXPECT_EQ(first(run("Mul", {u64({top + 3}), u64({3})})), top + 9);
  EXPECT_EQ(first(run("BitwiseAnd", {u64({top + 3}), u64({top + 5})})), top + 1);
  EXPECT_EQ(first(run("BitShift", {u64({top}), u64({63})}, {{"direction", std::string("RIGHT")}})), 1U);
  EXPECT_EQ(run("Div", {u64({top}), u64({2})}), nullptr);
  EXPECT_EQ(run("Mod", {u64({top}), u64({3})}), nullptr);
}

}  // namespace
}  // namespace t2o::onnx
