#include <algorithm>

#include "op_mappers/all.h"
#include "op_mappers/apply.h"
#include "op_mappers/fused.h"
#include "op_mappers/loop.h"
#include "op_mappers/mirror.h"
#include "op_mappers/numbers.h"
#include "op_mappers/window.h"
#include "op_mappers/window_gather.h"

namespace t2o::op_mappers {
namespace {

Dim dim_or_unknown(const Value* v, int axis) { return v->shape().ranked() ? v->shape()[axis] : kUnknownDim; }

Ints kernel_extent(const Value* kernel, std::size_t spatial) {
  Ints k;
  for (std::size_t i = 0; i < spatial; ++i) {
    const Dim d = dim_or_unknown(kernel, static_cast<int>(i));
    k.push_back(is_known(d) ? d : kUnknownDim);
  }
  return k;
}

void set_kernel(Window& w, Value* kernel) {
  w.kernel = kernel_extent(kernel, w.spatial());
  w.filter = kernel;
}

// [h, w, in, out] -> [out, in, h, w]
Value* kernel_channels_first(Emitter& e, Value* kernel, std::size_t spatial) {
  const auto n = static_cast<std::int64_t>(spatial);
  Ints perm{n + 1, n};
  append(perm, ints_from(0, n));
  return e.transpose(kernel, perm);
}

// [h, w, in, multiplier] -> [in * multiplier, 1, h, w]
Value* depthwise_kernel(MapperContext& c, Value* kernel) {
  Value* k = c.transpose(kernel, {2, 3, 0, 1});
  const Ints extent = kernel_extent(kernel, 2);
  if (is_known(extent[0]) && is_known(extent[1])) return c.reshape(k, {-1, 1, extent[0], extent[1]});
  return c.reshape_to(k, c.concat({c.ints({-1, 1}), c.dims(k, 2, 4)}, 0));
}

// Where channels are not known: what the op says (Conv does), else one group.
std::int64_t group_count(MapperContext& c, Dim input_channels, Dim kernel_channels) {
  const auto stated = c.attr_or<std::int64_t>("groups", 1);
  if (stated < 1 || input_channels == 0) c.fail(Code::bad_model, "there are no groups, or no channels");
  if (!is_known(input_channels) || !is_known(kernel_channels)) return stated;
  if (kernel_channels == 0 || input_channels % kernel_channels != 0)
    c.fail(Code::bad_model, std::to_string(input_channels) +
                                " input channels are not a multiple of the kernel's " +
                                std::to_string(kernel_channels));
  return input_channels / kernel_channels;
}

// How many groups there are shows when the model runs: the kernel [out, in / groups, ...] as one of a single
// group, with zeros for the channels of the other groups.
Value* ungrouped(MapperContext& c, Value* kernel, Value* x, std::size_t spatial) {
  Value* zero = c.i64(0);
  Value* one = c.i64(1);
  Value *in = c.dim(x, 1), *out = c.dim(kernel, 0), *own = c.dim(kernel, 1);
  Value* groups = c.div(in, own);
  Value* repeats = c.concat({c.ints({1}), c.unsqueeze(groups, {0}), c.ints(Ints(spatial, 1))}, 0);
  Value* of_input = c.div(c.range(zero, in, one), own);
  Value* of_output = c.div(c.range(zero, out, one), c.div(out, groups));
  Value* same = c.equal(c.unsqueeze(of_output, {1}), of_input);
  Ints behind;
  for (std::size_t i = 0; i < spatial; ++i) behind.push_back(static_cast<std::int64_t>(i) + 2);
  Value* mask = c.unsqueeze(same, behind);
  return c.where(mask, c.tile(kernel, repeats), c.scalar_like(kernel, 0));
}

void add_group(Attrs& attrs, std::int64_t group) {
  if (group != 1) attrs.push_back({"group", group});
}

Value* convolve_integers(MapperContext& c, Value* x, Value* kernel, const Window& w, std::int64_t group) {
  if (!std::ranges::all_of(w.kernel, is_known))
    c.fail(Code::not_constant, "the size of a kernel of integers is not known", "give it a static shape");
  Value* padded = pad_for_windows(c, x, w, 2, c.scalar_like(x, 0));
  return integer_convolution(c, padded, kernel, w, group);
}

Value* convolve(MapperContext& c, Value* input, Value* kernel, Window w) {
  const std::size_t n = w.spatial();
  set_kernel(w, kernel);
  w.crops = w.spatial() == 3;
  Value* x = to_channels_first(c, input, w.layout, n);
  const bool integers = is_int(x->dtype());
  auto [padded, attrs, _] = integers ? Windowed{x, {}} : apply_window(c, x, w, 0);
  const Dim channels = dim_or_unknown(x, 1), own = dim_or_unknown(kernel, static_cast<int>(n));
  const std::int64_t group = group_count(c, channels, own);
  if (const Dim filters = dim_or_unknown(kernel, static_cast<int>(n) + 1);
      is_known(filters) && filters % group != 0)
    c.fail(Code::bad_model, std::to_string(filters) + " filters are not a multiple of the " +
                                std::to_string(group) + " groups of channels");
  Value* k = kernel_channels_first(c, kernel, n);
  const bool unclear =
      group == 1 && (!is_known(channels) || !is_known(own)) && !(is_symbol(own) && channels == own);
  if (unclear) k = ungrouped(c, k, x, n);
  add_group(attrs, group);
  Value* y = integers ? convolve_integers(c, x, k, w, group) : c.emit("Conv", {padded, k}, attrs);
  return from_channels_first(c, y, w.layout, n);
}

Values map_conv2d(MapperContext& c) { return {convolve(c, c.in(0), c.in(1), read_window(c, c.layout(), 2))}; }
Values map_conv3d(MapperContext& c) { return {convolve(c, c.in(0), c.in(1), read_window(c, c.layout(), 3))}; }

// The general operator "Conv": one to three spatial axes.
Values map_conv(MapperContext& c) {
  const auto format = c.attr_or<std::string>("data_format", "CHANNELS_LAST");
  if (format != "CHANNELS_LAST" && format != "CHANNELS_FIRST")
    c.fail(Code::unsupported_attr, "data_format '" + format + "' is not known");
  if (c.attr_or<std::int64_t>("batch_dims", 1) != 1)
    c.fail(Code::unsupported_attr, "batch_dims other than 1",
           "reshape the batch axes into one before the Conv");
  const auto strides = c.attr<Ints>("strides");
  if (strides.size() < 3 || strides.size() > 5) c.fail(Code::bad_model, "strides needs 3 to 5 entries");
  const Layout layout = format == "CHANNELS_LAST" ? Layout::channels_last : Layout::channels_first;
  return {convolve(c, c.in(0), c.in(1), read_window(c, layout, strides.size() - 2))};
}

// One channel after the other, as many as there are. x: [N, C, h, w], padded; k: [C * multiplier, 1, h, w].
Value* depthwise_in_turn(MapperContext& c, Value* x, Value* k, const Attrs& attrs) {
  Value* channels = c.dim(x, 1);
  Value* multiplier = c.div(c.dim(k, 0), channels);
  Value* kernels =
      c.reshape_to(k, c.concat({as_vector(c, channels), as_vector(c, multiplier), c.dims(k, 1, 4)}, 0));
  const Step step = [&](Emitter& e, Value* channel, const Values&) -> Values {
    Value* kernel = e.gather(kernels, e.squeeze(channel, {0}), 0);
    return {e.emit("Conv", {e.gather(x, channel, 1), kernel}, attrs)};
  };
  Value* y = c.transpose(counted_loop(c, channels, {}, step)[0], {1, 0, 2, 3, 4});
  return c.reshape_to(y, c.concat({c.dims(y, 0, 1), c.dims(k, 0, 1), c.dims(y, 3, 5)}, 0));
}

Value* depthwise(MapperContext& c) {
  Window w = read_window(c, c.layout(), 2);
  Value* kernel = c.in(1);
  set_kernel(w, kernel);
  Value* x = to_channels_first(c, c.in(0), w.layout, 2);
  Dim group = dim_or_unknown(kernel, 2);
  if (!is_known(group)) group = dim_or_unknown(x, 1);
  auto [padded, attrs, _] = apply_window(c, x, w, 0);
  Value* k = depthwise_kernel(c, kernel);
  if (!is_known(group)) return from_channels_first(c, depthwise_in_turn(c, padded, k, attrs), w.layout, 2);
  add_group(attrs, group);
  return from_channels_first(c, c.emit("Conv", {padded, k}, attrs), w.layout, 2);
}
Values map_depthwise(MapperContext& c) { return {depthwise(c)}; }

Values map_fused_conv2d(MapperContext& c) {
  if (c.attr_or<std::string>("filter_format", "HWIO") != "HWIO")
    c.fail(Code::unsupported_attr, "filter_format other than HWIO");
  const Window w = read_window(c, c.layout(), 2);
  return {apply_fused_ops(c, convolve(c, c.in(0), c.in(1), w), 2, w.layout)};
}
Values map_fused_depthwise(MapperContext& c) {
  const Layout layout = c.layout();
  return {apply_fused_ops(c, depthwise(c), 2, layout)};
}

// TensorFlow's kernel gives each image of a batch the result of the first one.
bool is_single(MapperContext& c) { return dim_or_unknown(c.in(0), 0) == 1; }
Value* first_image(MapperContext& c) { return is_single(c) ? c.in(0) : c.slice(c.in(0), {0}, {1}, {0}); }
Values for_all_images(MapperContext& c, Value* y) {
  if (is_single(c)) return {y};
  Value* batch = c.dims(c.in(0), 0, 1);
  return {c.expand(y, c.concat({batch, c.ints({1, 1, 1})}, 0))};
}

Values map_fused_pad_conv2d(MapperContext& c) {
  refuse_wide_strides(c, 2);
  const Window w = read_window(c, Layout::channels_last, 2);
  Value* x = mirror_pad(c, first_image(c), c.in(1), c.attr<std::string>("mode"));
  return for_all_images(c, convolve(c, x, c.in(2), w));
}

Values map_fused_resize_pad_conv2d(MapperContext& c) {
  refuse_wide_strides(c, 3);
  const Window w = read_window(c, Layout::channels_last, 2);
  Value* resized = c.cast_like(apply_one(c, "ResizeBilinear", {first_image(c), c.in(1)}), c.in(0));
  Value* x = mirror_pad(c, resized, c.in(2), c.attr<std::string>("mode"));
  return for_all_images(c, convolve(c, x, c.in(3), w));
}

// value + bias along the channels
Values map_bias_add(MapperContext& c) {
  if (c.layout() == Layout::channels_last) return {c.add(c.in(0), c.in(1))};
  return {add_bias(c, c.in(0), c.in(1), Layout::channels_first)};
}
Values map_bias_add_v1(MapperContext& c) { return {c.add(c.in(0), c.in(1))}; }

}  // namespace

void register_conv(OpRegistry& r) {
  r.op("Conv2D").note("NHWC and NCHW, groups").ignores({"use_cudnn_on_gpu"}).by(map_conv2d);
  r.op("Conv3D").by(map_conv3d);
  r.op("Conv").note("batch_dims 1").by(map_conv);
  r.op("DepthwiseConv2dNative").by(map_depthwise);
  r.op("_FusedConv2D").ignores({"use_cudnn_on_gpu", "num_args", "num_host_args"}).by(map_fused_conv2d);
  r.op("_FusedDepthwiseConv2dNative").ignores({"num_args"}).by(map_fused_depthwise);
  r.op("FusedResizeAndPadConv2D")
      .note("as in TensorFlow, every image gets the result of the first one")
      .by(map_fused_resize_pad_conv2d);
  r.op("FusedPadConv2D")
      .note("as in TensorFlow, every image gets the result of the first one")
      .by(map_fused_pad_conv2d);
  r.op("BiasAdd").by(map_bias_add);
  r.op("BiasAddV1").by(map_bias_add_v1);
}

}  // namespace t2o::op_mappers
