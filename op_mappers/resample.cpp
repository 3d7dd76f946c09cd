#include "op_mappers/all.h"
#include "op_mappers/resize.h"
#include "op_mappers/segments.h"
#include "op_mappers/window.h"

// Resamplings that ONNX's Resize does not compute, or only for some sizes: each pixel is a weighted sum of a
// few source pixels, first along the height, then along the width.
namespace t2o::op_mappers {
namespace {

// The pixel o covers [o * scale, (o + 1) * scale) of the source; each source pixel counts by how much of it
// is covered.
struct Taps {
  Value *index, *weight, *scale;  // [out, taps] i64; [out, taps] f32; scalar f32
};

// [n, h, w, c] with the axis (0 height, 1 width) resampled
Value* weighted_sum(Emitter& e, Value* x, const Taps& taps, int axis) {
  Value* pixels = e.gather(x, taps.index, axis + 1);  // [n, out, taps, w, c] or [n, h, out, taps, c]
  Value* weight = e.unsqueeze(taps.weight, axis == 0 ? Ints{2, 3} : Ints{2});
  return e.reduce("ReduceSum", e.mul(pixels, weight), Ints{axis + 2}, false);
}

Taps area_taps(Emitter& e, const AxisSizes& axis, Sampling sampling) {
  Value* one = e.scalar(DType::f32, 1);
  Value* in = e.cast(axis.in, DType::f32);
  Value* out = e.cast(axis.out, DType::f32);
  Value* scale = source_scale(e, in, out, sampling);
  if (sampling == Sampling::align_corners) {  // a single pixel has none: all of its area counts
    Value* has_corners = e.greater(in, one);
    scale = e.where(has_corners, scale, e.div(in, out));
  }
  Value* pixel = e.reshape(pixel_range(e, axis.out), {-1, 1});
  Value* begin = e.mul(pixel, scale);
  Value* end = e.mul(e.add(pixel, one), scale);
  Value* taps = e.add(e.cast(e.ceil(scale), DType::i64), e.scalar(DType::i64, 1));
  Value* cell = e.add(e.floor(begin), pixel_range(e, taps));
  Value* right = e.minimum(e.add(cell, one), end);
  Value* left = e.maximum(cell, begin);
  Value* weight = e.maximum(e.sub(right, left), e.scalar(DType::f32, 0));
  // A tap without weight reads the last pixel that counts and shares its weight: 0 times an infinity would
  // spoil the sum.
  Value* last = e.sub(e.ceil(end), one);
  weight = shared_weights(e, weight, e.greater_equal(cell, last));
  Value* index = e.cast(e.maximum(e.minimum(cell, last), e.scalar(DType::f32, 0)), DType::i64);
  return {e.minimum(index, e.sub(axis.in, e.scalar(DType::i64, 1))), weight, scale};
}

Value* whole_factor_area(MapperContext& c, Value* x, std::int64_t height, std::int64_t width) {
  const Ints window{height, width};
  Value* pooled = c.emit("AveragePool", {to_channels_first(c, x, Layout::channels_last, 2)},
                         {{"kernel_shape", window}, {"strides", window}});
  return from_channels_first(c, pooled, Layout::channels_last, 2);
}

Values map_area(MapperContext& c) {
  const Sampling sampling = c.flag("align_corners") ? Sampling::align_corners : Sampling::legacy;
  Value* x = c.cast(c.in(0), DType::f32);
  const auto size = c.maybe_ints(1);
  if (sampling == Sampling::legacy && size && size->size() == 2 && (*size)[0] > 0 && (*size)[1] > 0 &&
      x->shape().ranked()) {
    const Dim h = x->shape()[1], w = x->shape()[2];
    if (is_known(h) && is_known(w) && h > 0 && w > 0 && h % (*size)[0] == 0 && w % (*size)[1] == 0)
      return {whole_factor_area(c, x, h / (*size)[0], w / (*size)[1])};
  }
  Value* area = nullptr;
  for (int axis = 0; axis < 2; ++axis) {
    const Taps taps = area_taps(c, axis_sizes(c, c.in(0), c.in(1), axis), sampling);
    x = weighted_sum(c, x, taps, axis);
    area = area ? c.mul(area, taps.scale) : taps.scale;
  }
  return {c.mul(x, c.div(c.scalar(DType::f32, 1), area))};
}

// Kernel of cubic convolution, by the distance d of a pixel:
//   (a + 2) d^3 - (a + 3) d^2 + 1 up to 1,   a d^3 - 5 a d^2 + 8 a d - 4 a up to 2
Value* cubic_near(Emitter& e, Value* d, double a) {
  Value* slope = e.sub(e.mul(d, e.scalar(DType::f32, a + 2)), e.scalar(DType::f32, a + 3));
  return e.add(e.mul(e.mul(slope, d), d), e.scalar(DType::f32, 1));
}
Value* cubic_far(Emitter& e, Value* d, double a) {
  Value* square = e.sub(e.mul(d, e.scalar(DType::f32, a)), e.scalar(DType::f32, 5 * a));
  Value* line = e.add(e.mul(square, d), e.scalar(DType::f32, 8 * a));
  return e.sub(e.mul(line, d), e.scalar(DType::f32, 4 * a));
}

// TensorFlow tabulates the kernel at multiples of 1/1024. With half_pixel_centers a = -0.5, and pixels
// outside of the image have no weight. Without it a = -0.75, and the borders repeat.
Taps cubic_taps(Emitter& e, const AxisSizes& axis, Sampling sampling) {
  const bool keys = sampling == Sampling::half_pixel;
  const double a = keys ? -0.5 : -0.75;
  Value* scale = source_scale(e, e.cast(axis.in, DType::f32), e.cast(axis.out, DType::f32), sampling);
  Value* pixel = e.reshape(pixel_range(e, axis.out), {-1, 1});
  Value* half = e.scalar(DType::f32, 0.5);
  Value* position = keys ? e.sub(e.mul(e.add(pixel, half), scale), half) : e.mul(pixel, scale);
  Value* left = e.floor(position);
  Value* steps = e.scalar(DType::f32, 1024);
  Value* t = e.div(e.round(e.mul(e.sub(position, left), steps)), steps);
  Value* one = e.scalar(DType::f32, 1);
  Value* rest = e.sub(one, t);
  Value* before = cubic_far(e, e.add(t, one), a);
  Value* at = cubic_near(e, t, a);
  Value* next = cubic_near(e, rest, a);
  Value* after = cubic_far(e, e.add(rest, one), a);
  Value* weight = e.concat({before, at, next, after}, 1);
  Value* wanted = e.add(e.cast(left, DType::i64), e.ints({-1, 0, 1, 2}));
  Value* last = e.sub(axis.in, e.scalar(DType::i64, 1));
  Value* index = e.minimum(e.maximum(wanted, e.scalar(DType::i64, 0)), last);
  if (!keys) return {index, weight, scale};
  Value* inside = e.where(e.equal(index, wanted), weight, e.scalar(DType::f32, 0));
  Value* sum = e.reduce("ReduceSum", inside, Ints{1}, true);
  return {index, e.div(inside, sum), scale};
}

template <ResizeForm form>
Values map_bicubic(MapperContext& c) {
  if (Value* resized = resize_cubic(c, form)) return {resized};
  const Sampling sampling = read_sampling(c);
  Value* x = c.cast(c.in(0), DType::f32);
  for (int axis = 0; axis < 2; ++axis) {
    const Taps taps = cubic_taps(c, axis_sizes(c, c.in(0), c.in(1), axis), sampling);
    x = weighted_sum(c, x, taps, axis);
  }
  return {x};
}

// One axis of the crops of all boxes; height: [boxes, crop, 1], width: [boxes, 1, crop].
struct CropAxis {
  Value *position, *inside;  // position is 0 where it is outside
  Value* in;                 // i64 scalar
};

// y1 * (in - 1) + i * (y2 - y1) * (in - 1) / (crop - 1), and the middle of the box where the crop has one
// pixel only. begin and end: [boxes, 1, 1].
Value* crop_positions(MapperContext& c, const AxisSizes& sizes, Value* begin, Value* end, Value* last,
                      int axis) {
  const auto along = [&] {
    Value* one = c.scalar(DType::f32, 1);
    Value* steps = c.maximum(c.sub(c.cast(sizes.out, DType::f32), one), one);
    Value* step = c.div(c.mul(c.sub(end, begin), last), steps);
    Value* pixels = pixel_range(c, sizes.out);
    if (axis == 0) pixels = c.reshape(pixels, {-1, 1});
    Value* first = c.mul(begin, last);
    return c.add(first, c.mul(pixels, step));
  };
  const auto middle = [&] { return c.mul(c.mul(c.scalar(DType::f32, 0.5), c.add(begin, end)), last); };
  const auto known = constant_ints(sizes.out);
  if (known && known->size() == 1) return known->front() > 1 ? along() : middle();
  Value* many = c.greater(sizes.out, c.scalar(DType::i64, 1));
  Value* rows = along();
  return c.where(many, rows, middle());
}

CropAxis crop_axis(MapperContext& c, Value* begin, Value* end, int axis, const AxisSizes& sizes) {
  Value* last = c.sub(c.cast(sizes.in, DType::f32), c.scalar(DType::f32, 1));
  Value* position = crop_positions(c, sizes, begin, end, last, axis);
  Value* not_before = c.greater_equal(position, c.scalar(DType::f32, 0));
  Value* inside = c.logical_and(not_before, c.less_equal(position, last));
  return {c.where(inside, position, c.scalar(DType::f32, 0)), inside, sizes.in};
}

// The pixels of all images, one behind the other; [boxes, height, width, c] of them.
class Pixels {
 public:
  Pixels(MapperContext& c, Value* image, Value* height, Value* width) : c_(c), width_(width) {
    flat_ = c.emit("Flatten", {image}, {{"axis", 3}});
    if (image->shape().ranked() && image->shape()[0] == 1)
      return;  // whose boxes can have no other index than 0
    Value* index = c.reshape(c.cast(c.in(2), DType::i64), {-1, 1, 1});
    first_row_ = c.mul(index, height);
  }
  Value* row(Value* y) {  // where it begins
    Value* index = c_.cast(y, DType::i64);
    return c_.mul(first_row_ ? c_.add(first_row_, index) : index, width_);
  }
  Value* column(Value* x) { return c_.cast(x, DType::i64); }
  Value* pick(Value* row, Value* column) { return c_.gather(flat_, c_.add(row, column), 0); }

