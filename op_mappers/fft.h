#pragma once
#include "op_mappers/complex.h"

// The discrete Fourier transform along one axis, counted from the end: -1 is the last.
namespace t2o::op_mappers {

enum class Dft : std::uint8_t {
  matrices,
  axis_attribute,
  axis_input
};  // without ONNX DFT, since 17, since 20

struct Transform {
  Dft form;
  bool inverse;
};

// Of real numbers: the first length / 2 + 1 frequencies of x, which is not longer than `length` and is filled
// up with zeros.
Complex forward_real(MapperContext& c, Dft form, Value* x, Value* length);
// Real numbers from their first length / 2 + 1 frequencies, which z has.
Value* inverse_real(MapperContext& c, Dft form, Complex z, Value* length);
Complex transform(MapperContext& c, Transform t, Complex z, int axis);

// ---- by matrices (fft_matrices.cpp)
struct Matrices {
  Value *cosine, *sine;  // [rows, columns] of cos and sin(2 pi j k / n)
};
struct MatrixPlan {
  DType dtype;
  Value* n;  // rank 0, as the next two
  Value *rows, *columns;
  double sine_sign = 1;
  bool divided = false;  // by n
  bool doubled =
      false;  // rows other than the first, and that of n / 2, times two: they stand for two frequencies
};
Matrices fourier_matrices(MapperContext& c, const MatrixPlan& plan);
// [rows, 2 * columns]: cos and -sin of one frequency stand side by side
Value* fourier_pairs(MapperContext& c, std::int64_t n, std::int64_t rows, std::int64_t columns);
Complex multiply(MapperContext& c, Complex z, Matrices m,
                 int axis);  // along the axis; matrices are square unless it is -1

}  // namespace t2o::op_mappers
