#pragma once
#include "op_mappers/context.h"
#include "op_mappers/weighted_sums.h"

namespace t2o::op_mappers {

// The source coordinate of pixel i of a resized axis; scale = in / out:
//   legacy         i * scale
//   align_corners  i * (in - 1) / (out - 1)
//   half_pixel     (i + 0.5) * scale, minus 0.5 if pixels are interpolated
enum class Sampling : std::uint8_t { legacy, align_corners, half_pixel };
Sampling read_sampling(MapperContext&);

// [out] of f32: 0, 1, 2 ...
Value* pixel_range(Emitter&, Value* out);
// in / out, or (in - 1) / (out - 1) for align_corners; in and out: f32 scalars
Value* source_scale(Emitter&, Value* in, Value* out, Sampling);

struct AxisSizes {
  Value *in, *out;  // i64 scalars
};
AxisSizes axis_sizes(Emitter&, Value* nhwc, Value* size, int axis);  // axis: 0 height, 1 width

// [out] of i64: the source pixel of each pixel, without interpolation
Value* nearest_index(Emitter&, const AxisSizes&, Sampling);

// A matrix of weights [out, in] from taps [out, taps]
Value* tap_matrix(Emitter&, Value* index, Value* weight, Value* in);
Weights tap_weights(Emitter&, Value* index, Value* weight, Value* in);  // TensorFlow reads all taps, also those of weight 0
// weight: [out, taps]. Taps that read the same pixel get equal weights; `same` says for each row which taps do.
Value* shared_weights(Emitter&, Value* weight, Value* same);
// The gradient of the source from the gradient [n, h, w, c] of the result, by the weights of rows and columns
Value* resize_gradient(Emitter&, Value* gradient, const Weights& rows, const Weights& columns);

// Resize of opset 11 needs all inputs; newer forms may omit inputs that are empty there.
enum class ResizeForm : std::uint8_t { empty_inputs, omitted_inputs };
// Emits ONNX's Resize. Null if that computes something else for these sizes.
Value* resize_cubic(MapperContext&, ResizeForm);

Ints tf_nearest(std::int64_t in, std::int64_t out, Sampling);  // the source pixel of each pixel
Ints onnx_nearest(std::int64_t in, std::int64_t out, const std::string& coordinates,
                  const std::string& rounding);

}  // namespace t2o::op_mappers
