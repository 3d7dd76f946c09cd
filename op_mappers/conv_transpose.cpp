#include <algorithm>

#include "op_mappers/all.h"
#include "op_mappers/apply.h"
#include "op_mappers/conv_grad.h"
#include "op_mappers/window.h"

// The gradients of convolutions with respect to their input, which models use as transposed convolutions.
namespace t2o::op_mappers {
namespace {

struct Sizes {     // of the result's spatial axes
  Ints known;      // symbols too; -1 where not known
  Value* runtime;  // 1-D i64
};

Sizes result_sizes(MapperContext& c, const Window& w) {
  Value* sizes = c.in(0);
  const std::size_t n = w.spatial();
  const Shape& shape = sizes->shape();
  const bool short_form = shape.ranked() && shape.rank() == 1 && shape[0] == static_cast<Dim>(n);
  const std::size_t first = short_form ? 0 : w.layout == Layout::channels_last ? 1 : 2;
  Ints known(n, kUnknownDim);
  auto elements = constant_ints(sizes);
  if (!elements && sizes->known_elements()) elements = *sizes->known_elements();
  if (elements && elements->size() >= first + n)
    std::copy_n(elements->begin() + static_cast<std::ptrdiff_t>(first), n, known.begin());
  const auto begin = static_cast<std::int64_t>(first), count = static_cast<std::int64_t>(n);
  if (!shape.ranked() ||
      (shape.rank() == 1 && !is_known(shape[0]))) {  // n sizes or n + 2 of them, as it turns out
    Value* is_long = c.div(c.shape_of(sizes), c.ints({count + 2}));
    Value* start = c.mul(is_long, c.ints({begin}));
    return {known, c.cast(c.slice(sizes, start, c.add(start, c.ints({count})), c.ints({0})), DType::i64)};
  }
  Value* spatial = c.slice(sizes, {begin}, {begin + count}, {0});
  return {known, c.cast(spatial, DType::i64)};
}

struct AxisPlan {
  std::int64_t begin, end, output_padding;
  bool crop;  // the result is cut out when the model runs
};

// Where in = stride * out + rest, as when a model doubles a size, the plan is one for all sizes.
std::optional<AxisPlan> plan_multiple(MapperContext& c, const Window& w, std::size_t i, Dim in, Dim out) {
  const std::int64_t extent = w.extent(i), stride = w.strides[i];
  Symbols& symbols = c.graph().symbols();
  const auto whole = symbols.affine_of(in), part = symbols.affine_of(out);
  if (whole.base != part.base || whole.factor != part.factor * stride) return std::nullopt;
  const std::int64_t rest = whole.offset - part.offset * stride;
  Extents pad{0, 0};
  if (w.padding == "EXPLICIT") pad = {w.pad_begin[i], w.pad_end[i]};
  if (w.padding == "SAME") {
    if (rest > 0 || rest <= -stride) return std::nullopt;  // then out is not in / stride, rounded up
    const std::int64_t total = std::max<std::int64_t>(extent - stride - rest, 0);
    pad = {total / 2, total - total / 2};
  }
  const std::int64_t output_padding = rest + stride + pad.begin + pad.end - extent;
  if (output_padding < 0 || output_padding >= stride) return std::nullopt;
  return AxisPlan{pad.begin, pad.end, output_padding, false};
}

// Forward: out = floor((in + begin + end - extent) / stride) + 1. The gradient must have `in` elements again:
// in = (out - 1) * stride + extent - begin - end + output_padding
AxisPlan plan_axis(MapperContext& c, const Window& w, std::size_t i, Dim in, Dim given) {
  const std::int64_t extent = w.extent(i), stride = w.strides[i];
  if (!is_known(w.kernel[i])) return {0, 0, stride - 1, true};
  Extents pad{0, 0};
  if (w.padding == "EXPLICIT") pad = {w.pad_begin[i], w.pad_end[i]};
  if (stride == 1) {
    if (w.padding == "SAME") pad = same_padding(1, extent, 1);
    return {pad.begin, pad.end, 0, false};
  }
  if (is_symbol(in) && is_symbol(given))
    if (const auto plan = plan_multiple(c, w, i, in, given)) return *plan;
  if (!is_known(in)) return {0, 0, stride - 1, true};
  if (w.padding == "SAME") pad = same_padding(in, extent, stride);
  const std::int64_t room = in + pad.begin + pad.end - extent;
  if (w.padding != "SAME" && room < 0) c.fail(Code::bad_model, "the kernel is larger than the padded result");
  const std::int64_t out = w.padding == "SAME" ? (in + stride - 1) / stride : room / stride + 1;
  const std::int64_t rest = room - (out - 1) * stride;
  if (rest < 0 || rest >= stride) c.fail(Code::bad_model, "input_sizes does not fit strides and padding");
  return {pad.begin, pad.end, rest, false};
}

// extent - stride
Value* beyond_stride(MapperContext& c, Value* kernel, const Window& w, std::int64_t axis) {
  const auto i = static_cast<std::size_t>(axis);
  if (is_known(w.kernel[i])) return c.ints({w.extent(i) - w.strides[i]});
  const int at = static_cast<int>(axis) + 2;
  Value* spread = c.mul(c.dims(kernel, at, at + 1), c.ints({w.dilations[i]}));
  return c.add(spread, c.ints({1 - w.dilations[i] - w.strides[i]}));
}

// begin = max((out - 1) * stride + extent - in, 0) / 2 for SAME
Value* crop_start(MapperContext& c, Value* x, Value* kernel, Value* in, const Window& w, std::int64_t axis) {
  const auto i = static_cast<std::size_t>(axis);
  if (w.padding == "VALID") return c.ints({0});
  if (w.padding == "EXPLICIT") return c.ints({w.pad_begin[i]});
  Value* out = c.dims(x, static_cast<int>(axis) + 2, static_cast<int>(axis) + 3);
  Value* beyond = beyond_stride(c, kernel, w, axis);
  Value* full = c.add(c.mul(out, c.ints({w.strides[i]})), beyond);
  Value* total = c.maximum(c.sub(full, in), c.ints({0}));
  return c.div(total, c.ints({2}));
}

Value* crop(MapperContext& c, Value* y, Value* x, Value* kernel, const Sizes& sizes, const Window& w,
            const Ints& axes) {
  Values starts, ends;
  Ints tensor_axes;
  for (const std::int64_t axis : axes) {
    Value* in = c.slice(sizes.runtime, {axis}, {axis + 1}, {0});
    Value* start = crop_start(c, x, kernel, in, w, axis);
    starts.push_back(start);
    ends.push_back(c.add(start, in));
    tensor_axes.push_back(axis + 2);
  }
  Value* all_starts = c.concat(starts, 0);
  Value* all_ends = c.concat(ends, 0);
  return c.slice(y, all_starts, all_ends, c.ints(tensor_axes));
}

// kernel: channels first, [channels of x, result channels / group, spatial ...]
Value* transposed(MapperContext& c, Value* kernel, std::int64_t group, const Window& w) {
  const std::size_t n = w.spatial();
  Value* x = to_channels_first(c, c.in(2), w.layout, n);
  const Sizes sizes = result_sizes(c, w);
  Ints begins, ends, output_padding, cropped;
  for (std::size_t i = 0; i < n; ++i) {
    const AxisPlan p = plan_axis(c, w, i, sizes.known[i],
                                 x->shape().ranked() ? x->shape()[static_cast<int>(i) + 2] : kUnknownDim);
    begins.push_back(p.begin);
    ends.push_back(p.end);
    output_padding.push_back(p.output_padding);
    if (p.crop) cropped.push_back(static_cast<std::int64_t>(i));
  }
  Ints pads = begins;
  append(pads, ends);
  Attrs attrs{{"strides", w.strides}, {"dilations", w.dilations}, {"pads", pads}};
  const bool has_size = std::ranges::all_of(w.kernel, is_known);
  if (has_size) attrs.insert(attrs.begin(), {"kernel_shape", w.kernel});
  attrs.push_back({"output_padding", output_padding});
  if (group != 1) attrs.push_back({"group", group});
  Value* y = c.emit("ConvTranspose", {x, kernel}, attrs);
  if (!cropped.empty()) y = crop(c, y, x, kernel, sizes, w, cropped);
  return from_channels_first(c, y, w.layout, n);
}

Window window_with_kernel(MapperContext& c, std::size_t spatial) {
  Window w = read_window(c, c.layout(), spatial);
  const Shape& kernel = c.in(1)->shape();
  for (std::size_t i = 0; i < spatial && kernel.ranked(); ++i)
    if (is_known(kernel[static_cast<int>(i)])) w.kernel[i] = kernel[static_cast<int>(i)];
  return w;
}

// The result's channels over the kernel's; one where input_sizes does not tell them.
std::int64_t group_count(MapperContext& c, const Window& w) {
  Value* sizes = c.in(0);
  auto elements = constant_ints(sizes);
  if (!elements && sizes->known_elements()) elements = *sizes->known_elements();
  const std::size_t n = w.spatial(), channel = w.layout == Layout::channels_last ? n + 1 : 1;
  const Shape& kernel = c.in(1)->shape();
  if (!elements || elements->size() != n + 2 || !kernel.ranked()) return 1;
  const Dim result = (*elements)[channel], per_group = kernel[static_cast<int>(n)];
  if (result <= 0 || per_group <= 0) return 1;
  if (result % per_group != 0)
    c.fail(Code::bad_model, "input_sizes' channels are not a multiple of the kernel's");
  return result / per_group;
}

// [h, w, result channels, channels of x] -> [channels of x, result channels, h, w]
Values map_transposed(MapperContext& c, std::size_t spatial) {
  const Window w = window_with_kernel(c, spatial);
  const auto n = static_cast<std::int64_t>(spatial);
  Ints perm{n + 1, n};
  append(perm, ints_from(0, n));
  Value* kernel = c.transpose(c.in(1), perm);
  return {transposed(c, kernel, group_count(c, w), w)};
}
Values map_conv2d_backprop(MapperContext& c) { return map_transposed(c, 2); }
Values map_conv3d_backprop(MapperContext& c) { return map_transposed(c, 3); }

// The first input is of the shape that the result has.
Mapper of_shape_like(const std::string& op) {
  return [op](MapperContext& c) { return apply(c, op, {c.shape_of(c.in(0)), c.in(1), c.in(2)}); };
}

// [h, w, channels, multiplier] -> [channels * multiplier, 1, h, w]
Values map_depthwise_backprop(MapperContext& c) {
  const Window w = window_with_kernel(c, 2);
  const std::int64_t channels = c.dim_of(1, 2);
  Value* k = c.transpose(c.in(1), {2, 3, 0, 1});
  const bool has_size = is_known(w.kernel[0]) && is_known(w.kernel[1]);
  Value* kernel = has_size ? c.reshape(k, {-1, 1, w.kernel[0], w.kernel[1]})
                           : c.reshape_to(k, c.concat({c.ints({-1, 1}), c.dims(k, 2, 4)}, 0));
  return {transposed(c, kernel, channels, w)};
}

}  // namespace

void register_conv_transpose(OpRegistry& r) {
  r.op("Conv2DBackpropInput")
      .note("runtime output size; NHWC and NCHW")
      .ignores({"use_cudnn_on_gpu"})
      .by(map_conv2d_backprop);
  r.op("Conv3DBackpropInputV2").by(map_conv3d_backprop);
  r.op("Conv2DBackpropInputV2").ignores({"use_cudnn_on_gpu"}).by(of_shape_like("Conv2DBackpropInput"));
  r.op("Conv3DBackpropInput").by(of_shape_like("Conv3DBackpropInputV2"));
  r.op("DepthwiseConv2dNativeBackpropInput").by(map_depthwise_backprop);
  register_filter_gradients(r);
}

}  // namespace t2o::op_mappers
