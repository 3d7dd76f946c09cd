#include "op_mappers/apply.h"
#include "op_mappers/plain_type.h"
#include "op_mappers/quantized.h"
#include "op_mappers/resize.h"

namespace t2o::op_mappers {
namespace {

// ---- normalizations

Value* numbers(MapperContext& c, std::size_t tensor) {  // of the inputs i, i + 1 and i + 2
  return dequantized(c, c.in(tensor), scale_of_reading(c, c.in(tensor)->dtype(), range_at(c, tensor + 1)));
}

// x * s + o with s = gamma / sqrt(variance + epsilon), o = beta - mean * s, all in 2048ths as 32-bit
// integers.
Values map_batch_norm(MapperContext& c) {
  const QuantizedRange r{c.constant(-1048576.0f), c.constant(1048576.0f)};
  const QuantizedScale scale = scale_of(c, DType::i32, r);
  const auto fixed = [&](Value* v) { return c.cast(quantized(c, v, DType::i32, scale), DType::i64); };
  Value* x = numbers(c, 0);
  Value* mean = numbers(c, 3);
  Value* variance = numbers(c, 6);
  Value* beta = numbers(c, 9);
  Value* gamma = numbers(c, 12);
  const double epsilon = static_cast<double>(c.attr<float>("variance_epsilon"));
  Value* s = c.div(c.scalar(DType::f32, 1), c.sqrt(c.add(variance, c.scalar(DType::f32, epsilon))));
  if (c.flag("scale_after_normalization")) s = c.mul(s, gamma);
  Value* offset = fixed(c.sub(beta, c.mul(mean, s)));
  Value* scaled = fixed(x);
  Value* product = c.mul(scaled, fixed(s));
  Value* y = c.add(c.div(product, c.i64(2048)), offset);
  return {c.cast(y, DType::i32), r.min, r.max};
}

// Of each image and channel, in the range that comes out or a given one.
Values map_instance_norm(MapperContext& c) {
  const auto number = [&](const char* attr, float fallback) {
    return c.scalar(DType::f32, static_cast<double>(c.attr_or(attr, fallback)));
  };
  Value* x = numbers(c, 0);
  Value* centered = c.sub(x, c.reduce("ReduceMean", x, Ints{1, 2}, true));
  Value* variance = c.reduce("ReduceMean", c.mul(centered, centered), Ints{1, 2}, true);
  Value* y = c.div(centered, c.sqrt(c.add(variance, number("variance_epsilon", 1e-5f))));
  Value* min = number("given_y_min", 0);
  Value* max = number("given_y_max", 0);
  if (!c.flag("output_range_given")) {
    min = c.reduce_all("ReduceMin", y, false);
    max = c.reduce_all("ReduceMax", y, false);
  }
  max = c.maximum(max, c.add(min, number("min_separation", 1e-3f)));
  const DType type = plain_type(c.output_dtype());
  return {quantized(c, y, type, scale_of(c, type, {min, max})), min, max};
}

// ---- resizing, by fixed-point weights

struct Neighbors {
  Value *lower, *upper;  // [out]: pixels
  Value* weight;         // [out]: of the upper one, in parts of one
  Value* same;           // whether the axis keeps its size
};

Neighbors neighbors(MapperContext& c, int axis, Sampling sampling, DType work, double one) {
  const AxisSizes size = axis_sizes(c, c.in(0), c.in(1), axis);
  Value* in = c.cast(size.in, DType::f32);
  Value* out = c.cast(size.out, DType::f32);
  Value* scale = source_scale(c, in, out, sampling);
  Value* i = pixel_range(c, size.out);
  Value* half = c.scalar(DType::f32, 0.5);
  Value* place =
      sampling == Sampling::half_pixel ? c.sub(c.mul(c.add(i, half), scale), half) : c.mul(i, scale);
  Value* floor = c.floor(place);
  Value* last = c.sub(size.in, c.i64(1));
  Value* upper = c.minimum(c.cast(c.ceil(place), DType::i64), last);
  Value* lower = c.maximum(c.cast(floor, DType::i64), c.i64(0));
  Value* weight = c.cast(c.mul(c.sub(place, floor), c.scalar(DType::f32, one)), work);
  return {c.minimum(lower, upper), upper, weight, c.equal(size.in, size.out)};
}

// a * one + (b - a) * weight
Value* blended(MapperContext& c, Value* a, Value* b, Value* weight, Value* one) {
  Value* part = c.mul(c.sub(b, a), weight);
  return c.add(c.mul(a, one), part);
}

Value* resized(MapperContext& c, Sampling sampling) {
  const DType type = c.in(0)->dtype();
  const bool is_byte = type == DType::u8;
  const DType work = is_byte ? DType::i32 : DType::i64;
  const double resolution = is_byte ? 128 : 1 << 30;
  const Neighbors y = neighbors(c, 0, sampling, work, resolution);
  const Neighbors x = neighbors(c, 1, sampling, work, resolution);
  Value* one = c.scalar(work, resolution);
  Value* wy = c.reshape(y.weight, {1, -1, 1, 1});
  Value* wx = c.reshape(x.weight, {1, 1, -1, 1});
  const auto row = [&](Value* at) {
    Value* pixels = c.cast(c.gather(c.in(0), at, 1), work);
    Value* left = c.gather(pixels, x.lower, 2);
    return blended(c, left, c.gather(pixels, x.upper, 2), wx, one);
  };
  Value* top = row(y.lower);
  Value* bottom = row(y.upper);
  Value* part = c.mul(c.div(c.sub(bottom, top), one), wy);
  Value* sum = c.add(top, part);
  // quotients lose their fraction: of a negative number half of one more would be the next one
  Value* half = c.scalar(work, resolution / 2);
  Value* is_copy = c.logical_and(y.same, x.same);
  return c.cast(c.div(c.add(sum, c.where(is_copy, c.scalar(work, 0), half)), one), type);
}

Values map_resize_bilinear(MapperContext& c) {
  if (c.in(0)->dtype() == DType::f32)
    return {apply_one(c, "ResizeBilinear", {c.in(0), c.in(1)}), c.in(2), c.in(3)};
  return {resized(c, read_sampling(c)), c.in(2), c.in(3)};
}

}  // namespace

void register_quantized_images(OpRegistry& r) {
  const std::string level = "may differ by one level";
  r.op("QuantizedBatchNormWithGlobalNormalization").note(level).by(map_batch_norm);
  r.op("QuantizedInstanceNorm").note(level).by(map_instance_norm);
  r.op("QuantizedResizeBilinear").by(map_resize_bilinear);
}

}  // namespace t2o::op_mappers
