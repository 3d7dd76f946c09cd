#include <gtest/gtest.h>

#include "harness.h"

namespace t2o::numeric {
namespace {

const DTypes complexes = {c64, c128};

TEST(ComplexMath, Arithmetic) {
  for (const char* op : {"Add", "AddV2", "Sub", "Mul", "RealDiv", "Div", "DivNoNan", "MulNoNan",
                         "SquaredDifference", "Xdivy", "Xlogy", "Xlog1py"})
    op_case(op).in(any, {2, 3}).in(any, {3}).dtypes(complexes).check();
  op_case("AddN").in(any, {2, 3}).in(any, {2, 3}).in(any, {2, 3}).as_list(3).dtypes(complexes).check();
  op_case("Mul").in(any, {}).in(any, {0, 3}).dtypes(complexes).check();
}

TEST(ComplexMath, QuotientsThatCouldOverflow) {
  graph_case("quotient", [](Builder& b) {
    const std::string re = b.input(verify::tensor_of(f32, {3}, {1e30, 1e-30, 3}));
    const std::string im = b.input(verify::tensor_of(f32, {3}, {-2e30, 1e-30, 4}));
    const std::string z = b.op("Complex", {re, im}, {{"Tout", c64}});
    b.output(b.op("RealDiv", {z, z}));
  }).check();
}

TEST(ComplexMath, Zeros) {
  graph_case("zero divisors", [](Builder& b) {
    const std::string z = b.input(c64, {2});
    const std::string zero = b.op("ZerosLike", {z});
    b.output(b.op("DivNoNan", {z, zero}));
    b.output(b.op("MulNoNan", {z, zero}));
    b.output(b.op("Xdivy", {zero, z}));
    b.output(b.op("Xlogy", {zero, z}));
    b.output(b.op("Sqrt", {zero}));
    b.output(b.op("Sign", {zero}));
    b.output(b.op("Pow", {zero, zero}));
    b.output(b.op("Pow", {z, zero}));
    b.output(b.op("Pow", {zero, b.op("OnesLike", {z})}));
  }).check();
}

TEST(ComplexMath, RealFactors) {
  graph_case("real", [](Builder& b) {
    const std::string z = b.input(c64, {2, 3});
    const std::string real = b.op("Cast", {b.input(f32, {3})}, {{"DstT", c64}});
    const std::string number =
        b.op("Complex", {b.constant_of<float>({}, {2}), b.constant_of<float>({}, {0})}, {{"Tout", c64}});
    b.output(b.op("Mul", {z, real}));
    b.output(b.op("Mul", {real, z}));
    b.output(b.op("Mul", {real, number}));
    b.output(b.op("RealDiv", {z, number}));
    b.output(b.op("RealDiv", {number, z}));
  }).check();
}

TEST(ComplexMath, Gradients) {
  for (const char* op : {"TanhGrad", "SigmoidGrad", "ReciprocalGrad", "InvGrad", "SqrtGrad", "RsqrtGrad"})
    op_case(op).in(any, {4, 5}).in(any, {4, 5}).dtypes(complexes).tol(1e-4, 1e-4).check();
}

TEST(ComplexMath, PlacesAndNorms) {
  graph_case("places", [](Builder& b) {
    const std::string re = b.input(verify::tensor_of(f32, {2, 2}, {0, 1, 0, 2}));
    const std::string im = b.input(verify::tensor_of(f32, {2, 2}, {0, 0, -1, 3}));
    b.output(b.op("Where", {b.op("Complex", {re, im}, {{"Tout", c64}})}));
  }).check();
  op_case("EuclideanNorm").in(any, {2, 3, 4}).i32s({0, -1}).dtypes(complexes).check();
  op_case("EuclideanNorm").in(c64, {2, 3}).i32s({1}).attr("keep_dims", true).check();
  for (const bool adjoint_a : {false, true})
    for (const bool adjoint_b : {false, true})
      op_case("SparseTensorDenseMatMul").values<std::int64_t>({3, 2}, {0, 0, 1, 2, 2, 1}).in(c64, {3}).ints({3, 3}).in(c64, {3, 3})
          .attr("adjoint_a", adjoint_a).attr("adjoint_b", adjoint_b).check();
}

TEST(ComplexMath, InverseFunctions) {
  for (const char* op : {"Asin", "Acos", "Atan", "Asinh", "Acosh", "Atanh"}) {
    op_case(op).in(any, {4, 5}).dtypes(complexes).tol(1e-4, 1e-4).check();
    graph_case(std::string(op) + " on the axes", [op](Builder& b) {
      const std::string re = b.input(verify::tensor_of(f32, {10}, {2, -2, 0.5, -0.5, 0, 0, 0, 0, 2, -2}));
      const std::string im = b.input(verify::tensor_of(f32, {10}, {0, 0, 0, 0, 2, -2, 0.5, -0.5, 3, -3}));
      b.output(b.op(op, {b.op("Complex", {re, im}, {{"Tout", c64}})}));
    }).check();
  }
}

TEST(ComplexMath, Functions) {
  for (const char* op : {"Neg", "Square", "Reciprocal", "Inv", "Exp", "Log", "Sqrt", "Rsqrt", "Log1p",
                         "Expm1", "Sin", "Cos", "Tan", "Sinh", "Cosh", "Tanh", "Sigmoid", "Sign"})
    op_case(op).in(any, {4, 5}).dtypes(complexes).tol(1e-4, 1e-4).check();
  op_case("Pow").in(any, {4, 5}).in(any, {5}).dtypes(complexes).tol(1e-3, 1e-4).check();
}

TEST(ComplexMath, Comparison) {
  graph_case("equal", [](Builder& b) {
    const std::string z = b.input(c64, {2, 3});
    const std::string same = b.op("Conj", {z});
    b.output(b.op("Equal", {z, z}));
    b.output(b.op("Equal", {z, same}));
    b.output(b.op("NotEqual", {z, same}));
  }).check();
}

TEST(ComplexMath, Reductions) {
  for (const char* op : {"Sum", "Mean"}) {
    op_case(op).in(any, {2, 3, 4}).i32s({-1}).dtypes(complexes).check();
    op_case(op).in(any, {2, 3, 4}).i32s({0, -2}).attr("keep_dims", true).dtypes(complexes).check();
  }
  op_case("Cumsum").in(any, {2, 3}).scalar<std::int32_t>(-1).dtypes(complexes).check();
}

TEST(ComplexMath, ProductsAlongAxes) {
  op_case("Prod").in(any, {2, 3, 4}).i32s({-1}).dtypes(complexes).check();
  op_case("Prod").in(any, {2, 3, 4}).i32s({0, -2}).attr("keep_dims", true).dtypes(complexes).check();
  op_case("Cumprod").in(c64, {2, 3}).scalar<std::int32_t>(-1).attr("exclusive", true).since(26).check();
  op_case("Cumprod").in(c64, {2, 3}).scalar<std::int32_t>(1).without({Mode::dims, Mode::rank}).check();
}

TEST(ComplexMath, Products) {
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      op_case("MatMul")
          .in(any, a ? Ints{4, 2} : Ints{2, 4})
          .in(any, b ? Ints{3, 4} : Ints{4, 3})
          .attr("transpose_a", a)
          .attr("transpose_b", b)
          .dtypes(complexes)
          .check();
      for (const char* op : {"BatchMatMul", "BatchMatMulV2"})
        op_case(op)
            .in(any, a ? Ints{2, 4, 2} : Ints{2, 2, 4})
            .in(any, b ? Ints{2, 3, 4} : Ints{2, 4, 3})
            .attr("adj_x", a)
            .attr("adj_y", b)
            .dtypes(complexes)
            .check();
    }
  op_case("BatchMatMulV3").in(c64, {2, 2, 4}).in(c64, {4, 3}).attr("Tout", c64).check();
  op_case("Einsum").in(c64, {2, 3, 4}).in(c64, {4, 5}).as_list(2).attr("equation", "bij,jk->bik").check();
  op_case("Einsum").in(c64, {2, 3}).as_list(1).attr("equation", "ij->ji").check();
}

}  // namespace
}  // namespace t2o::numeric
