#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes kAll = {f32, f64, f16, bf16, i8, u8, i16, u16, i32, u32, i64, u64, boolean};

TEST(Shape, Passing) {
  for (const char* op : {"Identity", "StopGradient", "Snapshot", "GuaranteeConst"}) op_case(op).in(any, {2, 3}).dtypes(kAll).check();
  op_case("PreventGradient").in(f32, {2, 3}).attr("message", "no").check();
  op_case("IdentityN").in(f32, {2, 3}).in(i32, {4}).as_list(2).check();
  op_case("CheckNumerics").in(f32, {2, 3}).attr("message", "bad").check();
  op_case("PlaceholderWithDefault").in(f32, {2, 3}, constant).attr("shape", Shape({2, 3})).check();
}

TEST(Shape, ShapeSizeRank) {
  for (const DType out : {i32, i64}) {
    op_case("Shape").in(f32, {2, 3, 4}).attr("out_type", out).empty().check();
    op_case("Size").in(f32, {2, 3, 4}).attr("out_type", out).empty().check();
    op_case("ShapeN").in(f32, {2, 3}).in(f32, {4}).as_list(2).attr("out_type", out).check();
  }
  op_case("Shape").in(any, {2, 3}).dtypes(kAll).check();
  op_case("Shape").strings({2}, {"a", "b"}).check();
  op_case("Shape").in(f32, {}).check();
  op_case("Rank").in(f32, {2, 3, 4}).check();
  op_case("Rank").in(f32, {}).check();
}

// A cache is empty at first: a size of 0 is one, wherever it stands, and whether it is known when converting or not.
TEST(Shape, ReshapeOfACache) {
  for (const std::int64_t k : {0, 2}) {
    graph_case("cache", [=](Builder& b) {
      const std::string x = b.input(f32, {2, 3, k, 4}), more = b.input(f32, {6, 1, 4});
      const std::string dims = b.op("Shape", {x}, {{"out_type", i32}}, "dims");
      const auto size = [&](int axis) {
        const std::string one = b.constant_of<std::int32_t>({1}, {1}), at = b.constant_of<std::int32_t>({1}, {axis}), end = b.constant_of<std::int32_t>({1}, {axis + 1});
        return b.op("StridedSlice", {dims, at, end, one}, {{"shrink_axis_mask", std::int64_t{1}}});
      };
      const std::string rows = b.op("Mul", {size(0), size(1)});
      const std::string list = b.op("Pack", {Strings{rows, size(2), b.const_input(Tensor::scalar<std::int32_t>(4))}}, {{"axis", std::int64_t{0}}});
      const std::string flat = b.op("Reshape", {x, list});
      b.output(b.op("ConcatV2", {Strings{flat, more}, b.const_input(Tensor::scalar<std::int32_t>(1))}));
    }).only_opsets({11, 12, 13, 14, 18, 26}).check();
  }
}

// What is appended to an empty cache may be empty as well.
TEST(Shape, ReshapeOfAJoinedCache) {
  for (const std::int64_t k : {0, 2})
    graph_case("joined cache", [=](Builder& b) {
      const std::string x = b.input(f32, {2, 3, k, 4}), more = b.input(f32, {2, 3, k, 4});
      const std::string all = b.op("ConcatV2", {Strings{x, more}, b.const_input(Tensor::scalar<std::int32_t>(2))});
      const std::string dims = b.op("Shape", {all}, {{"out_type", i32}}, "dims"), one = b.constant_of<std::int32_t>({1}, {1});
      const auto size = [&](int axis) {
        const std::string at = b.constant_of<std::int32_t>({1}, {axis}), end = b.constant_of<std::int32_t>({1}, {axis + 1});
        return b.op("StridedSlice", {dims, at, end, one}, {{"shrink_axis_mask", std::int64_t{1}}});
      };
      const std::string rows = b.op("Mul", {size(0), size(1)});
      b.output(b.op("Reshape", {all, b.op("Pack", {Strings{rows, size(2), b.const_input(Tensor::scalar<std::int32_t>(4))}}, {{"axis", std::int64_t{0}}})}));
    }).only_opsets({11, 13, 14, 26}).check();
}

