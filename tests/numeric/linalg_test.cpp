#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "harness.h"
#include "old_ops.h"

namespace t2o::numeric {
namespace {

const std::vector<float> kNeedsExchange = {0, 2, 1, 3, 0, -1, 1, 4, 0};

TEST(Linalg, MatrixInverse) {
  const std::string op = "MatrixInverse";
  op_case(op).in(any, {3, 3}).dtypes({f32, f64}).tol(1e-3, 1e-3).check();
  op_case(op).values<float>({3, 3}, kNeedsExchange).check();
  op_case(op).values<float>({3, 3}, kNeedsExchange).attr("adjoint", true).check();
  op_case(op).in(f64, {2, 3, 5, 5}).tol(1e-6, 1e-6).check();
  op_case(op).in(f64, {2, 3, 3}).attr("adjoint", true).check();
  op_case(op).in(f32, {1, 1}).range(1, 2).check();
  op_case(op).in(f64, {17, 17}).tol(1e-6, 1e-6).only_opsets({11, 18}).check();
  op_case(op).in(f32, {0, 3, 3}).only_opsets({11, 18, 26}).check();
  op_case(op).in(f32, {0, 0}).only_opsets({11, 18, 26}).check();
}

TEST(Linalg, MatrixSolve) {
  for (const bool adjoint : {false, true}) {
    op_case("MatrixSolve").in(f64, {2, 4, 4}).in(f64, {2, 4, 3}).attr("adjoint", adjoint).tol(1e-6, 1e-6).since(adjoint ? 12 : 11).check();
    op_case("MatrixSolve").values<float>({3, 3}, kNeedsExchange).in(f32, {3, 1}).attr("adjoint", adjoint).check();
  }
}

TEST(Linalg, OfComplexNumbers) {
  const DTypes complexes = {c64, c128};
  for (const bool adjoint : {false, true}) {
    op_case("MatrixInverse").in(any, {2, 3, 3}).attr("adjoint", adjoint).dtypes(complexes).tol(1e-3, 1e-3).check();
    op_case("MatrixSolve").in(c128, {2, 4, 4}).in(c128, {2, 4, 3}).attr("adjoint", adjoint).tol(1e-6, 1e-6).check();
    for (const bool lower : {false, true})
      op_case("MatrixTriangularSolve").in(c128, {3, 3}).range(0.5, 1).in(c128, {2, 3, 2}).attr("lower", lower).attr("adjoint", adjoint).tol(1e-6, 1e-6).check();
  }
  op_case("MatrixTriangularSolve").in(c64, {3, 3}).range(0.5, 1).in(c64, {3, 2}).tol(1e-3, 1e-3).check();
  for (const char* op : {"MatrixDeterminant", "LogMatrixDeterminant"}) {
    op_case(op).in(any, {2, 4, 4}).dtypes(complexes).tol(1e-4, 1e-4).check();
    op_case(op).in(c64, {3, 3}).tol(1e-4, 1e-4).check();
    op_case(op).in(c64, {0, 2, 2}).check();
  }
  op_case("TridiagonalMatMul").in(any, {1, 4}).in(any, {1, 4}).in(any, {1, 4}).in(any, {4, 3}).dtypes(complexes).check();
}

// In f32 alone what f32 cannot do would pass too.
double complex_bound(DType t) { return t == c128 ? 1e-9 : 1e-3; }

TEST(Linalg, SolutionsInComplexNumbers) {
  for (const DType t : {c64, c128}) {
    const double bound = complex_bound(t);
    op_case("TridiagonalSolve").in(t, {2, 3, 5}).in(t, {2, 5, 2}).tol(bound, bound).only_opsets({11, 18, 26}).check();
    for (const bool lower : {false, true})
      for (const bool adjoint : {false, true})
        op_case("BandedTriangularSolve").in(t, {2, 3, 5}).range(0.5, 1).in(t, {2, 5, 2}).attr("lower", lower).attr("adjoint", adjoint).tol(bound, bound).only_opsets({11, 18, 26}).check();
  }
  for (const bool fast : {false, true})
    for (const Ints& dims : {Ints{5, 3}, {3, 5}, {2, 4, 4}}) {
      Ints right = dims;
      right.back() = 2;
      op_case("MatrixSolveLs").in(c128, dims).in(c128, right).scalar(0.5, fed).attr("fast", fast).only_opsets({11, 18, 26}).tol(1e-6, 1e-6).check();
    }
}

TEST(Linalg, FactorsOfComplexNumbers) {
  for (const DType index : {i32, i64})
    for (const DType t : {c64, c128}) op_case("Lu").in(t, {2, 4, 4}).attr("output_idx_type", index).tol(complex_bound(t), complex_bound(t)).check();
  for (const bool full : {false, true})
    for (const Ints& dims : {Ints{3, 3}, {5, 3}, {3, 5}, {2, 4, 3}}) op_case("Qr").in(c128, dims).attr("full_matrices", full).since(12).tol(1e-6, 1e-6).check();
  op_case("Qr").in(c64, {4, 3}).since(12).tol(1e-3, 1e-3).check();
}

// Of numbers whose squares are none: 0 or infinite.
Case of_size(const char* op, DType t, double factor) {
  return graph_case(op, [=](Builder& b) {
    const std::string by = b.op("Cast", {b.const_input(Tensor::scalar<double>(factor))}, {{"DstT", t}});
    const std::string y = b.op(op, {b.op("Mul", {b.input(t, {2, 3, 3}), by})});
    for (const std::string& part : {y, y + ":1"}) b.output(part);
  }).only_opsets({12, 18, 26}).note("of the size of the logarithm " + std::to_string(std::log10(factor)));
}

TEST(Linalg, OfSmallAndHugeNumbers) {
  for (const DType t : {f32, f64, c64, c128}) {
    const bool is_exact = t == f64 || t == c128;
    const double bound = is_exact ? 1e-8 : 1e-3;
    for (const double factor : is_exact ? std::vector<double>{1e-300, 1e-200, 1e-165, 1e200} : std::vector<double>{1e-36, 1e-23, 1e-20, 1e23}) {
      of_size("Lu", t, factor).tol(bound, bound * std::min(factor, 1.0)).check();
      of_size("LogMatrixDeterminant", t, factor).tol(bound, bound).check();
      if (factor < 1) of_size("Qr", t, factor).tol(bound, bound).check();  // of huge ones TensorFlow's are NaN
    }
  }
}

TEST(Linalg, DecompositionsOfComplexNumbers) {
  for (const DType t : {c64, c128})
    for (const Ints& dims : {Ints{3, 3}, Ints{2, 4, 4}}) {
      graph_case("positive definite", [t, dims](Builder& b) {
        const std::string a = b.input(t, dims);
        b.output(b.op("Cholesky", {b.op("BatchMatMulV2", {a, a}, {{"adj_y", true}})}));
      }).tol(1e-3, 1e-3).check();
      op_case("SelfAdjointEigV2").in(t, dims).attr("compute_v", false).outputs(1).tol(1e-3, 1e-3).only_opsets({11, 18}).check();
    }
  op_case("Svd").in(any, {2, 3, 4}).attr("compute_uv", false).outputs(1).dtypes({c64, c128}).tol(1e-3, 1e-3).only_opsets({11, 18}).check();
}

TEST(Linalg, MatrixTriangularSolve) {
  for (const bool lower : {false, true})
    for (const bool adjoint : {false, true}) {
      op_case("MatrixTriangularSolve").in(f64, {2, 4, 4}).range(0.5, 1).in(f64, {2, 4, 3}).attr("lower", lower).attr("adjoint", adjoint).tol(1e-6, 1e-6).check();
    }
  op_case("MatrixTriangularSolve").in(f32, {3, 3}).range(0.5, 1).in(f32, {2, 3, 2}).tol(1e-4, 1e-4).check();
  op_case("MatrixTriangularSolve").in(f32, {2, 1, 3, 3}).range(0.5, 1).in(f32, {2, 3, 2}).tol(1e-4, 1e-4).check();
}

TEST(Linalg, Determinants) {
  op_case("MatrixDeterminant").in(f64, {4, 4}).tol(1e-9, 1e-9).check();
  op_case("MatrixDeterminant").in(f64, {2, 3, 3}).tol(1e-9, 1e-9).check();
  op_case("MatrixDeterminant").values<double>({2, 2}, {1, 2, 2, 4}).check();
  for (const DType t : {f32, f64}) {
    op_case("LogMatrixDeterminant").in(t, {4, 4}).tol(1e-4, 1e-4).check();
    op_case("LogMatrixDeterminant").in(t, {2, 3, 3}).tol(1e-4, 1e-4).check();
  }
  op_case("LogMatrixDeterminant").values<float>({3, 3}, kNeedsExchange).check();
  for (const char* op : {"MatrixDeterminant", "LogMatrixDeterminant"}) op_case(op).in(any, {0, 2, 2}).dtypes({f32, f64}).check();
}

TEST(Linalg, Cholesky) {
  const std::vector<double> a = {4, 12, -16, 12, 37, -43, -16, -43, 98};
  op_case("Cholesky").values_as(any, {3, 3}, a).dtypes({f32, f64}).check();
  op_case("Cholesky").values_as(f32, {1, 3, 3}, a).check();
  op_case("Cholesky").values<float>({2, 2}, {4, 1000, 2, 5}).note("the upper triangle is not read").check();
}

TEST(Linalg, Lu) {
  for (const DType index : {i32, i64}) op_case("Lu").in(f64, {2, 4, 4}).attr("output_idx_type", index).check();
  op_case("Lu").values<float>({3, 3}, kNeedsExchange).check();
}

TEST(Linalg, Qr) {
  for (const bool full : {false, true})
    for (const Ints& dims : {Ints{3, 3}, {5, 3}, {3, 5}, {2, 4, 3}}) op_case("Qr").in(f64, dims).attr("full_matrices", full).since(12).tol(1e-6, 1e-6).check();
  op_case("Qr").in(f32, {4, 3}).since(12).tol(1e-4, 1e-4).check();
}

TEST(Linalg, ThreeDiagonals) {
  op_case("TridiagonalMatMul").in(any, {2, 1, 4}).in(any, {2, 1, 4}).in(any, {2, 1, 4}).in(any, {2, 4, 3}).dtypes({f32, f64}).check();
  op_case("TridiagonalMatMul").in(f32, {1, 1}).in(f32, {1, 1}).in(f32, {1, 1}).in(f32, {1, 3}).without({Mode::rank}).check();
  op_case("TridiagonalSolve").in(f64, {2, 3, 5}).in(f64, {2, 5, 2}).since(12).tol(1e-6, 1e-6).check();
  op_case("TridiagonalSolve").in(f32, {3, 4}).range(1, 2).in(f32, {4, 1}).attr("partial_pivoting", false).since(12).tol(1e-3, 1e-3).check();
}

TEST(Linalg, BandedTriangularSolve) {
  for (const bool lower : {false, true})
    for (const bool adjoint : {false, true})
      op_case("BandedTriangularSolve").in(f64, {2, 3, 5}).range(0.5, 1).in(f64, {2, 5, 2}).attr("lower", lower).attr("adjoint", adjoint).since(12).tol(1e-6, 1e-6).check();
  op_case("BandedTriangularSolve").in(f32, {1, 4}).range(0.5, 1).in(f32, {4, 2}).since(12).tol(1e-4, 1e-4).check();
}

const std::vector<int> kSome = {12, 18, 26};

TEST(Linalg, Eigenvalues) {
  for (const Ints& dims : {Ints{4, 4}, {5, 5}, {2, 3, 3}, {1, 1}, {2, 2}, {24, 24}})
    op_case("SelfAdjointEigV2").in(any, dims).attr("compute_v", false).outputs(1).dtypes({f32, f64}).only_opsets(kSome).tol(1e-4, 1e-4).check();
  op_case("SelfAdjointEigV2").in(f64, {6, 6}).outputs(1).only_opsets(kSome).tol(1e-9, 1e-9).note("the vectors are not read").check();
  op_case("SelfAdjointEigV2").values<float>({3, 3}, {2, 9, 9, 0, 2, 9, 0, 0, -1}).attr("compute_v", false).outputs(1).only_opsets(kSome).note("the lower triangle is the matrix").check();
}

TEST(Linalg, SingularValues) {
  for (const Ints& dims : {Ints{4, 4}, {3, 5}, {5, 3}, {2, 4, 3}, {1, 3}, {3, 1}, {20, 17}})
    op_case("Svd").in(any, dims).attr("compute_uv", false).outputs(1).dtypes({f32, f64}).only_opsets(kSome).tol(1e-4, 1e-4).check();
  op_case("Svd").values<float>({3, 3}, {1, 2, 3, 2, 4, 6, 1, 1, 1}).attr("compute_uv", false).outputs(1).only_opsets(kSome).tol(1e-4, 1e-4).note("of rank 2").check();
}

// Vectors are determined up to their signs: compared are the matrix that is put together of them again, whatever
// columns they are picked from, and their right angles.
void add_product(Builder& b, const std::string& left, const std::string& s, const std::string& right) {
  const std::string scale = b.op("MatrixDiag", {s});
  b.output(b.op("BatchMatMulV2", {b.op("BatchMatMulV2", {left, scale}), right}, {{"adj_y", true}}));
  for (const std::string& v : {left, right}) b.output(b.op("BatchMatMulV2", {v, v}, {{"adj_x", true}}));
  b.output(s);
}

// Of empty matrices of unknown rank ONNX Runtime's sums have other shapes below opset 13.
std::set<Mode> unless_empty(const Ints& dims) {
  return std::find(dims.begin(), dims.end(), 0) == dims.end() ? std::set<Mode>{} : std::set<Mode>{Mode::rank};
}

Case eigenvectors_of(const std::function<std::string(Builder&)>& input) {
  return graph_case("eigenvectors", [input](Builder& b) {
    const std::string e = b.op("SelfAdjointEigV2", {input(b)});
    add_product(b, e + ":1", e, e + ":1");
  });
}

TEST(Linalg, Eigenvectors) {
  for (const DType t : {f32, f64}) {
    const double bound = t == f64 ? 1e-9 : 1e-4;
    for (const Ints& dims : {Ints{4, 4}, {5, 5}, {2, 3, 3}, {1, 1}, {2, 2}, {24, 24}, {0, 3, 3}, {0, 0}})
      eigenvectors_of([t, dims](Builder& b) { return b.input(t, dims); }).only_opsets(kSome).without(unless_empty(dims)).tol(bound, bound).check();
  }
  const auto of_values = [](Ints dims, const std::vector<float>& v) {
    eigenvectors_of([dims, v](Builder& b) { return b.input(Tensor::of<float>(dims, v)); }).only_opsets(kSome).tol(1e-4, 1e-4).check();
  };
  of_values({3, 3}, {2, 9, 9, 0, 2, 9, 0, 0, -1});              // the lower triangle is the matrix
  of_values({3, 3}, {1, 0, 0, 1, 1, 0, 1, 1, 1});               // of rank 1
  of_values({3, 3}, {0, 0, 0, 0, 0, 0, 0, 0, 0});
}

// All vectors: right angles, and that u^H a v has the values on its diagonal and else zeros.
Case singular_vectors_of(const std::function<std::string(Builder&)>& input, bool full) {
  return graph_case("singular vectors", [=](Builder& b) {
    const std::string a = input(b), s = b.op("Svd", {a}, {{"full_matrices", full}}), u = s + ":1", v = s + ":2";
    if (!full) return add_product(b, u, s, v);
    for (const std::string& x : {u, v}) b.output(b.op("BatchMatMulV2", {x, x}, {{"adj_x", true}}));
    b.output(b.op("BatchMatMulV2", {b.op("BatchMatMulV2", {u, a}, {{"adj_x", true}}), v}));
    b.output(s);
  });
}

TEST(Linalg, SingularVectors) {
  for (const DType t : {f32, f64})
    for (const bool full : {false, true})
      for (const Ints& dims : {Ints{4, 4}, {3, 5}, {5, 3}, {2, 4, 3}, {1, 3}, {3, 1}, {20, 17}, {0, 3, 2}, {3, 0}}) {
        const double bound = t == f64 ? 1e-9 : 1e-4;
        singular_vectors_of([t, dims](Builder& b) { return b.input(t, dims); }, full).only_opsets(kSome).without(unless_empty(dims)).tol(bound, bound).check();
      }
  for (const std::vector<float>& v : {std::vector<float>{1, 2, 3, 2, 4, 6, 1, 1, 1}, {0, 0, 0, 0, 2, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 0, 0, 0, 0}, {1, 2e-22F, 0, 0, 3e-22F, 1e-22F, 0, 1e-22F, 2e-22F}})
    for (const bool full : {false, true})
      singular_vectors_of([v](Builder& b) { return b.input(Tensor::of<float>({3, 3}, v)); }, full).only_opsets(kSome).tol(1e-4, 1e-4).check();
}

// Numbers whose squares vanish or overflow.
TEST(Linalg, SingularValuesOfAnySize) {
  for (const double size : {1e-30, 1e-23, 1e23, 1e30})
    for (const DType t : {f32, c64}) {
      const auto times = [t](Builder& b, const std::string& x, double factor) {
        const std::string scalar = b.const_input(Tensor::scalar<float>(static_cast<float>(factor)));
        return b.op("Mul", {x, t == c64 ? b.op("Cast", {scalar}, {{"DstT", c64}}) : scalar});
      };
      graph_case("singular values", [=](Builder& b) {
        const std::string a = times(b, b.input(t, {4, 3}), size), s = b.op("Svd", {a}), zero = b.constant_of<std::int32_t>({}, {-2});
        const std::string alone = b.op("Svd", {a}, {{"compute_uv", false}});
        b.output(times(b, alone, 1 / size));
        const std::string sizes = b.op("ExpandDims", {times(b, s, 1 / size), zero});
        b.output(b.op("BatchMatMulV2", {b.op("Mul", {s + ":1", sizes}), s + ":2"}, {{"adj_y", true}}));
      }).only_opsets(kSome).tol(1e-4, 1e-5).check();
    }
}

TEST(Linalg, VectorsOfComplexNumbers) {
  for (const DType t : {c64, c128}) {
    const double bound = complex_bound(t);
    for (const Ints& dims : {Ints{4, 4}, {2, 3, 3}, {1, 1}, {11, 11}})
      eigenvectors_of([t, dims](Builder& b) { return b.input(t, dims); }).only_opsets(kSome).tol(bound, bound).check();
    for (const bool full : {false, true})
      for (const Ints& dims : {Ints{4, 4}, {3, 5}, {5, 3}, {2, 4, 3}})
        singular_vectors_of([t, dims](Builder& b) { return b.input(t, dims); }, full).only_opsets(kSome).tol(bound, bound).check();
  }
  // equal values: [[1, i], [-i, 1]] twice along the diagonal
  eigenvectors_of([](Builder& b) {
    const std::string re = b.input(Tensor::of<float>({4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1}));
    const std::string im = b.input(Tensor::of<float>({4, 4}, {0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 0, 1, 0, 0, -1, 0}));
    return b.op("Complex", {re, im});
  }).only_opsets(kSome).tol(1e-4, 1e-4).check();
}

// tf.linalg.pinv: v of the greater values, each divided by its own, times u^T
TEST(Linalg, PseudoInverse) {
  for (const Ints& dims : {Ints{4, 3}, {2, 3, 4}})
    graph_case("pinv", [dims](Builder& b) {
      const std::string a = b.input(f32, dims), s = b.op("Svd", {a});
      const std::string least = b.const_input(Tensor::scalar<float>(1e-5F)), inf = b.const_input(Tensor::scalar<float>(INFINITY));
      const std::string sizes = b.op("SelectV2", {b.op("Greater", {s, least}), s, inf});
      const std::string axis = b.const_input(Tensor::scalar<std::int32_t>(-2));
      const std::string scaled = b.op("RealDiv", {s + ":2", b.op("ExpandDims", {sizes, axis})});
      b.output(b.op("BatchMatMulV2", {scaled, s + ":1"}, {{"adj_y", true}}));
    }).tol(1e-3, 1e-4).check();
}

TEST(Linalg, InPlaceOfVectors) {
  for (const DType t : {f32, c64})
    graph_case("shapes of what is no vector", [t](Builder& b) {
      const std::string x = b.input(t, {2, 3, 3});
      const std::string e = b.op("SelfAdjointEigV2", {x}, {{"compute_v", false}});
      const std::string s = b.op("Svd", {x}, {{"compute_uv", false}});
      for (const std::string& v : {e + ":1", s + ":1", s + ":2"}) b.output(b.op("Shape", {v}));
    }).check();
}

TEST(Linalg, LeastSquares) {
  for (const bool fast : {false, true})
    for (const Ints& dims : {Ints{5, 3}, {3, 5}, {2, 4, 4}}) {
      Ints right = dims;
      right.back() = 2;
      op_case("MatrixSolveLs").in(f64, dims).in(f64, right).scalar(0.0).attr("fast", fast).only_opsets(kSome).tol(1e-6, 1e-6).check();
      op_case("MatrixSolveLs").in(f64, dims).in(f64, right).scalar(0.5, fed).attr("fast", fast).only_opsets(kSome).tol(1e-6, 1e-6).check();
    }
  op_case("MatrixSolveLs").values<float>({3, 3}, {1, 2, 3, 2, 4, 6, 1, 1, 1}).in(f32, {3, 2}).scalar(0.0).attr("fast", false).only_opsets(kSome).tol(1e-3, 1e-4).note("of rank 2").check();
}

// Of matrices whose eigenvalues are not negative: x^T x + 1/2, and what is near 2.
TEST(Linalg, FunctionsOfMatrices) {
  const auto of_definite = [](const char* op, DType t, Ints dims) {
    return graph_case(op, [=](Builder& b) {
      const std::string x = b.input(t, dims), half = b.const_input(Tensor::scalar<float>(0.5F));
      const std::string n = b.const_input(Tensor::scalar<std::int32_t>(static_cast<std::int32_t>(dims.back())));
      const std::string ones = b.op("Fill", {b.op("ExpandDims", {n, b.const_input(Tensor::scalar<std::int32_t>(0))}), half});
      const std::string eye = b.op("Cast", {b.op("MatrixDiag", {ones})}, {{"DstT", t}});
      b.output(b.op(op, {b.op("AddV2", {b.op("BatchMatMulV2", {x, x}, {{"adj_x", true}}), eye})}));
    });
  };
  for (const DType t : {f32, f64, c64, c128})
    for (const Ints& dims : {Ints{3, 3}, {2, 4, 4}, {1, 1}}) {
      const double bound = t == f64 || t == c128 ? 1e-8 : 1e-3;
      of_definite("MatrixSquareRoot", t, dims).only_opsets(kSome).tol(bound, bound).check();
      if (t == c64 || t == c128) of_definite("MatrixLogarithm", t, dims).only_opsets(kSome).tol(bound, bound).check();
    }
  op_case("MatrixSquareRoot").values<float>({2, 2}, {0, -1, 1, 0}).tol(1e-5, 1e-5).only_opsets(kSome).check();
  op_case("MatrixSquareRoot").values<double>({2, 2}, {1, 1, 0, 1}).tol(1e-5, 1e-5).only_opsets(kSome).note("one eigenvector").check();
  op_case("MatrixSquareRoot").values<double>({2, 2}, {1, 2, 2, 1}).only_opsets(kSome).note("has none").check();
  op_case("MatrixSquareRoot").in(f64, {0, 2, 2}).only_opsets(kSome).check();
}

// By the names that these ops had once.
TEST(Linalg, Batch) {
  constexpr char kLast = 12;  // the last version that had them
  const OldInput square{f64, {2, 4, 4}}, triangle{f64, {2, 4, 4}, verify::Range{0.5, 1}},
      right{f64, {2, 4, 3}};
  for (const bool adjoint : {false, true}) {
    old_case("BatchMatrixInverse", kLast, {square}, {{"adjoint", adjoint}})
        .tol(1e-6, 1e-6)
        .check();
    old_case("BatchMatrixSolve", kLast, {square, right}, {{"adjoint", adjoint}})
        .tol(1e-6, 1e-6)
        .check();
    for (const bool lower : {false, true})
      old_case("BatchMatrixTriangularSolve", kLast, {triangle, right},
               {{"adjoint", adjoint}, {"lower", lower}})
          .tol(1e-6, 1e-6)
          .check();
  }
  graph_case("BatchMatrixSolveLs", [](Builder& b) {
    of_version(b.graph(), kLast);
    const std::string a = b.input(f64, {2, 4, 2}), y = b.input(f64, {2, 4, 3});
    b.output(b.op("BatchMatrixSolveLs", {a, y, b.const_input(Tensor::scalar<double>(0.5))}));
  }).tol(1e-6, 1e-6).check();
  old_case("BatchSvd", kLast, {{f64, {2, 4, 3}}}, {{"compute_uv", false}}, 1).tol(1e-6, 1e-6).only_opsets({11, 18}).check();
  old_case("BatchSelfAdjointEigV2", kLast, {square}, {{"compute_v", false}}, 1).tol(1e-6, 1e-6).only_opsets({11, 18}).check();
  for (const char* op : {"SelfAdjointEig", "BatchSelfAdjointEig"})
    graph_case(op, [op](Builder& b) {
      of_version(b.graph(), 10);
      const std::string y = b.op(op, {b.input(f64, op[0] == 'B' ? Ints{2, 4, 4} : Ints{4, 4})});
      b.output(b.op("Abs", {y}));  // vectors have any sign
    }).tol(1e-6, 1e-6).only_opsets({11, 18}).check();
  old_case("BatchMatrixDeterminant", kLast, {square}).tol(1e-9, 1e-9).check();
  old_case("BatchMatrixDeterminant", kLast, {{c128, {2, 3, 3}}}).tol(1e-9, 1e-9).check();
  old_case("BatchSvd", kLast, {{c128, {2, 4, 3}}}, {{"compute_uv", false}}, 1).tol(1e-6, 1e-6).only_opsets({11, 18}).check();
  graph_case(
      "BatchCholesky",
      [](Builder& b) {
        of_version(b.graph(), kLast);
        const std::string a = b.input(Tensor::of<float>({1, 3, 3}, {4, 12, -16, 12, 37, -43, -16, -43, 98}));
        b.output(b.op("BatchCholesky", {a}));
      })
      .since(12)
      .check();
}

}  // namespace
}  // namespace t2o::numeric
