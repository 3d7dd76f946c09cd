#include "op_mappers/conv_grad.h"

#include <algorithm>

#include "op_mappers/window.h"
#include "op_mappers/window_gather.h"

// The gradients of convolutions with respect to the filter: place (h, w) of the filter sums, over all
// windows, the input at that place of the window times the gradient of the window. That is a convolution of
// the input (batch and channels swapped) with the gradient (strides and dilations swapped).
namespace t2o::op_mappers {
namespace {

struct Filter {
  Ints sizes;  // spatial
  std::int64_t groups;
};

// The begins and ends of the input; an empty list: the input is padded.
Ints known_pads(MapperContext& c, Value*& x, const Window& w) {
  Ints dims(w.spatial(), kUnknownDim);
  if (x->shape().ranked())
    for (std::size_t i = 0; i < w.spatial(); ++i) dims[i] = x->shape()[static_cast<int>(i) + 2];
  PadPlan plan = plan_padding(w, dims);
  if (plan.kind != PadPlan::Kind::fixed) {
    x = pad_for_windows(c, x, w, 2, c.scalar_like(x, 0));
    return {};
  }
  append(plan.begin, plan.end);
  return plan.begin;
}

// [N, groups * C, ...] -> [C, groups * N, ...]
Value* batch_as_channels(MapperContext& c, Value* x, std::int64_t groups, std::size_t spatial) {
  Ints perm{1, 0};
  const auto n = static_cast<std::int64_t>(spatial);
  for (std::int64_t i = 0; i < n; ++i) perm.push_back(i + 2);
  if (groups == 1) return c.transpose(x, perm);
  Value* batch = c.dims(x, 0, 1);
  Value* group = c.ints({groups});
  Value* channels = c.div(c.dims(x, 1, 2), group);
  Value* sizes = c.dims(x, 2, static_cast<int>(spatial) + 2);
  Ints apart{2, 1, 0};
  for (std::int64_t i = 0; i < n; ++i) apart.push_back(i + 3);
  Value* five = c.transpose(c.reshape_to(x, c.concat({batch, group, channels, sizes}, 0)), apart);
  return c.reshape_to(five, c.concat({channels, c.mul(group, batch), sizes}, 0));
}

// [channels / groups, filters, spatial ...]
Value* filter_gradient(MapperContext& c, Window w, const Filter& f) {
  const std::size_t n = w.spatial();
  w.kernel = f.sizes;
  Value* x = to_channels_first(c, c.in(0), w.layout, n);
  Value* gradient = to_channels_first(c, c.in(2), w.layout, n);
  const Ints pads = known_pads(c, x, w);
  Ints perm{1, 0}, axes;
  for (std::size_t i = 0; i < n; ++i) axes.push_back(static_cast<std::int64_t>(i) + 2);
  append(perm, axes);
  Attrs attrs{{"strides", w.dilations}, {"dilations", w.strides}};
  if (std::ranges::any_of(pads, [](std::int64_t p) { return p != 0; })) attrs.push_back({"pads", pads});
  if (f.groups != 1) attrs.push_back({"group", f.groups});
  Value* images = batch_as_channels(c, x, f.groups, n);
  Value* y = c.emit("Conv", {images, c.transpose(gradient, perm)}, attrs);
  return c.slice(y, Ints(n, 0), f.sizes, axes);  // the image may end behind the last window
}

Ints filter_sizes(MapperContext& c, std::size_t spatial) {
  const Ints sizes = c.const_ints(1);
  if (sizes.size() != spatial + 2 || std::ranges::any_of(sizes, [](std::int64_t s) { return s < 1; }))
    c.fail(Code::bad_model, "filter_sizes needs " + std::to_string(spatial + 2) + " sizes");
  return sizes;
}

// Channels for each group of the filter's; one group where the input's channels are not known.
std::int64_t groups_of(MapperContext& c, const Window& w, std::int64_t own) {
  const Shape& x = c.in(0)->shape();
  if (!x.ranked()) return 1;
  const Dim channels = x[w.layout == Layout::channels_last ? static_cast<int>(w.spatial()) + 1 : 1];
  if (is_known(channels) && channels % own != 0)
    c.fail(Code::bad_model, "the input's channels are not a multiple of the filter's");
  return is_known(channels) ? channels / own : 1;
}

Mapper map_filter(std::size_t spatial) {
  return [spatial](MapperContext& c) -> Values {
    const Window w = read_window(c, c.layout(), spatial);
    const Ints sizes = filter_sizes(c, spatial);
    const auto n = static_cast<std::int64_t>(spatial);
    const Filter f{{sizes.begin(), sizes.begin() + n}, groups_of(c, w, sizes[spatial])};
    Ints perm;
    for (std::int64_t i = 0; i < n; ++i) perm.push_back(i + 2);
    perm.insert(perm.end(), {0, 1});
    return {c.transpose(filter_gradient(c, w, f), perm)};
  };
}

// [1, channels * multiplier, h, w] -> [h, w, channels, multiplier]
Values map_depthwise_filter(MapperContext& c) {
  const Window w = read_window(c, c.layout(), 2);
  const Ints sizes = filter_sizes(c, 2);
  Value* y = filter_gradient(c, w, {{sizes[0], sizes[1]}, sizes[2]});
  return {c.transpose(c.reshape(y, {sizes[2], sizes[3], sizes[0], sizes[1]}), {2, 3, 0, 1})};
}

}  // namespace

void register_filter_gradients(OpRegistry& r) {
  const std::string note = "filter_sizes constant";
  r.op("Conv2DBackpropFilter").note(note).ignores({"use_cudnn_on_gpu"}).by(map_filter(2));
  r.op("Conv3DBackpropFilterV2").note(note).by(map_filter(3));
  r.op("DepthwiseConv2dNativeBackpropFilter").note(note).by(map_depthwise_filter);
}

}  // namespace t2o::op_mappers