 private:
  MapperContext& c_;
  Value *width_, *flat_, *first_row_ = nullptr;
};

// a + (b - a) * t
Value* between(Emitter& e, Value* a, Value* b, Value* t) { return e.add(a, e.mul(e.sub(b, a), t)); }

Value* crop_bilinear(MapperContext& c, Pixels& pixels, const CropAxis& y, const CropAxis& x) {
  Value* floor_y = c.floor(y.position);
  Value* floor_x = c.floor(x.position);
  Value* top = pixels.row(floor_y);
  Value* bottom = pixels.row(c.ceil(y.position));
  Value* left = pixels.column(floor_x);
  Value* right = pixels.column(c.ceil(x.position));
  Value* down = c.unsqueeze(c.sub(y.position, floor_y), {3});
  Value* across = c.unsqueeze(c.sub(x.position, floor_x), {3});
  Value* top_left = pixels.pick(top, left);
  Value* top_right = pixels.pick(top, right);
  Value* bottom_left = pixels.pick(bottom, left);
  Value* bottom_right = pixels.pick(bottom, right);
  Value* above = between(c, top_left, top_right, across);
  Value* below = between(c, bottom_left, bottom_right, across);
  return between(c, above, below, down);
}

// Halves go up; positions are never negative.
Value* rounded(Emitter& e, Value* position) {
  Value* index = e.floor(position);
  Value* up = e.greater_equal(e.sub(position, index), e.scalar(DType::f32, 0.5));
  return e.add(index, e.cast(up, DType::f32));
}

bool is_bilinear(MapperContext& c) {
  const auto method = c.attr_or<std::string>("method", "bilinear");
  if (method != "bilinear" && method != "nearest")
    c.fail(Code::unsupported_attr, "method '" + method + "' is not known");
  return method == "bilinear";
}

// All positions of a box, of both axes and for both of a pixel's neighbours, side by side: each step is one
// node.
struct CropColumns {
  Ints axis, end;  // of each column: 0 height, 1 width; where the box says its end
  Floats pixel, steps;
  Ints low;  // 1: the neighbour below, else the one above
  CropColumns(const Ints& crop, int copies) {
    for (std::int64_t a = 0; a < 2; ++a)
      for (int copy = 0; copy < copies; ++copy)
        for (std::int64_t i = 0; i < nth(crop, a); ++i) {
          axis.push_back(a);
          end.push_back(a + 2);
          pixel.push_back(static_cast<float>(i));
          steps.push_back(static_cast<float>(nth(crop, a) - 1));
          low.push_back(copy == 0 ? 1 : 0);
        }
  }
  std::int64_t size() const { return static_cast<std::int64_t>(axis.size()); }
  template <class T, class V>
  Value* constant(Emitter& e, const V& values) const {
    return e.constant(Tensor::of<T>({size(), 1, 1}, std::vector<T>(values.begin(), values.end())));
  }
};

struct Crops {
  Value *position, *inside;  // [boxes, columns, 1, 1]; position is 0 where it is outside
  Value* sizes;              // [2]
};

// As crop_positions says.
Crops crop_columns(MapperContext& c, const CropColumns& columns) {
  Value* zero = c.scalar(DType::f32, 0);
  Value* boxes = c.unsqueeze(c.in(1), {2, 3});
  Value* begin = c.gather(boxes, c.ints(columns.axis), 1);
  Value* end = c.gather(boxes, c.ints(columns.end), 1);
  Value* sizes = c.dims(c.in(0), 1, 3);
  Value* last_ones = c.sub(c.cast(sizes, DType::f32), c.scalar(DType::f32, 1));
  Value* last = c.gather(last_ones, columns.constant<std::int64_t>(c, columns.axis), 0);
  Value* step = c.div(c.mul(c.sub(end, begin), last), columns.constant<float>(c, columns.steps));
  Value* first = c.mul(begin, last);
  Value* position = c.add(first, c.mul(columns.constant<float>(c, columns.pixel), step));
  Value* not_before = c.greater_equal(position, zero);
  Value* inside = c.logical_and(not_before, c.less_equal(position, last));
  return {c.where(inside, position, zero), inside, sizes};
}

// Of more than one pixel in each direction.
Values crop_together(MapperContext& c, const Ints& crop, bool bilinear) {
  const std::int64_t h = crop[0], w = crop[1], n = bilinear ? 2 : 1;
  const CropColumns columns(crop, static_cast<int>(n));
  const Crops at = crop_columns(c, columns);
  Value* floor = c.floor(at.position);
  Value* low = c.cast(columns.constant<std::int64_t>(c, columns.low), DType::boolean);
  Value* index = bilinear ? c.where(low, floor, c.ceil(at.position)) : rounded(c, at.position);
  const Values places = c.split(c.cast(index, DType::i64), {n * h, n * w}, 1);
  Pixels pixels(c, c.cast(c.in(0), DType::f32), c.gather(at.sizes, c.i64(0), 0),
                c.gather(at.sizes, c.i64(1), 0));
  Value* rows = pixels.row(c.squeeze(places[0], {3}));
  Value* crops = pixels.pick(rows, c.reshape(places[1], {0, 1, n * w}));
  Ints parts{h, w};
  if (bilinear) {
    parts = {h, h, w, w};
    const Values share = c.split(c.sub(at.position, floor), parts, 1);
    const Values across = c.split(crops, {w, w}, 2);
    Value* mixed = between(c, across[0], across[1], c.reshape(share[2], {0, 1, w, 1}));
    const Values down = c.split(mixed, {h, h}, 1);
    crops = between(c, down[0], down[1], share[0]);
  }
  const Values inside = c.split(at.inside, parts, 1);
  Value* both = c.logical_and(inside[0], c.reshape(inside[bilinear ? 2 : 1], {0, 1, w, 1}));
  return {c.where(both, crops,
                  c.scalar(DType::f32, static_cast<double>(c.attr_or("extrapolation_value", 0.0f))))};
}

Values map_crop_and_resize(MapperContext& c) {
  const bool bilinear = is_bilinear(c);
  const auto crop = c.maybe_ints(3);
  constexpr std::int64_t kMostPixels = 1 << 12;
  if (crop && crop->size() == 2 && (*crop)[0] > 1 && (*crop)[1] > 1 && (*crop)[0] + (*crop)[1] < kMostPixels)
    return crop_together(c, *crop, bilinear);
  const Values side = c.split(c.unsqueeze(c.in(1), {2}), {1, 1, 1, 1}, 1);
  const CropAxis y = crop_axis(c, side[0], side[2], 0, axis_sizes(c, c.in(0), c.in(3), 0));
  const CropAxis x = crop_axis(c, side[1], side[3], 1, axis_sizes(c, c.in(0), c.in(3), 1));
  Pixels pixels(c, c.cast(c.in(0), DType::f32), y.in, x.in);
  Value* crops = nullptr;
  if (bilinear) {
    crops = crop_bilinear(c, pixels, y, x);
  } else {
    Value* row = pixels.row(rounded(c, y.position));
    Value* column = pixels.column(rounded(c, x.position));
    crops = pixels.pick(row, column);
  }
  Value* inside = c.unsqueeze(c.logical_and(y.inside, x.inside), {3});
  const auto outside = static_cast<double>(c.attr_or("extrapolation_value", 0.0f));
  return {c.where(inside, crops, c.scalar(DType::f32, outside))};
}

// ---- gradients

Values map_bicubic_grad(MapperContext& c) {  // in(1): the source
  const Sampling sampling = read_sampling(c);
  std::vector<Weights> matrices;
  for (int axis = 0; axis < 2; ++axis) {
    const AxisSizes sizes{c.dim(c.in(1), axis + 1), c.dim(c.in(0), axis + 1)};
    const Taps taps = cubic_taps(c, sizes, sampling);
    matrices.push_back(tap_weights(c, taps.index, taps.weight, sizes.in));
  }
  return {c.cast(resize_gradient(c, c.in(0), matrices[0], matrices[1]), c.output_dtype())};
}

// [boxes, 1, crop, size]: how much of each pixel is in each of the crop; position: [boxes, crop, 1]
Value* crop_weights(MapperContext& c, Value* position, Value* inside, Value* size, bool bilinear) {
  Value* pixel = pixel_range(c, size);
  const auto is_at = [&](Value* place) { return c.cast(c.equal(place, pixel), DType::f32); };
  Value* weights = nullptr;
  if (bilinear) {
    Value* below = c.floor(position);
    Value* share = c.sub(position, below);
    Value* low = c.mul(is_at(below), c.sub(c.scalar(DType::f32, 1), share));
    weights = c.add(low, c.mul(is_at(c.ceil(position)), share));
  } else {
    weights = is_at(rounded(c, position));
  }
  return c.unsqueeze(c.mul(weights, c.cast(inside, DType::f32)), {1});
}

// Each box's gradient as one of a whole image; those of one image are summed.
template <By by>
Values map_crop_grad(MapperContext& c) {
  const bool bilinear = is_bilinear(c);
  Value* sizes = c.cast(c.in(3), DType::i64);
  const auto size = [&](std::int64_t axis) { return c.gather(sizes, c.constant(axis), 0); };
  Value* boxes = c.unsqueeze(c.in(1), {2});
  const Values side = c.split(boxes, {1, 1, 1, 1}, 1);
  const CropAxis y = crop_axis(c, side[0], side[2], 0, {size(1), c.dim(c.in(0), 1)});
  const CropAxis x = crop_axis(c, side[1], side[3], 1, {size(2), c.dim(c.in(0), 2)});
  const Ints turned{0, 2, 1};
  Value* columns =
      crop_weights(c, c.transpose(x.position, turned), c.transpose(x.inside, turned), x.in, bilinear);
  Value* rows = crop_weights(c, y.position, y.inside, y.in, bilinear);
  Value* g = to_channels_first(c, c.in(0), Layout::channels_last, 2);
  Value* wide = weighted_sums(c, g, {columns}, [&](Value* pixels, Value* m) { return c.matmul(pixels, m); });
  Value* images = weighted_sums(c, wide, {c.transpose(rows, {0, 1, 3, 2})},
                                [&](Value* pixels, Value* m) { return c.matmul(m, pixels); });
  Value* sum = segment_sum(c, by, images, c.cast(c.in(2), DType::i64), as_vector(c, size(0)));
  return {c.cast(from_channels_first(c, sum, Layout::channels_last, 2), c.output_dtype())};
}

}  // namespace

void register_resample(OpRegistry& r) {
  r.op("ResizeArea").by(map_area);
  constexpr auto kSpreads = "a NaN or an infinity may spread to neighbouring pixels";  // by weights of 0
  r.op("ResizeBicubic").note(kSpreads).by(map_bicubic<ResizeForm::empty_inputs>);
  r.op("ResizeBicubic").since(13).note(kSpreads).by(map_bicubic<ResizeForm::omitted_inputs>);
  r.op("CropAndResize").by(map_crop_and_resize);
  r.op("ResizeBicubicGrad").by(map_bicubic_grad);
  r.op("CropAndResizeGradImage")
      .note("below opset 16 memory of boxes times images")
      .by(map_crop_grad<By::compare>);
  r.op("CropAndResizeGradImage").since(16).by(map_crop_grad<By::scatter>);
}

}  // namespace t2o::op_mappers
