#pragma once
#include <string>

#include "op_mappers/context.h"

namespace t2o::op_mappers {

// The sliding window of a convolution or a pooling over its spatial axes.
struct Window {
  Layout layout = Layout::channels_last;
  Ints kernel;  // -1 for an unknown size
  Value* filter = nullptr;  // if a size is unknown: the first axes of this value have the kernel's sizes
  Ints strides, dilations;
  std::string padding;      // "SAME", "VALID", "EXPLICIT"
  Ints pad_begin, pad_end;  // for EXPLICIT
  // SAME crops pixels that no window reads, half of them at the beginning, as TensorFlow does for three axes.
  bool crops = false;
  std::size_t spatial() const { return strides.size(); }
  // For a known kernel; both refuse a kernel of absurd length.
  std::int64_t extent(std::size_t axis) const;
  Ints offsets(std::size_t axis) const;  // of its elements
};

// Reads strides, dilations, padding and explicit_paddings. The caller fills in the kernel.
Window read_window(MapperContext&, Layout, std::size_t spatial);
Window read_window(MapperContext&, Layout, std::size_t spatial, const Ints& strides);  // strides: one for each axis
// The spatial entries of a list with one entry for each axis of the tensor. Refuses a batch or channel entry other
// than 1.
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
  Ints begin, end;  // for `fixed`; a negative number crops
};
PadPlan plan_padding(const Window&, const Ints& spatial_dims);  // dims: as in Shape

// [begins..., ends...] of SAME padding over the spatial axes, computed when the model runs.
Value* runtime_same_pads(Emitter&, Value* x, const Window&, int first_axis = 2);

// TensorFlow's own loops over windows, as in quantized and fused convolutions, centre the windows in whole pixels. If the first
// window then begins inside of the image, the node is refused.
void refuse_wide_strides(MapperContext&, std::size_t filter);

// The attributes that Conv and the pools share. If no attribute can express the padding, a Pad node pads x.
struct Windowed {
  Value* x;
  Attrs attrs;
  bool padded = false;
};
// level: the value to pad with, if it is no constant.
Windowed apply_window(MapperContext&, Value* channels_first, const Window&, double fill, Value* level = nullptr);

}  // namespace t2o::op_mappers
