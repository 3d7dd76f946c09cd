#include "op_mappers/all.h"

// Colors are the last axis, which has three channels.
namespace t2o::op_mappers {
namespace {

DType work_type(DType t) { return t == DType::f64 ? DType::f64 : DType::f32; }
Value* work(MapperContext& c) { return c.cast(c.in(0), work_type(c.in(0)->dtype())); }
Value* like_input(MapperContext& c, Value* y) { return c.cast(y, c.in(0)->dtype()); }

struct Colors {
  Values channels;            // red, green, blue, each [..., 1]
  Value *low, *high, *range;  // of the channels
};

Colors split_colors(Emitter& e, Value* rgb) {
  const Values channels = e.split(rgb, {1, 1, 1}, -1);
  Value* high = e.emit("Max", channels);
  Value* low = e.emit("Min", channels);
  return {channels, low, high, e.sub(high, low)};
}

// As TensorFlow goes from channel to channel: what a NaN is compared with is forgotten, and so is a NaN that
// is not the last one.
Value* forgetful(Emitter& e, const char* keeps_if, const Values& channels) {
  Value* y = channels[0];
  for (std::size_t i = 1; i < channels.size(); ++i)
    y = e.where(e.emit(keeps_if, {y, channels[i]}), y, channels[i]);
  return y;
}

// The hue in sixths of the circle, [0, 6): of red (g - b) / range, of green 2 + (b - r) / range,
// of blue 4 + (r - g) / range, whichever is the highest; 0 for greys.
Value* hue(Emitter& e, const Colors& c) {
  const auto sector = [&](std::size_t a, std::size_t b, double from) {
    Value* h = e.div(e.sub(c.channels[a], c.channels[b]), c.range);
    return from == 0 ? h : e.add(h, e.scalar_like(h, from));
  };
  Value* red = sector(1, 2, 0);
  Value* green = sector(2, 0, 2);
  Value* blue = sector(0, 1, 4);
  Value* is_green = e.equal(c.channels[1], c.high);
  Value* is_red = e.equal(c.channels[0], c.high);
  Value* h = e.where(is_red, red, e.where(is_green, green, blue));
  Value* zero = e.scalar_like(h, 0);
  Value* colored = e.greater(c.range, zero);
  h = e.where(colored, h, zero);
  Value* negative = e.less(h, zero);
  return e.where(negative, e.add(h, e.scalar_like(h, 6)), h);
}

// How much of each channel a hue has, [..., 3]: |h - 3| - 1, 2 - |h - 2|, 2 - |h - 4|, each within [0, 1]
Value* channels_of_hue(Emitter& e, Value* h) {
  const auto row = [&](const std::vector<float>& v) { return e.cast(e.constant<float>({3}, v), h->dtype()); };
  Value* distance = e.abs(e.sub(h, row({3, 2, 4})));
  Value* slope = e.mul(distance, row({1, -1, -1}));
  return e.clip(e.add(slope, row({-1, 2, 2})), 0, 1);
}

Values map_rgb_to_hsv(MapperContext& c) {
  Value* rgb = work(c);
  const Values channels = c.split(rgb, {1, 1, 1}, -1);
  Value* high = forgetful(c, "Greater", channels);
  Value* low = forgetful(c, "Less", channels);
  const Colors s{channels, low, high, c.sub(high, low)};
  Value* zero = c.scalar_like(rgb, 0);
  Value* bright = c.greater(s.high, zero);
  Value* saturation = c.where(bright, c.div(s.range, s.high), zero);
  Value* h = c.div(hue(c, s), c.scalar_like(rgb, 6));
  return {like_input(c, c.concat({h, saturation, s.high}, -1))};
}

// ((1 - s) + s * channels(h)) * v
Values map_hsv_to_rgb(MapperContext& c) {
  Value* hsv = work(c);
  const Values ch = c.split(hsv, {1, 1, 1}, -1);
  Value* full = channels_of_hue(c, c.mul(ch[0], c.scalar_like(hsv, 6)));
  Value* rest = c.sub(c.scalar_like(hsv, 1), ch[1]);
  Value* mixed = c.add(rest, c.mul(ch[1], full));
  return {like_input(c, c.mul(mixed, ch[2]))};
}

// The hue turns, lowest and highest channel keep their values.
Values map_adjust_hue(MapperContext& c) {
  Value* rgb = work(c);
  const Colors s = split_colors(c, rgb);
  Value* six = c.scalar_like(rgb, 6);
  Value* turned = c.add(hue(c, s), c.mul(c.cast_like(c.in(1), rgb), six));
  Value* rounds = c.emit("Floor", {c.div(turned, six)});
  Value* h = c.sub(turned, c.mul(rounds, six));
  return {like_input(c, c.add(s.low, c.mul(s.range, channels_of_hue(c, h))))};
}

// With the hue and the highest channel v kept, each channel's distance to v grows like the saturation
// s = range / v:   v - (v - x) * clip(s * factor, 0, 1) / s
Values map_adjust_saturation(MapperContext& c) {
  Value* rgb = work(c);
  const Colors s = split_colors(c, rgb);
  Value* zero = c.scalar_like(rgb, 0);
  Value* bright = c.greater(s.high, zero);
  Value* saturation = c.where(bright, c.div(s.range, s.high), zero);
  Value* wanted = c.clip(c.mul(saturation, c.cast_like(c.in(1), rgb)), 0, 1);
  Value* colored = c.greater(saturation, zero);
  Value* growth = c.where(colored, c.div(wanted, saturation), zero);
  return {like_input(c, c.sub(s.high, c.mul(c.sub(s.high, rgb), growth)))};
}

// (x - mean) * factor + mean, the mean over the height and the width
Values map_adjust_contrast(MapperContext& c) {
  Value* x = work(c);
  Value* mean = c.reduce("ReduceMean", x, Ints{-3, -2}, true);
  Value* y = c.add(c.mul(c.sub(x, mean), c.cast_like(c.in(1), x)), mean);
  return {like_input(c, y)};
}

// The first version, without a type of its own: clipped, as float32.
Values map_adjust_contrast_v1(MapperContext& c) {
  Value* x = c.cast(c.in(0), DType::f32);
  Value* mean = c.reduce("ReduceMean", x, Ints{-3, -2}, true);
  Value* y = c.add(c.mul(c.sub(x, mean), c.in(1)), mean);
  return {c.minimum(c.maximum(y, c.in(2)), c.in(3))};
}

}  // namespace

void register_color(OpRegistry& r) {
  r.op("RGBToHSV").by(map_rgb_to_hsv);
  r.op("HSVToRGB").by(map_hsv_to_rgb);
  r.op("AdjustHue").by(map_adjust_hue);
  r.op("AdjustSaturation").by(map_adjust_saturation);
  r.op("AdjustContrast").by(map_adjust_contrast_v1);
  r.op("AdjustContrastv2").by(map_adjust_contrast);
}

}  // namespace t2o::op_mappers
