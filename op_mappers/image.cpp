#include <limits>

#include "op_mappers/all.h"
#include "op_mappers/apply.h"
#include "op_mappers/numbers.h"
#include "op_mappers/random_source.h"
#include "op_mappers/window.h"

namespace t2o::op_mappers {
namespace {

Value* number(Emitter& e, double v) { return e.scalar(DType::f32, v); }

// Whole numbers of f32, towards zero
Value* truncated(Emitter& e, Value* x) { return e.cast(e.cast(x, DType::i64), DType::f32); }

Value* limited(Emitter& e, Value* x, Value* n) {
  Value* last = e.sub(n, number(e, 1));
  return e.maximum(e.minimum(x, last), number(e, 0));
}

// [dcba|abcd|dcba]: the period is 2n; within it t and 2n - 1 - t are the same pixel.
Value* reflected(Emitter& e, Value* x, Value* n) {
  Value* period = e.mul(n, number(e, 2));
  Value* zero = number(e, 0);
  Value* below = e.less(x, zero);
  Value* periods_below = truncated(e, e.div(e.neg(x), period));
  Value* low = e.add(x, e.mul(period, periods_below));
  Value* first_half = e.less(low, e.neg(n));
  Value* mirrored = e.sub(e.neg(low), number(e, 1));
  low = e.where(first_half, e.add(low, period), mirrored);
  Value* last = e.sub(n, number(e, 1));
  Value* beyond = e.greater(x, last);
  Value* high = e.sub(x, e.mul(period, truncated(e, e.div(x, period))));
  Value* second_half = e.greater_equal(high, n);
  Value* from_end = e.sub(e.sub(period, high), number(e, 1));
  high = e.where(second_half, from_end, high);
  return limited(e, e.where(below, low, e.where(beyond, high, x)), n);
}

// [abcd|abcd|abcd], with the period n but counted in steps of n - 1, as TensorFlow does it.
Value* wrapped(Emitter& e, Value* x, Value* n) {
  Value* last = e.sub(n, number(e, 1));
  Value* steps = e.maximum(last, number(e, 1));  // a single pixel ends at 0 anyway
  Value* below = e.less(x, number(e, 0));
  Value* rounds_below = e.add(truncated(e, e.div(e.neg(x), steps)), number(e, 1));
  Value* low = e.add(x, e.mul(n, rounds_below));
  Value* beyond = e.greater(x, last);
  Value* high = e.sub(x, e.mul(n, truncated(e, e.div(x, steps))));
  return limited(e, e.where(below, low, e.where(beyond, high, x)), n);
}

Value* mapped(MapperContext& c, Value* x, Value* n, const std::string& mode) {
  if (mode == "CONSTANT") return x;
  if (mode == "NEAREST") return limited(c, x, n);
  if (mode == "REFLECT") return reflected(c, x, n);
  if (mode == "WRAP") return wrapped(c, x, n);
  c.fail(Code::unsupported_attr, "fill_mode '" + mode + "' is not known");
}

struct Positions {
  Value *x, *y, *finite;  // [transforms, height, width] of f32 and of bool
};

// x' = (t0 x + t1 y + t2) / (t6 x + t7 y + 1), y' = (t3 x + t4 y + t5) / the same
Positions project(MapperContext& c, Value* transforms) {
  Value* size = c.cast(c.in(2), DType::i64);
  Value* height = c.gather(size, c.i64(0), 0);
  Value* width = c.gather(size, c.i64(1), 0);
  Value* y = c.unsqueeze(c.cast(iota(c, height), DType::f32), {0, 2});
  Value* x = c.unsqueeze(c.cast(iota(c, width), DType::f32), {0, 1});
  const Values t = c.split(c.unsqueeze(transforms, {2}), Ints(8, 1), 1);  // each [transforms, 1, 1]
  const auto line = [&](std::size_t i, Value* constant) {
    Value* along = c.mul(t[i], x);
    return c.add(c.add(along, c.mul(t[i + 1], y)), constant);
  };
  Value* scale = line(6, number(c, 1));
  Value* finite = c.logical_not(c.equal(scale, number(c, 0)));
  Value* safe = c.where(finite, scale, number(c, 1));
  Value* from_x = c.div(line(0, t[2]), safe);
  return {from_x, c.div(line(3, t[5]), safe), finite};
}

struct Sampler {
  Value* pixels;                 // [batch * height * width, channels]
  Value *height, *width;         // scalars of f32
  Value *first, *fill, *finite;  // [batch, 1, 1] i64: the first pixel of each image; scalar; [.., h, w]
};

// [batch, h, w, channels]: the pixels at whole coordinates, the fill value outside
Value* read(Emitter& e, const Sampler& s, Value* y, Value* x) {
  Value* zero = number(e, 0);
  Value* y_fits = e.logical_and(e.greater_equal(y, zero), e.less(y, s.height));
  Value* x_fits = e.logical_and(e.greater_equal(x, zero), e.less(x, s.width));
  Value* fits = e.logical_and(y_fits, x_fits);
  Value* row = e.cast(e.where(fits, y, zero), DType::i64);
  Value* column = e.cast(e.where(fits, x, zero), DType::i64);
  Value* place = e.add(e.mul(row, e.cast(s.width, DType::i64)), column);
  Value* pixels = e.gather(s.pixels, e.add(s.first, place), 0);
  return e.where(e.unsqueeze(fits, {3}), pixels, s.fill);
}

Value* bilinear(Emitter& e, const Sampler& s, Value* y, Value* x) {
  Value* top = e.floor(y);
  Value* left = e.floor(x);
  Value* bottom = e.add(top, number(e, 1));
  Value* right = e.add(left, number(e, 1));
  Value* down = e.unsqueeze(e.sub(y, top), {3});
  Value* up = e.unsqueeze(e.sub(bottom, y), {3});
  Value* across = e.unsqueeze(e.sub(x, left), {3});
  Value* back = e.unsqueeze(e.sub(right, x), {3});
  const auto line = [&](Value* row) {
    Value* near = e.mul(back, read(e, s, row, left));
    return e.add(near, e.mul(across, read(e, s, row, right)));
  };
  Value* above = e.mul(up, line(top));
  return e.add(above, e.mul(down, line(bottom)));
}

Values project_image(MapperContext& c, Value* fill) {
  const auto interpolation = c.attr<std::string>("interpolation");
  const auto mode = c.attr_or<std::string>("fill_mode", "CONSTANT");
  if (interpolation != "NEAREST" && interpolation != "BILINEAR")
    c.fail(Code::unsupported_attr, "interpolation '" + interpolation + "' is not known");
  Value* image = c.in(0);
  const DType type = image->dtype();
  const bool nearest = interpolation == "NEAREST";
  const DType work = nearest ? type : DType::f32;
  const Positions p = project(c, c.in(1));
  Sampler s;
  s.height = c.cast(c.dim(image, 1), DType::f32);
  s.width = c.cast(c.dim(image, 2), DType::f32);
  Value* channels = c.dims(image, 3, 4);
  s.pixels = c.reshape_to(c.cast(image, work), c.concat({c.ints({-1}), channels}, 0));
  Value* per_image = c.mul(c.dim(image, 1), c.dim(image, 2));
  s.first = c.unsqueeze(c.mul(iota(c, c.dim(image, 0)), per_image), {1, 2});
  s.fill = c.cast(c.cast(fill, type), work);
  Value* y = mapped(c, p.y, s.height, mode);
  Value* x = mapped(c, p.x, s.width, mode);
  Value* result = nullptr;
  if (nearest) {
    Value* row = round_away(c, y);
    result = read(c, s, row, round_away(c, x));
  } else {
    result = bilinear(c, s, y, x);
  }
  result = c.where(c.unsqueeze(p.finite, {3}), result, s.fill);
  return {c.cast(result, type)};
}
Values map_projection_v2(MapperContext& c) { return project_image(c, number(c, 0)); }
Values map_projection_v3(MapperContext& c) { return project_image(c, c.in(3)); }

// ---- Dilation2D: the maximum over a window of x + filter

Value* window_places(Emitter& e, Value* padded, const Window& w, std::size_t axis) {
  const std::int64_t stride = w.strides[axis];
  Value* count = e.div(e.sub(padded, e.i64(w.extent(axis) - stride)), e.constant(stride));
  Value* starts = e.reshape(e.mul(iota(e, count), e.constant(stride)), {-1, 1});
  return e.add(starts, e.ints(w.offsets(axis)));
}

// [n, out h, kernel h, out w, kernel w, channels]
Value* dilation_windows(MapperContext& c, Value* x, const Window& w, double fill) {
  if (w.padding == "SAME") {
    Value* pads = runtime_same_pads(c, x, w, 1);
    Value* none = c.ints({0});
    Value* begins = c.slice(pads, {0}, {2}, {0});
    Value* ends = c.slice(pads, {2}, {4}, {0});
    x = c.pad(x, c.concat({none, begins, none, none, ends, none}, 0), c.scalar_like(x, fill));
  }
  for (int i = 0; i < 2; ++i) {
    const int axis = 1 + 2 * i;
    x = c.gather(x, window_places(c, c.dim(x, axis), w, static_cast<std::size_t>(i)), axis);
  }
  return x;
}

// The sums may wrap around: what is not in the image is left out of the maximum.
Value* dilation_of_integers(MapperContext& c, const Window& w) {
  Value* x = c.in(0);
  Value* sizes = c.concat({c.ints({1}), c.dims(x, 1, 3), c.ints({1})}, 0);
  Value* all = c.expand(c.scalar(DType::i32, 1), sizes);
  Value* inside = c.cast(dilation_windows(c, all, w, 0), DType::boolean);
  Value* sums = c.add(dilation_windows(c, x, w, 0), c.unsqueeze(c.in(1), {1}));
  Value* counted = c.where(inside, sums, lowest(c, x->dtype()));
  return apply_one(c, "Max", {counted, c.ints({2, 4})});
}

Values map_dilation(MapperContext& c) {
  Window w = read_window(c, Layout::channels_last, 2);
  w.dilations = spatial_entries(c, c.attr_or("rates", Ints(4, 1)), Layout::channels_last, 2, "rates");
  w.kernel = {c.dim_of(1, 0), c.dim_of(1, 1)};
  const DType type = c.in(0)->dtype();
  if (!is_float(type)) return {dilation_of_integers(c, w)};
  const DType work = type == DType::f64 ? DType::f64 : DType::f32;
  // pads never win: TensorFlow begins with the lowest number, which is all that a window beyond the image has
  constexpr double kNever = -std::numeric_limits<double>::infinity();
  Value* x = dilation_windows(c, c.cast(c.in(0), work), w, kNever);
  Value* filter = c.unsqueeze(c.cast(c.in(1), work), {1});
  Value* sums = c.add(x, filter);
  Value* low = c.cast(lowest(c, type), work);  // it passes over NaN
  Value* finite = c.where(c.greater(sums, low), sums, low);
  Value* y = c.reduce("ReduceMax", finite, Ints{2, 4}, false);
  return {c.cast(y, type)};
}

// ---- ExtractGlimpse: a window of each image around its own place, zeros or noise outside

// Random numbers between the image's lowest and highest, or with the mean and the deviation of its channels.
Value* outside_of(MapperContext& c, const RandomSource& from, Value* dims) {
  const bool is_uniform = c.attr_or<std::int64_t>("uniform_noise", 1) != 0;
  const auto stated = c.attr_or<std::string>("noise", "uniform");
  const std::string noise = !stated.empty() ? stated : is_uniform ? "uniform" : "gaussian";
  Value* image = c.in(0);
  if (noise == "zero") return c.scalar_like(image, 0);
  if (noise == "uniform") {
    Value* low = c.reduce("ReduceMin", image, Ints{1, 2, 3}, true);
    Value* span = c.sub(c.reduce("ReduceMax", image, Ints{1, 2, 3}, true), low);
    return c.add(c.mul(from.uniform(c, dims, DType::f32), span), low);
  }
  if (noise != "gaussian") c.fail(Code::unsupported_attr, "noise '" + noise + "' is not known");
  Value* mean = c.reduce("ReduceMean", image, Ints{1, 2}, true);
  Value* apart = c.sub(image, mean);
  Value* deviation = c.sqrt(c.reduce("ReduceMean", c.mul(apart, apart), Ints{1, 2}, true));
  return c.add(c.mul(from.normal(c, dims, DType::f32), deviation), mean);
}

struct Glimpse {
  bool normalized, centered, first_version;
};

// Where the windows begin along an axis, [batch, 1] of i64, towards zero
Value* glimpse_begin(MapperContext& c, const Glimpse& g, int axis, Value* in, Value* out) {
  Value* at = c.slice(c.in(2), {axis}, {axis + 1}, {1});
  Value* half = c.mul(in, number(c, 0.5));
  Value* half_window = c.mul(out, number(c, 0.5));
  if (g.normalized) at = c.mul(at, in);
  if (g.first_version) {
    if (g.centered) at = c.add(c.mul(at, number(c, 0.5)), half);
    at = c.sub(at, half_window);
  } else if (g.centered) {
    at = g.normalized ? c.sub(c.add(c.mul(at, number(c, 0.5)), half), half_window) : c.add(at, half);
  }
  return c.cast(at, DType::i64);
}

Values extract_glimpse(MapperContext& c, bool first_version, const RandomSource& from) {
  const Glimpse g{c.attr_or<std::int64_t>("normalized", 1) != 0, c.attr_or<std::int64_t>("centered", 1) != 0,
                  first_version};
  Value* image = c.in(0);
  Value* size = c.cast(c.in(1), DType::i64);
  Value* channels = c.dims(image, 3, 4);
  Value* pixels = c.reshape_to(image, c.concat({c.ints({-1}), channels}, 0));
  Value *place[2], *fits[2];
  for (int axis = 0; axis < 2; ++axis) {
    Value* in = c.dim(image, axis + 1);
    Value* out = c.gather(size, c.i64(axis), 0);
    Value* begin = glimpse_begin(c, g, axis, c.cast(in, DType::f32), c.cast(out, DType::f32));
    Value* at = c.add(begin, iota(c, out));  // [batch, out]
    Value* zero = c.i64(0);
    Value* inside = c.logical_and(c.greater_equal(at, zero), c.less(at, in));
    place[axis] = c.unsqueeze(c.where(inside, at, zero), {axis == 0 ? 2 : 1});
    fits[axis] = c.unsqueeze(inside, axis == 0 ? Ints{2, 3} : Ints{1, 3});
  }
  Value* width = c.dim(image, 2);
  Value* per_image = c.mul(c.dim(image, 1), width);
  Value* first = c.unsqueeze(c.mul(iota(c, c.dim(image, 0)), per_image), {1, 2});
  Value* index = c.add(c.add(first, c.mul(place[0], width)), place[1]);
  Value* inside = c.logical_and(fits[0], fits[1]);
  Value* outside = outside_of(c, from, c.concat({c.dims(image, 0, 1), c.reshape(size, {2}), channels}, 0));
  return {c.where(inside, c.gather(pixels, index, 0), outside)};
}

}  // namespace

void register_image(OpRegistry& r) {
  r.op("ImageProjectiveTransformV2").by(map_projection_v2);
  r.op("ImageProjectiveTransformV3").by(map_projection_v3);
  r.op("Dilation2D").note("the filter's size must be known").by(map_dilation);
  for (const bool first_version : {true, false}) {
    const std::string op = first_version ? "ExtractGlimpse" : "ExtractGlimpseV2";
    const std::string note = "noise: other numbers of the same distribution";
    r.op(op).note(note).by(
        [=](MapperContext& c) { return extract_glimpse(c, first_version, kRandomOperators); });
    r.op(op).since(22).note(note).by(
        [=](MapperContext& c) { return extract_glimpse(c, first_version, random_source(c)); });
  }
}

}  // namespace t2o::op_mappers
