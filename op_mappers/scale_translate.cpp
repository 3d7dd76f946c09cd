#include <limits>
#include <numbers>

#include "op_mappers/all.h"
#include "op_mappers/numbers.h"
#include "op_mappers/resize.h"

// ScaleAndTranslate: each pixel is a weighted sum of those under a kernel around its place in the source.
namespace t2o::op_mappers {
namespace {

Value* number(Emitter& e, double v) { return e.scalar(DType::f32, v); }

// c[0] + x (c[1] + x (c[2] + ...))
Value* polynomial(Emitter& e, Value* x, const std::vector<double>& c) {
  Value* y = number(e, c.back());
  for (std::size_t i = c.size() - 1; i-- > 0;) y = e.add(e.mul(y, x), number(e, c[i]));
  return y;
}

Value* piecewise(Emitter& e, Value* x, const std::vector<double>& near, const std::vector<double>& far) {
  Value* is_near = e.less(x, number(e, 1));
  Value* is_far = e.less(x, number(e, 2));
  Value* tail = e.where(is_far, polynomial(e, x, far), number(e, 0));
  return e.where(is_near, polynomial(e, x, near), tail);
}

// r sin(pi x) sin(pi x / r) / (pi x)^2
Value* lanczos(Emitter& e, Value* x, double radius) {
  Value* at_zero = e.less_equal(x, number(e, 1e-3));
  Value* angle = e.mul(e.where(at_zero, number(e, 1), x), number(e, std::numbers::pi));
  Value* wave = e.sin(angle);
  Value* window = e.sin(e.div(angle, number(e, radius)));
  Value* y = e.div(e.mul(e.mul(wave, window), number(e, radius)), e.mul(angle, angle));
  Value* outside = e.greater(x, number(e, radius));
  return e.where(at_zero, number(e, 1), e.where(outside, number(e, 0), y));
}

Value* gaussian(Emitter& e, Value* x) {  // of the deviation 1/2
  Value* y = e.exp(e.mul(e.mul(x, x), number(e, -2)));
  Value* inside = e.less(x, number(e, 1.5));
  return e.where(inside, y, number(e, 0));
}

Value* box(Emitter& e, Value* x) {
  Value* half = number(e, 0.5);
  Value* on_edge = e.equal(x, half);
  Value* inside = e.less(x, half);
  return e.where(inside, number(e, 1), e.where(on_edge, half, number(e, 0)));
}

struct Kernel {
  double radius;
  Value* (*weight)(Emitter&, Value* distance);
};

Kernel read_kernel(MapperContext& c) {
  const auto type = c.attr_or<std::string>("kernel_type", "lanczos3");
  if (type == "lanczos1") return {1, [](Emitter& e, Value* x) { return lanczos(e, x, 1); }};
  if (type == "lanczos3") return {3, [](Emitter& e, Value* x) { return lanczos(e, x, 3); }};
  if (type == "lanczos5") return {5, [](Emitter& e, Value* x) { return lanczos(e, x, 5); }};
  if (type == "gaussian") return {1.5, gaussian};
  if (type == "box") return {1, box};
  if (type == "triangle")
    return {1, [](Emitter& e, Value* x) { return e.maximum(e.sub(number(e, 1), x), number(e, 0)); }};
  if (type == "keyscubic")
    return {2, [](Emitter& e, Value* x) { return piecewise(e, x, {1, 0, -2.5, 1.5}, {2, -4, 2.5, -0.5}); }};
  if (type == "mitchellcubic")
    return {2, [](Emitter& e, Value* x) {
              return piecewise(e, x, {8.0 / 9, 0, -2, 7.0 / 6}, {16.0 / 9, -10.0 / 3, 2, -7.0 / 18});
            }};
  c.fail(Code::unsupported_attr, "kernel_type '" + type + "' is not known");
}

struct Taps {
  Value *index, *weight;  // [out, taps] of i64 and of f32
};

Value* within_image(Emitter& e, Value* place, Value* last) {
  return e.maximum(e.minimum(place, last), number(e, 0));
}

// Pixel o lies at (o + 0.5) / scale - translate / scale. Outside of the source the weights are 0. If the
// image gets smaller, antialiasing widens the kernel.
Taps taps_of(MapperContext& c, const Kernel& kernel, bool antialias, int axis, const AxisSizes& sizes) {
  Value* scale = c.gather(c.in(2), c.i64(axis), 0);
  Value* translation = c.gather(c.in(3), c.i64(axis), 0);
  Value* step = c.div(number(c, 1), scale);
  Value* offset = c.mul(c.neg(step), translation);
  Value* width = antialias ? c.maximum(step, number(c, 1)) : number(c, 1);
  Value* radius = c.mul(width, number(c, kernel.radius));
  Value* half = number(c, 0.5);
  Value* pixel = c.unsqueeze(pixel_range(c, sizes.out), {1});
  Value* place = c.add(c.mul(c.add(pixel, half), step), offset);
  Value* in = c.cast(sizes.in, DType::f32);
  Value* last = c.sub(in, number(c, 1));
  Value* begin = c.ceil(c.sub(c.sub(place, radius), half));
  Value* end = c.floor(c.sub(c.add(place, radius), half));
  begin = within_image(c, begin, last);
  end = within_image(c, end, last);
  Value* reach = c.add(c.mul(c.ceil(radius), number(c, 2)), number(c, 1));
  Value* count = c.cast(c.minimum(reach, in), DType::i64);
  Value* index = c.add(begin, pixel_range(c, count));
  Value* distance = c.abs(c.sub(c.add(index, half), place));
  Value* weight = kernel.weight(c, c.mul(distance, c.div(number(c, 1), width)));
  Value* counts = c.less_equal(index, end);
  Value* inside = c.logical_and(c.greater_equal(place, number(c, 0)), c.less_equal(place, in));
  weight = c.where(c.logical_and(counts, inside), weight, number(c, 0));
  Value* sum = c.reduce("ReduceSum", weight, Ints{1}, true);
  const double smallest = 1000 * static_cast<double>(std::numeric_limits<float>::min());
  Value* usable = c.greater_equal(c.abs(sum), number(c, smallest));
  weight = c.where(usable, c.div(weight, sum), number(c, 0));
  // TensorFlow reads as many pixels for each, as long as the image has them, also those without weight: 0
  // times an infinity is NaN there too.
  Value* first = c.where(inside, begin, number(c, 0));
  Value* read = c.add(first, pixel_range(c, count));
  return {c.cast(c.minimum(read, last), DType::i64), shared_weights(c, weight, c.greater_equal(read, last))};
}

Values map_scale_and_translate(MapperContext& c) {
  const Kernel kernel = read_kernel(c);
  const bool antialias = c.attr_or<std::int64_t>("antialias", 1) != 0;
  Value* x = c.cast(c.in(0), DType::f32);
  for (int axis = 0; axis < 2; ++axis) {
    const Taps taps = taps_of(c, kernel, antialias, axis, axis_sizes(c, c.in(0), c.in(1), axis));
    Value* pixels = c.gather(x, taps.index, axis + 1);  // [n, out, taps, w, c] or [n, h, out, taps, c]
    Value* weight = c.unsqueeze(taps.weight, axis == 0 ? Ints{2, 3} : Ints{2});
    x = c.reduce("ReduceSum", c.mul(pixels, weight), Ints{axis + 2}, false);
  }
  return {x};
}

// For each source pixel TensorFlow reads equally many gradients, from the first one that the pixel was read
// for. Those without weight make the sum NaN if they are infinite. matrix: [out, in]
Weights gradient_weights(MapperContext& c, Value* matrix) {
  Value* zero = number(c, 0);
  Value* is_none = c.equal(matrix, zero);
  Value* has_weight = c.cast(c.logical_not(is_none), DType::f32);
  Value* most = c.reduce_all("ReduceMax", c.reduce("ReduceSum", has_weight, Ints{0}, false), false);
  Value* first = c.emit("ArgMax", {has_weight}, {{"axis", 0}, {"keepdims", 0}});
  Value* pixel = c.unsqueeze(iota(c, c.dim(matrix, 0)), {1});
  Value* is_behind = c.greater_equal(pixel, first);
  Value* is_read = c.logical_and(is_behind, c.less(pixel, c.add(first, c.cast(most, DType::i64))));
  Value* for_nothing = c.logical_and(is_read, is_none);
  Value* keeps = c.logical_or(c.greater(matrix, zero), for_nothing);
  Value* turns = c.logical_or(c.less(matrix, zero), for_nothing);
  return {matrix, c.cast(keeps, DType::f32), c.cast(turns, DType::f32)};
}

// in(0) is the gradient that arrives, in(1) the source.
Values map_gradient(MapperContext& c) {
  const Kernel kernel = read_kernel(c);
  const bool antialias = c.attr_or<std::int64_t>("antialias", 1) != 0;
  Value* g = c.cast(c.in(0), DType::f32);
  std::vector<Weights> matrices;
  for (int axis = 0; axis < 2; ++axis) {
    const AxisSizes sizes{c.dim(c.in(1), axis + 1), c.dim(g, axis + 1)};
    const Taps taps = taps_of(c, kernel, antialias, axis, sizes);
    matrices.push_back(gradient_weights(c, tap_matrix(c, taps.index, taps.weight, sizes.in)));
  }
  return {c.cast(resize_gradient(c, g, matrices[0], matrices[1]), c.output_dtype())};
}

}  // namespace

void register_scale_translate(OpRegistry& r) {
  r.op("ScaleAndTranslate").by(map_scale_and_translate);
  r.op("ScaleAndTranslateGrad").by(map_gradient);
}

}  // namespace t2o::op_mappers
