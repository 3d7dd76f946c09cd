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
Value* hue(Emitter& e, const Colors& c, Value* colored) {
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
  Value* h = c.div(hue(c, s, c.greater(s.range, zero)), c.scalar_like(rgb, 6));
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

// For each sixth of the circle: which of [red, green, blue] is the highest channel, and which is the middle
// one. A hue that is NaN, or a whole circle, counts as the last sixth, or as none.
struct Sectors {
  Value *highest, *middle;  // [..., 3] of h [..., 1]
};

Sectors sectors_of(Emitter& e, Value* h, bool last_of_others) {
  const auto table = [&](const std::vector<float>& rows) {
    return e.cast(e.constant<float>({7, 3}, rows), DType::boolean);
  };
  const float other = last_of_others ? 1 : 0;
  Value* places = e.i64(6);
  Value* sector = e.minimum(e.cast(h, DType::i64), places);
  Value* is_number = e.greater_equal(h, e.scalar_like(h, 0));
  Value* row = e.squeeze(e.where(is_number, sector, places), {-1});
  Value* highest = table({1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, other, 0, 0});
  Value* middle = table({0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, other});
  Value* is_highest = e.gather(highest, row, 0);
  return {is_highest, e.gather(middle, row, 0)};
}

// How high the middle channel is of a hue: up and down again in each third of the circle
Value* share_of_middle(Emitter& e, Value* h) {
  Value* two = e.scalar_like(h, 2);
  Value* one = e.scalar_like(h, 1);
  Value* third = e.sub(h, e.mul(e.floor(e.div(h, two)), two));
  return e.sub(one, e.abs(e.sub(third, one)));
}

// The hue turns, lowest and highest channel keep their values. Comparisons and their order are TensorFlow's,
// so that a NaN goes where it goes there.
Values map_adjust_hue(MapperContext& c) {
  Value* rgb = work(c);
  const auto number = [&](double v) { return c.scalar_like(rgb, v); };
  const Values ch = c.split(rgb, {1, 1, 1}, -1);
  Value* rises = c.less(ch[0], ch[1]);
  Value* lower = c.where(rises, ch[0], ch[1]);
  Value* upper = c.where(rises, ch[1], ch[0]);
  Value* below = c.less(ch[2], lower);
  Value* above = c.greater(ch[2], upper);
  Value* low = c.where(below, ch[2], lower);
  Value* high = c.where(above, ch[2], upper);
  Value* middle = c.where(below, lower, c.where(above, upper, ch[2]));
  Value* range = c.sub(high, low);
  Value* ratio = c.div(c.sub(middle, low), range);
  // the corner of the circle that the hue lies before or behind
  Value* corner = c.where(above, number(4), c.where(rises, number(2), c.where(below, number(0), number(6))));
  Value* behind = c.emit("Xor", {rises, c.logical_or(below, above)});
  Value* hue = c.where(behind, c.add(corner, ratio), c.sub(corner, ratio));
  hue = c.where(c.equal(high, low), number(0), hue);
  Value* turned = c.add(hue, c.mul(c.cast_like(c.in(1), rgb), number(6)));
  Value* rounds = c.floor(c.div(turned, number(6)));
  Value* h = c.sub(turned, c.mul(rounds, number(6)));
  const Sectors s = sectors_of(c, h, true);
  Value* between = c.add(low, c.mul(share_of_middle(c, h), range));
  return {like_input(c, c.where(s.highest, high, c.where(s.middle, between, low)))};
}

// The hue and the highest channel v are kept, the saturation s = range / v is multiplied, up to 1:
//   v - s v, and to that s v for the highest channel, the middle's share of it for the middle one
Values map_adjust_saturation(MapperContext& c) {
  Value* rgb = work(c);
  const Values ch = c.split(rgb, {1, 1, 1}, -1);
  const auto larger = [&](Value* a, Value* b) {  // a if one is NaN
    return c.strict() ? c.where(c.less(a, b), b, a) : c.maximum(a, b);
  };
  const auto smaller = [&](Value* a, Value* b) {
    return c.strict() ? c.where(c.less(b, a), b, a) : c.minimum(a, b);
  };
  Value* high = larger(ch[0], larger(ch[1], ch[2]));
  Value* low = smaller(ch[0], smaller(ch[1], ch[2]));
  const Colors colors{ch, low, high, c.sub(high, low)};
  Value* zero = c.scalar_like(rgb, 0);
  Value* bright = c.greater(high, zero);
  Value* saturation = c.where(bright, c.div(colors.range, high), zero);
  Value* scaled = c.mul(saturation, c.cast_like(c.in(1), rgb));
  Value* some = c.where(c.greater(scaled, zero), scaled, zero);
  Value* chroma = c.mul(c.minimum(some, c.scalar_like(rgb, 1)), high);
  Value* h = hue(c, colors, c.logical_not(c.less_equal(colors.range, zero)));
  const Sectors s = sectors_of(c, h, false);
  Value* between = c.mul(chroma, share_of_middle(c, h));
  Value* own = c.where(s.highest, chroma, c.where(s.middle, between, zero));
  return {like_input(c, c.add(own, c.sub(high, chroma)))};
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
