#pragma once
#include "op_mappers/complex.h"

// The discrete Fourier transform along one axis, counted from the end: -1 is the last.
namespace t2o::op_mappers {

enum class Dft : std::uint8_t {
  matrices,
  axis_attribute,
  axis_input
};  // without ONNX DFT; with the DFT of opset 17; with the DFT of opset 20

struct Transform {
  Dft form;
  bool inverse;
};

// The first length / 2 + 1 frequencies of real numbers x. x is padded with zeros to `length`; it must not be longer.
Complex forward_real(MapperContext& c, Dft form, Value* x, Value* length);
// Real numbers from their first length / 2 + 1 frequencies z.
Value* inverse_real(MapperContext& c, Dft form, Complex z, Value* length);
Complex transform(MapperContext& c, Transform t, Complex z, int axis);

// ---- by matrices (fft_matrices.cpp)
struct Matrices {
  Value *cosine, *sine;  // cos and sin(2 pi j k / n), [rows, columns]
};
struct MatrixPlan {
  DType dtype;
  Value* n;  // rank 0, like the next two
  Value *rows, *columns;
  double sine_sign = 1;
  bool divided = false;  // by n
  bool doubled =
      false;  // multiplies rows by two that stand for two frequencies: all but the first and n / 2
};
Matrices fourier_matrices(MapperContext& c, const MatrixPlan& plan);
// [rows, 2 * columns]: cos and -sin of one frequency are neighbours
Value* fourier_pairs(MapperContext& c, std::int64_t n, std::int64_t rows, std::int64_t columns);
Complex multiply(MapperContext& c, Complex z, Matrices m,
                 int axis);  // along the axis; matrices are square unless it is -1

}  // namespace t2o::op_mappers
