#pragma once
#include "op_mappers/context.h"
#include "op_mappers/weighted_sums.h"

namespace t2o::op_mappers {

// Where the pixel i of a resized axis lies in the source, scale = in / out:
//   legacy         i * scale
//   align_corners  i * (in - 1) / (out - 1)
//   half_pixel     (i + 0.5) * scale, minus 0.5 where pixels are interpolated
enum class Sampling : std::uint8_t { legacy, align_corners, half_pixel };
Sampling read_sampling(MapperContext&);

// [out] of f32: 0, 1, 2 ...
Value* pixel_range(Emitter&, Value* out);
// in / out, or (in - 1) / (out - 1) of the aligned; in and out: f32 scalars
Value* source_scale(Emitter&, Value* in, Value* out, Sampling);

struct AxisSizes {
  Value *in, *out;  // i64 scalars
};
AxisSizes axis_sizes(Emitter&, Value* nhwc, Value* size, int axis);  // axis: 0 height, 1 width

// [out] of i64: the source of each pixel that is not interpolated
Value* nearest_index(Emitter&, const AxisSizes&, Sampling);

// [out, in] of weights, of taps [out, taps]
Value* tap_matrix(Emitter&, Value* index, Value* weight, Value* in);
Weights tap_weights(Emitter&, Value* index, Value* weight, Value* in);  // all taps are read
// weight: [out, taps]; the taps that read the same pixel, as one of each row says, count alike.
Value* shared_weights(Emitter&, Value* weight, Value* same);
// Of a gradient [n, h, w, c] that of the source, by the weights of rows and columns
Value* resize_gradient(Emitter&, Value* gradient, const Weights& rows, const Weights& columns);

// Resize-11 has to have all inputs, empty ones where newer forms leave them out.
enum class ResizeForm : std::uint8_t { empty_inputs, omitted_inputs };
// By ONNX's Resize; null: it computes something else for these sizes.
Value* resize_cubic(MapperContext&, ResizeForm);

Ints tf_nearest(std::int64_t in, std::int64_t out, Sampling);  // the source of each pixel
Ints onnx_nearest(std::int64_t in, std::int64_t out, const std::string& coordinates,
                  const std::string& rounding);

}  // namespace t2o::op_mappers