TEST(Shape, Reshape) {
  op_case("Reshape").in(any, {2, 6}).i32s({3, 4}).dtypes(kAll).check();
  op_case("Reshape").in(f32, {2, 6}).i32s({-1, 4}).check();
  op_case("Reshape").in(f32, {2, 6}).ints({-1}).empty().check();
  op_case("Reshape").in(f32, {1, 1}).i32s({}).check();
  op_case("Reshape").in(f32, {2, 6}).i32s({4, -1}, fed).check();
  op_case("Reshape").in(f32, {0, 6}).i32s({0, 3}).check();
  op_case("Reshape").in(f32, {0, 6}).i32s({3, -1}).check();
  op_case("Reshape").in(f32, {0, 6}).i32s({3, 0, 2}, fed).check();
  op_case("Reshape").in(any, {0, 6}).i32s({3, 4, 0}, fed).dtypes({f32, i8, boolean}).check();
  op_case("Reshape").in(f32, {0, 6}).i32s({-1, 2}, fed).check();
  op_case("Reshape").strings({0, 2}, {}).i32s({2, 0, 1}, fed).check();
  op_case("Reshape").in(f32, {}).i32s({1, 1}, fed).check();
  op_case("Reshape").strings({2, 2}, {"a", "b", "c", "d"}).i32s({4}).check();
  op_case("Reshape").in(any, {0, 3}).i32s({0, -1}).dtypes({f32, i64, boolean}).note("TensorFlow gives [0, 3]").check();
  op_case("Reshape").in(f32, {2, 0, 6}).ints({-1, 3, 0}).check();
}

TEST(Shape, ReshapeToPartOfAShape) {
  for (const std::int64_t batch : {2, 0})
    for (const std::int32_t rest : {12, -1})
      graph_case("flatten by Shape and Pack", [batch, rest](Builder& b) {
        const std::string x = b.input(f32, {batch, 3, 4});
        const auto scalar = [&](std::int32_t v) { return b.constant_of<std::int32_t>({1}, {v}); };
        const std::string size = b.op("StridedSlice", {b.op("Shape", {x}), scalar(0), scalar(1), scalar(1)}, {{"shrink_axis_mask", std::int64_t{1}}});
        const std::string shape = b.op("Pack", {Strings{size, b.constant_of<std::int32_t>({}, {rest})}});
        b.output(b.op("Reshape", {x, shape}));
      }).since(batch == 0 && rest == -1 ? 14 : 11).check();
}

TEST(Shape, ExpandDimsSqueeze) {
  for (const int axis : {0, 1, 2, -1, -3}) op_case("ExpandDims").in(f32, {2, 3}).scalar<std::int32_t>(axis).check();
  op_case("ExpandDims").in(any, {2, 3}).i32s({1}).dtypes(kAll).check();
  op_case("ExpandDims").in(f32, {2, 3}).scalar<std::int32_t>(-2, fed).check();
  for (const std::int64_t axis : {0, 2, -1}) op_case("ExpandDims").in(any, {2, 3}).scalar(axis, fed).dtypes({f32, boolean}).empty().check();
  op_case("ExpandDims").in(f32, {}).scalar<std::int64_t>(-1, fed).check();
  op_case("ExpandDims").in(f32, {}).scalar<std::int64_t>(0).check();
  op_case("Squeeze").in(f32, {1, 3, 1, 2}).check();
  op_case("Squeeze").in(f32, {2, 3}).check();
  op_case("Squeeze").in(any, {1, 3, 1, 2}).attr("squeeze_dims", Ints{-2}).dtypes(kAll).check();
  op_case("Squeeze").in(f32, {1, 3, 1, 2}).attr("squeeze_dims", Ints{0, 2}).check();
}

