#include "op_mappers/all.h"
#include "op_mappers/apply.h"

// Custom operators that graphs of TensorFlow Addons, and of exporters before it, hold.
namespace t2o::op_mappers {
namespace {

// x * tanh(log(1 + e^x))
Values map_mish(MapperContext& c) {
  Value* x = c.in(0);
  return {c.mul(x, c.emit("Tanh", {apply_one(c, "Softplus", {x})}))};
}

Values map_swish(MapperContext& c) {
  Value* x = c.in(0);
  return {c.mul(x, c.emit("Sigmoid", {x}))};
}

// x * tanh(x)
Values map_lisht(MapperContext& c) {
  Value* x = c.in(0);
  return {c.mul(x, c.emit("Tanh", {x}))};
}

// x - tanh(x)
Values map_tanh_shrink(MapperContext& c) {
  Value* x = c.in(0);
  return {c.sub(x, c.emit("Tanh", {x}))};
}

// 0 from `lower` to `upper`; beyond them x, or what is left of it
template <bool soft>
Values map_shrink(MapperContext& c) {
  Value* x = c.in(0);
  Value* lower = c.scalar_like(x, static_cast<double>(c.attr_or("lower", -0.5f)));
  Value* upper = c.scalar_like(x, static_cast<double>(c.attr_or("upper", 0.5f)));
  Value* zero = c.scalar_like(x, 0);
  Value* is_below = c.less(x, lower);
  Value* below = soft ? c.sub(x, lower) : x;
  Value* above = soft ? c.sub(x, upper) : x;
  return {c.where(is_below, below, c.where(c.greater(x, upper), above, zero))};
}

// Bilinear pixels of [batch, height, width, channels] at x and y, the last axis of [batch, .., 2]; beyond the
// image is zero.
Values resampled(MapperContext& c, const std::string& mode) {
  Value* image = c.transpose(c.in(0), {0, 3, 1, 2});
  Value* places = c.cast(c.in(1), DType::f32);
  Value* sizes = c.cast(c.gather(c.shape_of(c.in(0)), c.ints({2, 1}), 0), DType::f32);
  Value* twice = c.add(c.mul(places, c.scalar(DType::f32, 2)), c.scalar(DType::f32, 1));
  Value* grid = c.sub(c.div(twice, sizes), c.scalar(DType::f32, 1));
  Value* count = c.product(c.dims(c.in(1), 1, -1));
  Value* rows = c.reshape_to(grid, c.concat({c.dims(c.in(1), 0, 1), count, c.ints({1, 2})}, 0));
  const Attrs attrs = {{"mode", mode}, {"padding_mode", std::string("zeros")}, {"align_corners", 0}};
  Value* pixels = c.emit("GridSample", {c.cast(image, DType::f32), rows}, attrs);
  Value* last = c.transpose(pixels, {0, 2, 3, 1});
  Value* dims = c.concat({c.dims(c.in(1), 0, -1), c.dims(c.in(0), 3, 4)}, 0);
  return {c.cast_like(c.reshape_to(last, dims), c.in(0))};
}
Values map_resampler_16(MapperContext& c) { return resampled(c, "bilinear"); }
Values map_resampler_20(MapperContext& c) { return resampled(c, "linear"); }

}  // namespace

void register_addons(OpRegistry& r) {
  r.op("Mish", "Addons>Mish").by(map_mish);
  r.op("Mish", "Addons>Mish").since(18).to("Mish");
  r.op("Swish").by(map_swish);
  r.op("Resampler", "Addons>Resampler").since(16).by(map_resampler_16);
  r.op("Resampler", "Addons>Resampler").since(20).by(map_resampler_20);
  r.op("Addons>Lisht").by(map_lisht);
  r.op("Addons>Tanhshrink").by(map_tanh_shrink);
  r.op("Addons>Hardshrink").by(map_shrink<false>);
  r.op("Addons>Softshrink").by(map_shrink<true>);
}

}  // namespace t2o::op_mappers
