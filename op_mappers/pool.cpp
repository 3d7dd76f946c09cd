#include <algorithm>
#include <limits>
#include <string_view>

#include "op_mappers/all.h"
#include "op_mappers/meaning.h"
#include "op_mappers/numbers.h"
#include "op_mappers/pool_grad.h"
#include "op_mappers/wide_integers.h"
#include "op_mappers/window_gather.h"

namespace t2o::op_mappers {
namespace {

constexpr double kLowest = -std::numeric_limits<double>::infinity();

// Over the channels: x is read as [n, h] images of [w, channels]. TensorFlow wants the window to tile the
// channels.
Value* max_over_channels(MapperContext& c, const Ints& ksize, const Ints& strides) {
  const bool plain = ksize[0] == 1 && ksize[1] == 1 && ksize[2] == 1 && strides == ksize && ksize[3] > 0;
  if (!plain || c.layout() != Layout::channels_last)
    c.fail(Code::unsupported_attr,
           "pooling over the channels needs strides equal to ksize, NHWC, and no other pooled axis");
  const Ints window{1, ksize[3]};
  return c.emit("MaxPool", {c.in(0)}, {{"kernel_shape", window}, {"strides", window}});
}

// A window that reaches beyond the image counts in SAME alone.
Value* of_whole_windows(Emitter& e, Value* y, const Window& w) {
  return w.padding == "SAME" ? y : meaning(e, y, onnx::kWindows, onnx::kWhole);
}

// Windows of one pixel pick that.
Value* picked_pixels(MapperContext& c, const Window& w) {
  const int spatial = static_cast<int>(w.spatial()), first = w.layout == Layout::channels_last ? 1 : 2;
  const Ints axes = ints_from(first, first + spatial);
  const Ints starts(w.spatial(), 0), ends(w.spatial(), std::numeric_limits<std::int64_t>::max());
  const bool all = std::ranges::all_of(w.strides, [](std::int64_t s) { return s == 1; });
  Value* x = all || spatial == 0 ? c.in(0) : c.slice(c.in(0), starts, ends, axes, w.strides);
  if (!c.strict() || !is_float(x->dtype())) return x;
  Value* low = lowest(c, x->dtype());  // from which a maximum starts; it passes over NaN
  return c.where(c.greater(x, low), x, low);
}

// No other type holds all 64-bit integers. The highest of a window is that of its columns' highest.
Value* max_of_wide_integers(MapperContext& c, const Window& w) {
  const int first = w.layout == Layout::channels_last ? 1 : 2;
  Value* x = pad_for_windows(c, c.in(0), w, first, c.i64(std::numeric_limits<std::int64_t>::min()));
  for (std::size_t i = 0; i < w.spatial(); ++i) {
    const int axis = first + static_cast<int>(i);
    x = gather_windows(c, x, w, i, axis);
    x = all_bits(c, c.reduce("ReduceMax", x, Ints{axis + 1}, false), x);
  }
  return x;
}

Value* max_pool(MapperContext& c, const Ints& ksize, const Ints& strides, std::size_t spatial) {
  if (ksize.size() != spatial + 2 || strides.size() != spatial + 2)
    c.fail(Code::bad_model, "ksize and strides need " + std::to_string(spatial + 2) + " entries");
  const Layout layout = c.layout();
  if (spatial == 2 && layout == Layout::channels_last && ksize[3] != 1) {
    const Window unused = read_window(c, layout, 2, Ints(4, 1));
    return max_over_channels(c, ksize, strides);
  }
  Window w = pool_window(c, layout, ksize, strides);
  w.crops = spatial == 3;
  const bool single = std::ranges::all_of(w.kernel, [](std::int64_t k) { return k == 1; });
  if (single && (w.padding == "VALID" || (w.padding == "SAME" && !w.crops))) return picked_pixels(c, w);
  if (c.in(0)->dtype() == DType::i64) return max_of_wide_integers(c, w);
  Value* x = to_channels_first(c, c.in(0), layout, spatial);
  auto [padded, attrs, _] = apply_window(c, x, w, kLowest);
  Value* most = meaning(c, c.emit("MaxPool", {padded}, attrs), onnx::kNan, onnx::kSkips);
  return from_channels_first(c, of_whole_windows(c, most, w), layout, spatial);
}

Values map_max_pool(MapperContext& c) {
  return {max_pool(c, c.attr<Ints>("ksize"), c.attr<Ints>("strides"), 2)};
}
Values map_max_pool_v2(MapperContext& c) { return {max_pool(c, c.const_ints(1), c.const_ints(2), 2)}; }
Values map_max_pool_3d(MapperContext& c) {
  return {max_pool(c, c.attr<Ints>("ksize"), c.attr<Ints>("strides"), 3)};
}

// How much of each window lies inside of x, as a fraction: the pooled padded ones.
Value* coverage(MapperContext& c, Value* x, const Window& w, const Attrs& attrs) {
  const int n = static_cast<int>(w.spatial());
  Value* ones = c.expand(c.scalar_like(x, 1), c.concat({c.ints({1, 1}), c.dims(x, 2, 2 + n)}, 0));
  const Windowed padded = apply_window(c, ones, w, 0);
  return c.emit("AveragePool", {padded.x}, attrs);
}

Values average_pool(MapperContext& c, std::size_t spatial) {
  const Layout layout = c.layout();
  const auto ksize = c.attr<Ints>("ksize"), strides = c.attr<Ints>("strides");
  if (ksize.size() != spatial + 2 || strides.size() != spatial + 2)
    c.fail(Code::bad_model, "ksize and strides need " + std::to_string(spatial + 2) + " entries");
  Window w = pool_window(c, layout, ksize, strides);
  w.crops = spatial == 3;
  Value* x = to_channels_first(c, c.in(0), layout, spatial);
  const Windowed windowed = apply_window(c, x, w, 0);
  Value* y = c.emit("AveragePool", {windowed.x}, windowed.attrs);
  if (windowed.padded) y = c.div(y, coverage(c, x, w, windowed.attrs));
  y = of_whole_windows(c, y, w);
  return {from_channels_first(c, y, layout, spatial)};
}
Values map_avg_pool(MapperContext& c) { return average_pool(c, 2); }
Values map_avg_pool_3d(MapperContext& c) { return average_pool(c, 3); }

// Positions within one image: from indices into a padded, channels-first tensor to row * width + column of x.
Value* image_position(MapperContext& c, Value* indices, Value* x, const Window& w, const Windowed& windowed) {
  Value* height = c.dims(windowed.x, 2, 3);
  Value* width = c.dims(windowed.x, 3, 4);
  Value* position = c.mod(indices, c.mul(height, width));
  if (!windowed.padded) return position;
  Value* pads = runtime_same_pads(c, x, w);
  Value* row = c.sub(c.div(position, width), c.slice(pads, {0}, {1}, {0}));
  Value* column = c.sub(c.mod(position, width), c.slice(pads, {1}, {2}, {0}));
  return c.add(c.mul(row, c.dims(x, 3, 4)), column);
}

// argmax = ((batch *) height + row) * width + column) * channels + channel
Values map_max_pool_with_argmax(MapperContext& c) {
  const auto ksize = c.attr<Ints>("ksize"), strides = c.attr<Ints>("strides");
  if (ksize.size() != 4 || strides.size() != 4) c.fail(Code::bad_model, "ksize and strides need 4 entries");
  const Window w = pool_window(c, Layout::channels_last, ksize, strides);
  Value* x = to_channels_first(c, c.in(0), Layout::channels_last, 2);
  const Windowed windowed = apply_window(c, x, w, kLowest);
  Values pooled = c.emit_n("MaxPool", {windowed.x}, windowed.attrs, 2);
  of_whole_windows(c, pooled[0], w);
  Value* position = image_position(c, pooled[1], x, w, windowed);
  Value* channels = c.dim(x, 1);
  Value* channel = iota(c, channels);
  Value* index = c.add(c.mul(position, channels), c.reshape(channel, {-1, 1, 1}));
  if (c.flag("include_batch_in_index")) {
    Value* batch = iota(c, c.dim(x, 0));
    Value* image_size = c.mul(c.mul(c.dim(x, 2), c.dim(x, 3)), channels);
    Value* offset = c.reshape(c.mul(batch, image_size), {-1, 1, 1, 1});
    index = c.add(index, offset);
  }
  Value* y = from_channels_first(c, pooled[0], Layout::channels_last, 2);
  Value* argmax = from_channels_first(c, index, Layout::channels_last, 2);
  return {y, c.cast(argmax, c.attr_or("Targmax", DType::i64))};
}

}  // namespace

void register_pool(OpRegistry& r) {
  const std::string small =
      "an image of unknown size that is computed in the model has to have room for the window";
  const std::string nan =
      "in f32 the result may be NaN where TensorFlow ignores a NaN that the model computes";
  r.op("MaxPool").note("also over the channels; " + nan).by(map_max_pool);
  r.op("MaxPoolV2").note("ksize and strides constant; " + nan).by(map_max_pool_v2);
  r.op("MaxPool3D")
      .note("next to a NaN the result may be another number than in TensorFlow")
      .by(map_max_pool_3d);
  r.op("MaxPoolWithArgmax")
      .note("the result may be NaN where TensorFlow ignores a NaN")
      .by(map_max_pool_with_argmax);
  r.op("AvgPool").note(small).by(map_avg_pool);
  r.op("AvgPool3D").note(small).by(map_avg_pool_3d);
  register_pool_gradients(r);
  register_fractional_pools(r);
}

}  // namespace t2o::op_mappers
