#pragma once
#include <string>

#include "op_mappers/context.h"

namespace t2o::op_mappers {

// The sliding window of a convolution or a pooling over its spatial axes.
struct Window {
  Layout layout = Layout::channels_last;
  Ints kernel;  // -1 where it is not known
  Value* filter = nullptr;  // whose first axes have the kernel's sizes when the model runs; null: all are known
  Ints strides, dilations;
  std::string padding;      // "SAME", "VALID", "EXPLICIT"
  Ints pad_begin, pad_end;  // of EXPLICIT
  // SAME takes away what lies beyond the windows, half of it at the beginning, as TensorFlow does of three axes.
  bool crops = false;
  std::size_t spatial() const { return strides.size(); }
  // Of a known kernel; both refuse one that is longer than any should be.
  std::int64_t extent(std::size_t axis) const;
  Ints offsets(std::size_t axis) const;  // of its elements
};

// Reads strides, dilations, padding and explicit_paddings; kernel stays to be filled in.
Window read_window(MapperContext&, Layout, std::size_t spatial);
Window read_window(MapperContext&, Layout, std::size_t spatial, const Ints& strides);  // strides: of all axes
// The spatial entries of a list with one entry for each axis of the tensor; refuses another batch or channel
// entry than 1.
Ints spatial_entries(MapperContext&, const Ints& all, Layout, std::size_t spatial, const char* what);
Window pool_window(MapperContext&, Layout, const Ints& ksize, const Ints& strides);  // with the kernel that a pool states

Value* to_channels_first(Emitter&, Value*, Layout, std::size_t spatial);
Value* from_channels_first(Emitter&, Value*, Layout, std::size_t spatial);

struct Extents {
  std::int64_t begin, end;
};
Extents same_padding(std::int64_t in, std::int64_t extent, std::int64_t stride, bool crops = false);

struct PadPlan {
  enum class Kind : std::uint8_t { fixed, automatic, runtime } kind = Kind::fixed;
  Ints begin, end;  // of fixed; less than nothing takes away
};
PadPlan plan_padding(const Window&, const Ints& spatial_dims);  // dims: as in Shape

// [begins..., ends...] of SAME padding over the spatial axes, computed when the model runs.
Value* runtime_same_pads(Emitter&, Value* x, const Window&, int first_axis = 2);

// TensorFlow's own loops over windows, as of quantized and fused convolutions, put these into the middle of what they leave over,
// by whole pixels on each side: where they begin inside of the image is refused.
void refuse_wide_strides(MapperContext&, std::size_t filter);

// The attributes that Conv and the pools have in common. Where ONNX has no attribute for the padding, x is
// padded by a node.
struct Windowed {
  Value* x;
  Attrs attrs;
  bool padded = false;
};
// level: what to pad with where it is no constant.
Windowed apply_window(MapperContext&, Value* channels_first, const Window&, double fill, Value* level = nullptr);

}  // namespace t2o::op_mappers
