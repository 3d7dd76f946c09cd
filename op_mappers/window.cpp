#include "op_mappers/window.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "onnx/image_layout.h"

namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kLongest = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kMostOffsets = 1 << 20;

void check_kernel(std::int64_t size, std::int64_t most) {
  if (size > most)
    fail(Code::unsupported_attr,
         "its window has " + std::to_string(size) + " elements along an axis, more than " +
             std::to_string(most),
         "make the window smaller, or give the filter its own shape");
}

std::size_t first_spatial(Layout l) { return l == Layout::channels_last ? 1 : 2; }

void read_explicit_padding(MapperContext& c, Window& w) {
  const Ints pads = c.attr<Ints>("explicit_paddings");
  const std::size_t n = w.spatial();
  if (pads.size() != 2 * (n + 2))
    c.fail(Code::bad_model, "explicit_paddings needs two entries for each axis");
  for (std::size_t axis = 0; axis < n + 2; ++axis) {
    const std::int64_t begin = pads[2 * axis], end = pads[2 * axis + 1];
    const bool is_spatial = axis >= first_spatial(w.layout) && axis < first_spatial(w.layout) + n;
    if (begin < 0 || end < 0) c.fail(Code::bad_model, "explicit_paddings has a negative entry");
    if (std::max(begin, end) > kLongest)
      c.fail(Code::bad_model,
             "explicit_paddings has an entry that is not a size: " + std::to_string(std::max(begin, end)));
    if (!is_spatial && (begin != 0 || end != 0))
      c.fail(Code::bad_model, "explicit_paddings pads the batch or the channels");
    if (!is_spatial) continue;
    w.pad_begin.push_back(begin);
    w.pad_end.push_back(end);
  }
}

}  // namespace

std::int64_t Window::extent(std::size_t axis) const {
  check_kernel(kernel[axis], kLongest);
  return (kernel[axis] - 1) * dilations[axis] + 1;
}

Ints Window::offsets(std::size_t axis) const {
  check_kernel(kernel[axis], kMostOffsets);
  Ints all;
  for (std::int64_t k = 0; k < kernel[axis]; ++k) all.push_back(k * dilations[axis]);
  return all;
}

Ints spatial_entries(MapperContext& c, const Ints& all, Layout layout, std::size_t spatial,
                     const char* what) {
  if (all.size() != spatial + 2)
    c.fail(Code::bad_model, std::string(what) + " has " + std::to_string(all.size()) + " entries, expected " +
                                std::to_string(spatial + 2));
  for (const std::int64_t v : all)
    if (v <= 0 || v > kLongest)
      c.fail(Code::bad_model, std::string(what) + " has an entry that is not a size: " + std::to_string(v));
  const std::size_t channel = layout == Layout::channels_last ? spatial + 1 : 1;
  if (all[0] != 1 || all[channel] != 1)
    c.fail(Code::unsupported_attr, std::string(what) + " other than 1 along the batch or the channels");
  const auto begin = all.begin() + static_cast<std::ptrdiff_t>(first_spatial(layout));
  return Ints(begin, begin + static_cast<std::ptrdiff_t>(spatial));
}

Window read_window(MapperContext& c, Layout layout, std::size_t spatial) {
  return read_window(c, layout, spatial, c.attr<Ints>("strides"));
}

Window read_window(MapperContext& c, Layout layout, std::size_t spatial, const Ints& strides) {
  Window w;
  w.layout = layout;
  w.strides = spatial_entries(c, strides, layout, spatial, "strides");
  const Ints dilations = c.attr_or("dilations", Ints(spatial + 2, 1));
  w.dilations =
      spatial_entries(c, dilations.empty() ? Ints(spatial + 2, 1) : dilations, layout, spatial, "dilations");
  w.kernel = Ints(spatial, kUnknownDim);
  w.padding = c.attr<std::string>("padding");
  const Ints explicit_pads = c.attr_or("explicit_paddings", Ints{});
  if (w.padding == "EXPLICIT") {
    read_explicit_padding(c, w);
  } else if (w.padding != "SAME" && w.padding != "VALID") {
    c.fail(Code::unsupported_attr, "padding '" + w.padding + "' is not known");
  } else if (std::ranges::any_of(explicit_pads, [](std::int64_t p) { return p != 0; })) {
    c.fail(Code::bad_model, "explicit_paddings is set although padding is '" + w.padding + "'");
  }
  return w;
}

Window pool_window(MapperContext& c, Layout layout, const Ints& ksize, const Ints& strides) {
  const std::size_t spatial = strides.size() - 2;
  Window w = read_window(c, layout, spatial, strides);
  w.kernel = spatial_entries(c, ksize, layout, spatial, "ksize");
  return w;
}

Value* to_channels_first(Emitter& e, Value* x, Layout layout, std::size_t spatial) {
  if (layout == Layout::channels_first) return x;
  return e.transpose(x, onnx::channels_first_perm(static_cast<int>(spatial) + 2));
}

Value* from_channels_first(Emitter& e, Value* x, Layout layout, std::size_t spatial) {
  if (layout == Layout::channels_first) return x;
  return e.transpose(x, onnx::channels_last_perm(static_cast<int>(spatial) + 2));
}

// TF puts the odd pixel at the end.
Extents same_padding(std::int64_t in, std::int64_t extent, std::int64_t stride, bool crops) {
  const std::int64_t out = (in + stride - 1) / stride, total = (out - 1) * stride + extent - in;
  if (total < 0) return {crops ? total / 2 : 0, 0};  // no window begins in what is left at the end
  return {total / 2, total - total / 2};
}