TEST(Shape, Transpose) {
  op_case("Transpose").in(any, {2, 3, 4}).i32s({2, 0, 1}).dtypes(kAll).check();
  op_case("Transpose").in(f32, {2, 3, 4}).ints({0, 1, 2}).check();
  op_case("Transpose").in(f32, {}).i32s({}).check();
  op_case("Transpose").in(f32, {2, 3, 4}).i32s({-1, 0, 1}).check();
  op_case("ConjugateTranspose").in(f32, {2, 3, 4}).i32s({-2, -3, 2}).check();
  op_case("ConjugateTranspose").in(f32, {2, 3}).i32s({1, 0}).check();
  op_case("Transpose").in(f32, {2, 3, 4}).i32s({2, 0, 1}, fed).check();
  op_case("Transpose").strings({2, 2}, {"a", "b", "c", "d"}).i32s({1, 0}).check();
}

TEST(Shape, TransposeByDefaultPerm) {
  graph_case("reversed axes", [](Builder& b) {
    const std::string x = b.input(f32, {2, 3, 4});
    const std::string rank = b.op("Rank", {x});
    const auto scalar = [&](std::int32_t v) { return b.constant_of<std::int32_t>({}, {v}); };
    const std::string range = b.op("Range", {scalar(0), rank, scalar(1)});
    b.output(b.op("Transpose", {x, b.op("Sub", {b.op("Sub", {rank, scalar(1)}), range})}));
  }).check();
}

TEST(Shape, Broadcasting) {
  op_case("BroadcastTo").in(any, {3, 1}).i32s({2, 3, 4}).dtypes(kAll).check();
  op_case("BroadcastTo").in(f32, {}).ints({2, 3}).check();
  op_case("BroadcastTo").in(f32, {2, 1}).i32s({2, 0}).check();
  op_case("BroadcastTo").in(f32, {3, 1}).i32s({2, 3, 4}, fed).check();
  op_case("BroadcastArgs").i32s({3, 1, 5}, fed).i32s({2, 5}, fed).check();
  op_case("BroadcastArgs").ints({3, 1}, fed).ints({2, 1, 0}, fed).check();
  op_case("InvertPermutation").i32s({2, 0, 3, 1}, fed).check();
  op_case("InvertPermutation").ints({2, 0, 1}, fed).check();
  op_case("UnravelIndex").i32s({22, 41, 37}, fed).i32s({7, 6}).check();
  op_case("UnravelIndex").scalar<std::int64_t>(22, fed).ints({3, 4, 5}).check();
  op_case("UnravelIndex").i32s({22, 41, 37, 0}, fed).i32s({7, 2, 3}, fed).check();
  op_case("UnravelIndex").scalar<std::int64_t>(59, fed).ints({3, 4, 5}, fed).check();
}

// Of them the importer leaves nothing but their input.
TEST(Shape, WhatPassesOn) {
  for (const DType t : {f32, i64, c64}) {
    for (const char* op : {"StopGradient", "PreventGradient", "Snapshot", "DeepCopy"})
      op_case(op).in(t, {2, 3}).check();
    op_case("EnsureShape").in(t, {2, 3}).attr("shape", Shape({2, kUnknownDim})).check();
    op_case("PlaceholderWithDefault").in(t, {2, 3}).attr("shape", Shape({2, 3})).check();
    op_case("Print").in(t, {2, 3}).in(f32, {2}).as_list(1).attr("first_n", 0).check();
    op_case("IdentityN").in(t, {2, 3}).in(f32, {2}).as_list(2).check();
  }
  for (const char* op : {"CheckNumerics", "CheckNumericsV2"})
    op_case(op).in(any, {2, 3}).dtypes({f32, f16}).attr("message", "").check();
}

}  // namespace
}  // namespace t2o::numeric
