#include <gtest/gtest.h>

#include <functional>

#include "harness.h"

namespace t2o::numeric {
namespace {

TEST(MatMul, Transposes) {
  for (const bool a : {false, true})
    for (const bool b : {false, true})
      op_case("MatMul")
          .in(f32, a ? Ints{4, 3} : Ints{3, 4})
          .in(f32, b ? Ints{5, 4} : Ints{4, 5})
          .attr("transpose_a", a)
          .attr("transpose_b", b)
          .check();
}

TEST(MatMul, Dtypes) {
  op_case("MatMul")
      .in(any, {3, 4})
      .in(any, {4, 5}, constant)
      .dtypes({f32, f64, f16, i32, i64})
      .empty()
      .check();
  op_case("MatMul").in(bf16, {3, 4}).in(bf16, {4, 5}).since(13).check();
}

TEST(MatMul, NothingToSum) { op_case("MatMul").in(f32, {2, 0}).in(f32, {0, 3}).check(); }

TEST(BatchMatMul, AdjointsAndBroadcasting) {
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      op_case("BatchMatMul")
          .in(f32, a ? Ints{2, 4, 3} : Ints{2, 3, 4})
          .in(f32, b ? Ints{2, 5, 4} : Ints{2, 4, 5})
          .attr("adj_x", a)
          .attr("adj_y", b)
          .empty()
          .check();
      op_case("BatchMatMulV2")
          .in(f32, a ? Ints{6, 1, 4, 3} : Ints{6, 1, 3, 4})
          .in(f32, b ? Ints{2, 5, 4} : Ints{2, 4, 5})
          .attr("adj_x", a)
          .attr("adj_y", b)
          .check();
    }
  op_case("BatchMatMulV2").in(any, {2, 3, 4}).in(any, {4, 5}).dtypes({f64, f16, i32, i64, i16}).check();
}

// Which ONNX Runtime does not broadcast: known, it is nothing to compute.
TEST(BatchMatMul, ABatchOfNothingBesideOne) {
  op_case("BatchMatMulV2").in(f32, {0, 0, 4, 5, 1}).in(f32, {0, 1, 4, 1, 1}, constant).without({Mode::batch, Mode::dims, Mode::rank}).check();
  op_case("BatchMatMulV2").in(f32, {3, 2}).in(f32, {0, 2, 4}).without({Mode::batch, Mode::dims, Mode::rank}).check();
  op_case("BatchMatMulV2").in(f32, {1, 3, 0}).in(f32, {5, 0, 4}).without({Mode::batch, Mode::dims, Mode::rank}).check();
  for (const bool adj : {false, true})  // 1 beside a batch that is 0 when the model runs
    op_case("BatchMatMulV2").in(f32, {3, 4}, constant).in(f32, adj ? Ints{2, 5, 4} : Ints{2, 4, 5}).attr("adj_y", adj).empty()
        .without({Mode::rank}).check();
  op_case("BatchMatMulV2").in(f32, {2, 1, 3, 4}).in(f32, {1, 3, 4, 5}, constant).empty().without({Mode::rank}).check();
  op_case("BatchMatMulV2").in(i32, {1, 3, 4}, constant).in(i32, {2, 4, 5}).empty().without({Mode::rank}).check();
}

TEST(BatchMatMul, AnEmptyBatchBesideAMatrix) {
  for (const bool adj : {false, true})
    op_case("BatchMatMulV2").in(f32, {0, 3, 2}).in(f32, adj ? Ints{4, 3} : Ints{3, 4}).attr("adj_x", true).attr("adj_y", adj).check();
}

TEST(BatchMatMulV3, ResultType) {
  op_case("BatchMatMulV3").in(i8, {2, 3, 4}).in(i8, {4, 5}).attr("Tout", i32).check();
  op_case("BatchMatMulV3").in(f32, {2, 3, 4}).in(f32, {4, 5}).attr("Tout", f32).check();
}

TEST(SparseMatMul, MixedTypes) {
  op_case("SparseMatMul").in(f32, {3, 4}).in(bf16, {4, 5}).attr("a_is_sparse", true).since(13).check();
  op_case("SparseMatMul")
      .in(f32, {4, 3})
      .in(f32, {5, 4})
      .attr("transpose_a", true)
      .attr("transpose_b", true)
      .check();
}

TEST(Cross, LastAxis) {
  op_case("Cross").in(any, {2, 4, 3}).in(any, {2, 4, 3}).dtypes({f32, f64, i32, i64, u8, i8}).empty().check();
}

TEST(MatrixDeterminant, Batches) {
  op_case("MatrixDeterminant").in(f32, {3, 3}).check();
  op_case("MatrixDeterminant").in(f32, {2, 4, 4}).tol(1e-3, 1e-3).check();
}

// What TensorFlow's optimizer makes of a MatMul and what follows.
TEST(MatMul, Fused) {
  const auto fused = [](Strings ops) {
    return op_case("_FusedMatMul")
        .in(f32, {5, 3})
        .in(f32, {3, 4}, constant)
        .in(f32, {4}, constant)
        .as_list(1)
        .attr("num_args", 1)
        .attr("fused_ops", std::move(ops));
  };
  fused({"BiasAdd"}).check();
  for (const char* activation : {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid"})
    fused({"BiasAdd", activation}).check();
  fused({"BiasAdd", "LeakyRelu"}).attr("leakyrelu_alpha", 0.3f).check();
  op_case("_FusedMatMul")
      .in(f32, {3, 5})
      .in(f32, {4, 3})
      .in(f32, {4})
      .as_list(1)
      .attr("num_args", 1)
      .attr("fused_ops", Strings{"BiasAdd"})
      .attr("transpose_a", true)
      .attr("transpose_b", true)
      .check();
}

// A dense layer with a normalization of its channels, or a scale and a shift: one product and one sum.
TEST(MatMul, WithScaleAndShift) {
  const auto dense = [](DType t, bool has_bias, const std::function<std::string(Builder&, std::string)>& behind) {
    return graph_case("a scaled product", [=](Builder& b) {
      std::string y = b.op("BatchMatMulV2", {b.input(t, {2, 3, 4, 5}), b.const_input(t, {5, 6})});
      if (has_bias) y = b.op("AddV2", {y, b.const_input(t, {6})});
      b.output(b.op("Tanh", {behind(b, y)}));
    });
  };
  const auto normalized = [](Builder& b, const std::string& x) {
    const auto numbers = [&](float first) {
      return b.constant_of<float>({6}, {first, first + 0.3F, first + 0.1F, first + 0.7F, first + 0.2F, first + 0.9F});
    };
    return b.op("FusedBatchNormV3", {x, numbers(0.5F), numbers(-0.4F), numbers(-0.2F), numbers(0.6F)},
                {{"is_training", false}, {"epsilon", 1e-3F}});
  };
  for (const bool has_bias : {false, true}) {
    dense(f32, has_bias, normalized).gives({{"MatMul", 1}, {"Add", 1}, {"BatchNormalization", 0}, {"Transpose", 0}}).check();
    for (const DType t : {f32, f64})
      dense(t, has_bias, [t](Builder& b, const std::string& x) {
        return b.op("Sub", {b.const_input(t, {6}), b.op("Mul", {x, b.const_input(t, {1, 6})})});
      }).gives({{"MatMul", 1}, {"Add", 1}, {"Mul", 0}, {"Sub", 0}}).check();
  }
}

}  // namespace
}  // namespace t2o::numeric