PadPlan plan_padding(const Window& w, const Ints& dims) {
  const std::size_t n = w.spatial();
  if (w.padding == "VALID") return {PadPlan::Kind::fixed, Ints(n, 0), Ints(n, 0)};
  if (w.padding == "EXPLICIT") return {PadPlan::Kind::fixed, w.pad_begin, w.pad_end};
  PadPlan plan;
  bool fixed = true, automatic = true;
  for (std::size_t i = 0; i < n; ++i) {
    const bool known_kernel = is_known(w.kernel[i]);
    Extents pad{0, 0};
    const bool may_crop = w.crops && (known_kernel ? w.extent(i) : 1) + 2 <= w.strides[i];
    if (known_kernel && w.extent(i) == 1 && !may_crop) {
      pad = {0, 0};
    } else if (known_kernel && w.strides[i] == 1) {
      pad = same_padding(1, w.extent(i), 1);
    } else if (known_kernel && is_known(dims[i])) {
      pad = same_padding(dims[i], w.extent(i), w.strides[i], w.crops);
    } else {
      fixed = false;
    }
    // SAME_UPPER has no padding below 0, as a stride that is larger than the kernel takes, and leaves open
    // whether dilations count.
    if (w.dilations[i] != 1 || (known_kernel ? w.kernel[i] : 1) < w.strides[i]) automatic = false;
    plan.begin.push_back(pad.begin);
    plan.end.push_back(pad.end);
  }
  plan.kind = fixed ? PadPlan::Kind::fixed : automatic ? PadPlan::Kind::automatic : PadPlan::Kind::runtime;
  return plan;
}

// total = (ceil(in / stride) - 1) * stride + extent - in, and 0 where that is negative unless the window
// crops
Value* runtime_same_pads(Emitter& e, Value* x, const Window& w, int first_axis) {
  const int n = static_cast<int>(w.spatial());
  Ints extents, rounding, constants;
  bool known = true;
  for (std::size_t i = 0; i < w.spatial(); ++i) {
    known = known && is_known(w.kernel[i]);
    extents.push_back(w.extent(i) - w.strides[i]);
    constants.push_back(1 - w.dilations[i] - w.strides[i]);
    rounding.push_back(w.strides[i] - 1);
  }
  Value* in = e.dims(x, first_axis, first_axis + n);
  Value* strides = e.ints(w.strides);
  Value* rounded = e.mul(e.div(e.add(in, e.ints(rounding)), strides), strides);
  Value* none = e.ints({0});
  Value* beyond = known ? e.ints(extents) : nullptr;
  if (!known) {  // (kernel - 1) * dilation + 1 - stride
    Value* scaled = e.mul(e.dims(w.filter, 0, n), e.ints(w.dilations));
    beyond = e.add(scaled, e.ints(constants));
  }
  Value* total = e.add(e.sub(rounded, in), beyond);
  if (!w.crops) total = e.maximum(total, none);
  Value* begin = e.div(total, e.ints({2}));
  Value* end = e.sub(total, begin);
  return e.concat({begin, end}, 0);
}

Windowed apply_window(MapperContext& c, Value* x, const Window& w, double fill, Value* level) {
  const int n = static_cast<int>(w.spatial());
  Ints dims(w.spatial(), kUnknownDim);
  if (x->shape().ranked())
    for (int i = 0; i < n; ++i) nth(dims, i) = x->shape()[2 + i];
  const PadPlan plan = plan_padding(w, dims);
  Windowed r{x, {}, false};
  if (std::ranges::all_of(w.kernel, is_known)) r.attrs.push_back({"kernel_shape", w.kernel});
  r.attrs.push_back({"strides", w.strides});
  if (std::ranges::any_of(w.dilations, [](std::int64_t d) { return d != 1; }))
    r.attrs.push_back({"dilations", w.dilations});
  switch (plan.kind) {
    case PadPlan::Kind::fixed: {
      Ints pads = plan.begin, cropped, starts;
      for (std::size_t i = 0; i < w.spatial(); ++i) {
        if (pads[i] >= 0) continue;
        cropped.push_back(static_cast<std::int64_t>(i) + 2);
        starts.push_back(-std::exchange(pads[i], 0));
      }
      if (!cropped.empty()) r.x = c.slice(x, starts, Ints(starts.size(), onnx::kToEnd), cropped);
      append(pads, plan.end);
      if (std::ranges::any_of(pads, [](std::int64_t p) { return p != 0; })) r.attrs.push_back({"pads", pads});
      break;
    }
    case PadPlan::Kind::automatic:
      r.attrs.push_back({"auto_pad", std::string("SAME_UPPER")});
      break;
    case PadPlan::Kind::runtime: {
      Value* pads = runtime_same_pads(c, x, w);
      Value* begins = c.slice(pads, {0}, {n}, {0});
      Value* ends = c.slice(pads, {n}, {2 * n}, {0});
      Value* none = c.ints({0, 0});
      r.x = c.pad(x, c.concat({none, begins, none, ends}, 0), level ? level : c.scalar_like(x, fill));
      r.padded = true;
    }
  }
  return r;
}

void refuse_wide_strides(MapperContext& c, std::size_t filter) {
  const Ints strides = c.attr<Ints>("strides");
  const bool same = c.attr<std::string>("padding") == "SAME";
  for (int i = 0; i < 2 && strides.size() == 4; ++i) {
    const std::int64_t stride = strides[static_cast<std::size_t>(i) + 1];
    if (stride < 3) continue;
    if (same ? stride - c.dim_of(filter, i) >= 2 : stride >= 4)
      c.fail(Code::unsupported_attr, "strides so wide that TensorFlow's kernel begins inside of the image",
             "let a stride be at most one more than the size of the kernel");
  }
}

}  // namespace t2o::op_mappers
