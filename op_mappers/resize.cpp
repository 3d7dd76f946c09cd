#include "op_mappers/resize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "op_mappers/all.h"
#include "op_mappers/numbers.h"
#include "op_mappers/pool_grad.h"
#include "op_mappers/source_patterns.h"
#include "op_mappers/window.h"

namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kLargestTable = 1 << 20;

using Form = ResizeForm;

const char* coordinates(Sampling s) {
  switch (s) {
    case Sampling::align_corners:
      return "align_corners";
    case Sampling::half_pixel:
      return "half_pixel";
    case Sampling::legacy:
      break;
  }
  return "asymmetric";
}

struct StaticSizes {
  Ints in, out;
};
std::optional<StaticSizes> static_sizes(const Value* nhwc, const Value* size) {
  const auto out = constant_ints(size);
  if (!out || out->size() != 2 || !nhwc->shape().ranked() || nhwc->shape().rank() != 4) return std::nullopt;
  const Ints in{nhwc->shape()[1], nhwc->shape()[2]};
  if (!is_known(in[0]) || !is_known(in[1])) return std::nullopt;
  return StaticSizes{in, *out};
}

// By which whole factors the image grows, where that is known.
std::optional<Ints> whole_factors(const MapperContext& c) {
  const auto sizes = static_sizes(c.in(0), c.in(1));
  if (!sizes) return factors_of_size(c.node().input(1), c.node().input(0));
  const auto divides = [&](std::size_t i) {
    return sizes->in[i] > 0 && sizes->out[i] > 0 && sizes->out[i] % sizes->in[i] == 0;
  };
  return divides(0) && divides(1)
             ? std::optional(Ints{sizes->out[0] / sizes->in[0], sizes->out[1] / sizes->in[1]})
             : std::nullopt;
}

// The scale for a runtime that computes the sizes and the places by the same number: floor(in * scale) is the
// output size in every precision, and scale is the nearest such number to out / in.
std::optional<std::vector<float>> exact_scales(const MapperContext& c) {
  if (const auto factors = whole_factors(c))
    return std::vector<float>{static_cast<float>((*factors)[0]), static_cast<float>((*factors)[1])};
  const auto sizes = static_sizes(c.in(0), c.in(1));
  if (!sizes) return std::nullopt;
  std::vector<float> scales;
  for (const std::size_t i : {0U, 1U}) {
    const Dim in = sizes->in[i], out = sizes->out[i];
    if (in < 1 || out < 1 || in > kLargestTable || out > kLargestTable) return std::nullopt;
    const float scale = static_cast<float>(out) / static_cast<float>(in);
    const double exact = static_cast<double>(scale) * static_cast<double>(in);
    const float single = scale * static_cast<float>(in);
    if (std::floor(exact) != static_cast<double>(out) || std::floor(single) != static_cast<float>(out))
      return std::nullopt;
    scales.push_back(scale);
  }
  return scales;
}

// By scales no node has to compute the sizes of a dynamic batch.
Value* resize(MapperContext& c, Value* nhwc, Attrs attrs, Form form) {
  Value* x = to_channels_first(c, nhwc, Layout::channels_last, 2);
  Value* none = form == Form::empty_inputs ? c.constant<float>({0}, std::vector<float>{}) : nullptr;
  Values in{x, none};
  if (const auto scales = exact_scales(c)) {
    in.push_back(c.constant<float>({4}, std::vector<float>{1, 1, scales->at(0), scales->at(1)}));
  } else {
    Value* batch_and_channels = c.dims(x, 0, 2);
    Value* height_and_width = c.reshape(c.cast(c.in(1), DType::i64), {2});
    in.push_back(none);
    in.push_back(c.concat({batch_and_channels, height_and_width}, 0));
  }
  return from_channels_first(c, c.emit("Resize", in, std::move(attrs)), Layout::channels_last, 2);
}

Values bilinear(MapperContext& c, Form form) {
  const std::string coords = coordinates(read_sampling(c));
  Value* x = c.cast(c.in(0), DType::f32);
  return {resize(c, x, {{"mode", std::string("linear")}, {"coordinate_transformation_mode", coords}}, form)};
}

struct NearestMode {
  const char *coordinates, *rounding;
};
constexpr std::array<NearestMode, 4> kNearestModes{{{"asymmetric", "floor"},
                                                    {"half_pixel", "round_prefer_ceil"},
                                                    {"half_pixel", "round_prefer_floor"},
                                                    {"align_corners", "round_prefer_ceil"}}};

