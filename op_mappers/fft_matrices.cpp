#include <cmath>
#include <numbers>

#include "onnx/raise_opset.h"
#include "op_mappers/fft.h"

namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kLongest = 4096;  // above, the matrices would be too big a part of the model

// cos and sin(2 pi t / n), exact on the axes
std::pair<double, double> point_of_circle(std::int64_t t, std::int64_t n) {
  if (4 * t % n == 0) {
    const auto quarter = 4 * t / n;
    return {quarter == 0 ? 1 : quarter == 2 ? -1 : 0, quarter == 1 ? 1 : quarter == 3 ? -1 : 0};
  }
  const double angle = 2 * std::numbers::pi * static_cast<double>(t) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

Value* as_matrix(MapperContext& c, DType dtype, const Ints& dims, const std::vector<double>& v) {
  if (dtype == DType::f64) return c.constant(Tensor::of<double>(dims, v), "fourier");
  return c.constant(Tensor::of<float>(dims, std::vector<float>(v.begin(), v.end())), "fourier");
}

Matrices constant_matrices(MapperContext& c, const MatrixPlan& plan, std::int64_t n, std::int64_t rows,
                           std::int64_t columns) {
  std::vector<std::pair<double, double>> circle;
  for (std::int64_t t = 0; t < n; ++t) circle.push_back(point_of_circle(t, n));
  const double scale = plan.divided ? 1 / static_cast<double>(n) : 1;
  std::vector<double> cosine, sine;
  for (std::int64_t j = 0; j < rows; ++j) {
    const double weight = plan.doubled && j != 0 && 2 * j != n ? 2 * scale : scale;
    for (std::int64_t k = 0; k < columns; ++k) {
      const auto& [x, y] = nth(circle, j * k % n);
      cosine.push_back(weight * x);
      sine.push_back(y == 0 ? 0 : plan.sine_sign * weight * y);
    }
  }
  Value* first = as_matrix(c, plan.dtype, {rows, columns}, cosine);
  return {first, as_matrix(c, plan.dtype, {rows, columns}, sine)};
}

// The factor of each row: 2, but 1 for the first and for that of n / 2.
Value* row_weights(MapperContext& c, const MatrixPlan& plan, Value* row) {
  Value* is_first = c.equal(row, c.i64(0));
  Value* is_middle = c.equal(c.add(row, row), plan.n);
  Value* is_single = c.logical_or(is_first, is_middle);
  Value* one = c.scalar(plan.dtype, 1);
  return c.where(is_single, one, c.scalar(plan.dtype, 2));
}

Matrices runtime_matrices(MapperContext& c, const MatrixPlan& plan) {
  Value* zero = c.i64(0);
  Value* one = c.i64(1);
  Value* row = c.unsqueeze(c.range(zero, plan.rows, one), {1});
  Value* column = c.range(zero, plan.columns, one);
  Value* n = c.cast(plan.n, plan.dtype);
  Value* divisor = c.maximum(plan.n, one);  // no numbers
  Value* turns = c.cast(c.mod(c.mul(row, column), divisor), plan.dtype);
  Value* angle = c.mul(turns, c.div(c.scalar(plan.dtype, 2 * std::numbers::pi), n));
  Matrices m = {c.cos(angle), c.sin(angle)};
  if (plan.sine_sign < 0) m.sine = c.neg(m.sine);
  Value* factor = plan.doubled ? row_weights(c, plan, row) : nullptr;
  if (plan.divided) factor = c.div(factor ? factor : c.scalar(plan.dtype, 1), n);
  if (!factor) return m;
  return {c.mul(m.cosine, factor), c.mul(m.sine, factor)};
}

// x as [..., size of the axis, product of the axes behind it], and back
Value* with_one_axis_behind(MapperContext& c, Value* x, int axis, Value* shape) {
  if (axis == -2) return x;
  Value* before = c.slice(shape, {0}, {axis + 1}, {0});
  Value* behind = c.slice(shape, {axis + 1}, {INT64_MAX}, {0});
  return c.reshape_to(x, c.concat({before, c.product(behind)}, 0));
}

Value* product(MapperContext& c, Value* x, Value* matrix, int axis) {
  if (axis == -1) return c.matmul(x, matrix);
  Value* shape = c.shape_of(x);
  Value* columns = with_one_axis_behind(c, x, axis, shape);
  Value* y = c.matmul(matrix, columns);
  return axis == -2 ? y : c.reshape_to(y, shape);
}

}  // namespace

Matrices fourier_matrices(MapperContext& c, const MatrixPlan& plan) {
  const auto n = constant_ints(plan.n), rows = constant_ints(plan.rows),
             columns = constant_ints(plan.columns);
  if (!n || !rows || !columns) return runtime_matrices(c, plan);
  if ((*n)[0] > kLongest)
    c.fail(Code::opset_too_low,
           "a Fourier transform of " + std::to_string((*n)[0]) +
               " numbers needs ONNX DFT, which came with opset 17",
           onnx::raise_opset(17, c.target()));
  return constant_matrices(c, plan, (*n)[0], (*rows)[0], (*columns)[0]);
}

Value* fourier_pairs(MapperContext& c, std::int64_t n, std::int64_t rows, std::int64_t columns) {
  std::vector<float> v;
  v.reserve(static_cast<std::size_t>(2 * rows * columns));
  for (std::int64_t j = 0; j < rows; ++j)
    for (std::int64_t k = 0; k < columns; ++k) {
      const auto [x, y] = point_of_circle(j * k % n, n);
      v.push_back(static_cast<float>(x));
      v.push_back(y == 0 ? 0.0f : -static_cast<float>(y));
    }
  return c.constant(Tensor::of<float>({rows, 2 * columns}, v), "fourier");
}

Complex multiply(MapperContext& c, Complex z, Matrices m, int axis) {  // (re + i im) (cos + i sin)
  Value* re_cos = product(c, z.re, m.cosine, axis);
  Value* re_sin = product(c, z.re, m.sine, axis);
  if (!z.im) return {re_cos, re_sin};
  Value* re = c.sub(re_cos, product(c, z.im, m.sine, axis));
  return {re, c.add(re_sin, product(c, z.im, m.cosine, axis))};
}

}  // namespace t2o::op_mappers