// ONNX's Resize where it picks the very pixels of TensorFlow, which depends on the sizes.
const NearestMode* nearest_mode(const StaticSizes& s, Sampling sampling) {
  for (const std::int64_t n : {s.in[0], s.in[1], s.out[0], s.out[1]})
    if (n < 1 || n > kLargestTable) return nullptr;
  for (const NearestMode& mode : kNearestModes) {
    const auto agrees = [&](std::size_t i) {
      return tf_nearest(s.in[i], s.out[i], sampling) ==
             onnx_nearest(s.in[i], s.out[i], mode.coordinates, mode.rounding);
    };
    if (agrees(0) && agrees(1)) return &mode;
  }
  return nullptr;
}

// Pixel i of the result is pixel i / factor: so in TensorFlow's arithmetic too, where it computes with halves
// or powers of two.
bool repeats_pixels(const MapperContext& c, Sampling sampling) {
  const auto factors = whole_factors(c);
  const auto is_power = [](std::int64_t f) { return (f & (f - 1)) == 0; };
  return factors && (sampling == Sampling::half_pixel ||
                     (sampling == Sampling::legacy && is_power((*factors)[0]) && is_power((*factors)[1])));
}

Values nearest(MapperContext& c, Form form) {
  const Sampling sampling = read_sampling(c);
  const DType t = c.in(0)->dtype();
  const bool resizable = t != DType::i64 && t != DType::u64;  // runtimes have no kernel for them
  const auto sizes = static_sizes(c.in(0), c.in(1));
  const NearestMode* mode = sizes                         ? nearest_mode(*sizes, sampling)
                            : repeats_pixels(c, sampling) ? &kNearestModes[0]
                                                          : nullptr;
  if (mode && resizable)
    return {resize(c, c.in(0),
                   {{"mode", std::string("nearest")},
                    {"coordinate_transformation_mode", std::string(mode->coordinates)},
                    {"nearest_mode", std::string(mode->rounding)}},
                   form)};
  Value* rows = nearest_index(c, axis_sizes(c, c.in(0), c.in(1), 0), sampling);
  Value* x = c.gather(c.in(0), rows, 1);
  Value* columns = nearest_index(c, axis_sizes(c, c.in(0), c.in(1), 1), sampling);
  return {c.gather(x, columns, 2)};
}

// ---- gradients: of the source, as many times each pixel as the resized image read it

// [out, in]: how much of each pixel of the source is in each of the resized image
Weights nearest_weights(Emitter& e, const AxisSizes& axis, Sampling sampling) {
  Value* source = e.unsqueeze(nearest_index(e, axis, sampling), {1});
  Value* pixel = iota(e, axis.in);
  return {e.cast(e.equal(source, pixel), DType::f32)};
}

Weights linear_weights(Emitter& e, const AxisSizes& axis, Sampling sampling) {
  Value* scale = source_scale(e, e.cast(axis.in, DType::f32), e.cast(axis.out, DType::f32), sampling);
  Value* half = e.scalar(DType::f32, 0.5);
  Value* i = pixel_range(e, axis.out);
  Value* position =
      sampling == Sampling::half_pixel ? e.sub(e.mul(e.add(i, half), scale), half) : e.mul(i, scale);
  Value* below = e.floor(position);
  Value* share = e.sub(position, below);
  Value* last = e.sub(e.cast(axis.in, DType::f32), e.scalar(DType::f32, 1));
  Value* low = e.maximum(below, e.scalar(DType::f32, 0));
  Value* high = e.minimum(e.ceil(position), last);
  Value* pixel = pixel_range(e, axis.in);
  const auto at = [&](Value* place, Value* weight) {
    Value* here = e.cast(e.equal(e.unsqueeze(place, {1}), pixel), DType::f32);
    return e.mul(here, e.unsqueeze(weight, {1}));
  };
  Value* one = e.scalar(DType::f32, 1);
  Value* of_low = at(low, e.sub(one, share));
  Value* matrix = e.add(of_low, at(high, share));
  Value* unweighted = at(high, e.cast(e.equal(share, e.scalar(DType::f32, 0)), DType::f32));
  return {matrix, nullptr, unweighted};  // the weight of the lower pixel is never 0, and keeps there too
}

using WeightsOf = Weights (*)(Emitter&, const AxisSizes&, Sampling);
Value* gradient_to(MapperContext& c, Value* height, Value* width, WeightsOf weights) {
  const Sampling sampling = read_sampling(c);
  Value* g = c.cast(c.in(0), DType::f32);
  const Weights rows = weights(c, {height, c.dim(g, 1)}, sampling);
  const Weights columns = weights(c, {width, c.dim(g, 2)}, sampling);
  return c.cast(resize_gradient(c, g, rows, columns), c.output_dtype());
}

Values map_bilinear_grad(MapperContext& c) {
  Value* height = c.dim(c.in(1), 1);
  return {gradient_to(c, height, c.dim(c.in(1), 2), linear_weights)};
}
Values map_nearest_grad(MapperContext& c) {
  Value* size = c.cast(c.in(1), DType::i64);
  Value* height = c.gather(size, c.i64(0), 0);
  return {gradient_to(c, height, c.gather(size, c.i64(1), 0), nearest_weights)};
}

// TensorFlow tabulates the cubic kernel at multiples of 1/1024 of a pixel: does each pixel lie on one? Not
// for images that shrink, of which runtimes may widen the kernel.
bool is_tabulated(std::int64_t in, std::int64_t out, Sampling sampling) {
  if (in < 1 || out < in || out > kLargestTable) return false;
  if (sampling == Sampling::align_corners) return out == 1 || (1024 * (in - 1)) % (out - 1) == 0;
  return ((sampling == Sampling::half_pixel ? 512 : 1024) * in) % out == 0;
}

bool is_tabulated(const MapperContext& c, Sampling sampling) {
  if (const auto s = static_sizes(c.in(0), c.in(1)))
    return is_tabulated(s->in[0], s->out[0], sampling) && is_tabulated(s->in[1], s->out[1], sampling);
  const auto factors = whole_factors(c);
  return factors && sampling != Sampling::align_corners && is_tabulated(1, (*factors)[0], sampling) &&
         is_tabulated(1, (*factors)[1], sampling);
}

// A cubic Resize takes a tenth of the time of Gathers where few channels are last, and many times as much
// where they are first, as between convolutions.
bool has_few_channels_last(const Value* nhwc) {
  constexpr int kDeepest = 16;
  constexpr std::int64_t kMostChannels = 32;
  const Shape& s = nhwc->shape();
  if (!s.ranked() || s.rank() != 4 || !is_known(s[3]) || s[3] > kMostChannels) return false;
  for (int depth = 0; depth < kDeepest; ++depth) {
    const ir::Node* n = nhwc->producer();
    if (!n) return true;
    constexpr std::string_view kElementwise[] = {"Add", "Cast", "Clip", "Div", "Mul", "Sub"};
    if (!contains(kElementwise, n->op())) return false;
    nhwc = n->input(n->input(0)->constant() ? 1 : 0);
  }
  return false;
}

}  // namespace

// With half_pixel_centers pixels outside of the image have no weight, else the borders repeat.
Value* resize_cubic(MapperContext& c, ResizeForm form) {
  const Sampling sampling = read_sampling(c);
  const auto factors = whole_factors(c);
  if (!factors || !is_tabulated(c, sampling) || !has_few_channels_last(c.in(0))) return nullptr;
  const bool keys = sampling == Sampling::half_pixel;
  Attrs attrs{{"mode", std::string("cubic")},
              {"coordinate_transformation_mode", std::string(coordinates(sampling))}};
  if (keys) attrs.push_back({"exclude_outside", 1});
  attrs.push_back({"cubic_coeff_a", keys ? -0.5f : -0.75f});
  Value* x = c.cast(c.in(0), DType::f32);
  Value* none = form == Form::empty_inputs ? c.constant<float>({0}, std::vector<float>{}) : nullptr;
  Value* scales = c.constant<float>(
      {4}, std::vector<float>{1, static_cast<float>((*factors)[0]), static_cast<float>((*factors)[1]), 1});
  return c.emit("Resize", {x, none, scales}, std::move(attrs));
}

Sampling read_sampling(MapperContext& c) {
  const bool align = c.flag("align_corners") || c.flag("resize_align_corners"),
             half = c.flag("half_pixel_centers");
  if (align && half) c.fail(Code::bad_model, "align_corners and half_pixel_centers are both set");
  return align ? Sampling::align_corners : half ? Sampling::half_pixel : Sampling::legacy;
}

AxisSizes axis_sizes(Emitter& e, Value* nhwc, Value* size, int axis) {
  Value* in = e.dim(nhwc, axis + 1);
  Value* out = e.gather(e.cast(size, DType::i64), e.scalar(DType::i64, axis), 0);
  return {in, out};
}

Value* pixel_range(Emitter& e, Value* out) { return e.cast(iota(e, out), DType::f32); }

Value* source_scale(Emitter& e, Value* in, Value* out, Sampling sampling) {
  if (sampling != Sampling::align_corners) return e.div(in, out);
  Value* one = e.scalar(DType::f32, 1);
  Value* aligned = e.div(e.sub(in, one), e.maximum(e.sub(out, one), one));
  return e.where(e.greater(out, one), aligned, e.div(in, out));
}

// The source of each pixel in the arithmetic of TensorFlow's kernel, single precision included.
Value* nearest_index(Emitter& e, const AxisSizes& axis, Sampling sampling) {
  Value* out = e.cast(axis.out, DType::f32);
  Value* scale = source_scale(e, e.cast(axis.in, DType::f32), out, sampling);
  Value* i = pixel_range(e, axis.out);
  if (sampling == Sampling::half_pixel) i = e.add(i, e.scalar(DType::f32, 0.5));
  Value* position = e.mul(i, scale);
  Value* index = e.floor(position);
  if (sampling == Sampling::align_corners) {  // halves go up
    Value* up = e.greater_equal(e.sub(position, index), e.scalar(DType::f32, 0.5));
    index = e.add(index, e.cast(up, DType::f32));
  }
  return e.minimum(e.cast(index, DType::i64), e.sub(axis.in, e.scalar(DType::i64, 1)));
}

Value* tap_matrix(Emitter& e, Value* index, Value* weight, Value* in) {
  Value* pixel = iota(e, in);
  Value* here = e.cast(e.equal(e.unsqueeze(index, {2}), pixel), DType::f32);
  return e.reduce("ReduceSum", e.mul(here, e.unsqueeze(weight, {2})), Ints{1}, false);
}

Weights tap_weights(Emitter& e, Value* index, Value* weight, Value* in) {
  Value* zero = e.scalar(DType::f32, 0);
  Value* matrix = tap_matrix(e, index, weight, in);
  Value* keeps = tap_matrix(e, index, e.cast(e.greater_equal(weight, zero), DType::f32), in);
  return {matrix, keeps, tap_matrix(e, index, e.cast(e.less_equal(weight, zero), DType::f32), in)};
}

Value* shared_weights(Emitter& e, Value* weight, Value* same) {
  Value* shares = e.cast(same, DType::f32);
  Value* all = e.reduce("ReduceSum", e.mul(weight, shares), Ints{1}, true);
  Value* readers = e.maximum(e.reduce("ReduceSum", shares, Ints{1}, true), e.scalar(DType::f32, 1));
  return e.where(same, e.div(all, readers), weight);
}

Value* resize_gradient(Emitter& e, Value* gradient, const Weights& rows, const Weights& columns) {
  Value* first = to_channels_first(e, gradient, Layout::channels_last, 2);
  Value* sums = spatial_products(e, first, {rows, columns});
  return from_channels_first(e, sums, Layout::channels_last, 2);
}

Ints tf_nearest(std::int64_t in, std::int64_t out, Sampling sampling) {
  const bool aligned = sampling == Sampling::align_corners;
  const float scale = aligned && out > 1 ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
                                         : static_cast<float>(in) / static_cast<float>(out);
  Ints r;
  for (std::int64_t i = 0; i < out; ++i) {
    const float position = (static_cast<float>(i) + (sampling == Sampling::half_pixel ? 0.5f : 0.0f)) * scale;
    const float index = aligned ? std::round(position) : std::floor(position);
    r.push_back(std::min(static_cast<std::int64_t>(index), in - 1));
  }
  return r;
}

// As runtimes do it, in single precision. Empty where exact arithmetic would pick other pixels: a runtime
// might.
Ints onnx_nearest(std::int64_t in, std::int64_t out, const std::string& coords, const std::string& rounding) {
  const auto pick = [&]<class T>(T i) {
    const T n = static_cast<T>(in), m = static_cast<T>(out), scale = m / n;
    T x = i / scale;
    if (coords == "half_pixel") x = (i + T(0.5)) / scale - T(0.5);
    if (coords == "align_corners") x = m == T(1) ? T(0) : i * (n - T(1)) / (m - T(1));
    T index = std::floor(x);
    if (rounding == "round_prefer_ceil") index = std::round(x);
    if (rounding == "round_prefer_floor") index = std::ceil(x - T(0.5));
    return std::clamp<std::int64_t>(static_cast<std::int64_t>(index), 0, in - 1);
  };
  Ints r;
  for (std::int64_t i = 0; i < out; ++i) {
    r.push_back(pick(static_cast<float>(i)));
    if (r.back() != pick(static_cast<double>(i))) return {};
  }
  return r;
}

void register_resize(OpRegistry& r) {
  const auto with = [](Values (*map)(MapperContext&, Form), Form form) {
    return [=](MapperContext& c) { return map(c, form); };
  };
  constexpr auto kSpreads = "a NaN or an infinity may spread to neighbouring pixels";  // by weights of 0
  r.op("ResizeBilinear").note(kSpreads).by(with(bilinear, Form::empty_inputs));
  r.op("ResizeBilinear").since(13).note(kSpreads).by(with(bilinear, Form::omitted_inputs));
  r.op("ResizeNearestNeighbor").by(with(nearest, Form::empty_inputs));
  r.op("ResizeNearestNeighbor").since(13).by(with(nearest, Form::omitted_inputs));
  r.op("ResizeBilinearGrad").by(map_bilinear_grad);
  r.op("ResizeNearestNeighborGrad").by(map_nearest_grad);
}

}  // namespace t2o::op_mappers
