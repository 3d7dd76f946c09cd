#include "tfgraph/internal_ops.h"
#include "tflite/four_bits.h"
#include "tflite/hybrid.h"
#include "tflite/op.h"

// Layers: convolutions, pools, products, resizing.
namespace t2o::tflite {
namespace {

using namespace schema;

std::string padding_name(Padding p) { return p == Padding::SAME ? "SAME" : "VALID"; }

// TensorFlow states strides and dilations for all axes of [batch, h, w, channels].
template <class Options>
Attrs window(const Options& o, std::int64_t dilation_h = 1, std::int64_t dilation_w = 1) {
  return {{"strides", Ints{1, o.stride_h(), o.stride_w(), 1}},
          {"padding", padding_name(o.padding())},
          {"dilations", Ints{1, dilation_h, dilation_w, 1}}};
}

template <class Options>
Attrs window_3d(const Options& o) {
  return {{"strides", Ints{1, o.stride_d(), o.stride_h(), o.stride_w(), 1}},
          {"padding", padding_name(o.padding())},
          {"dilations", Ints{1, o.dilation_d_factor(), o.dilation_h_factor(), o.dilation_w_factor(), 1}}};
}

// The bias of a quantized layer has the scale of the products, whatever the file states of it.
Value* bias(Op& op, std::size_t i, std::size_t x_input) {
  Value* b = op.weights(i);
  if (!is_int(b->dtype())) return b;
  const auto x = op.quantization_in_file(x_input), w = op.quantization_in_file(1);
  if (!x || !w) op.fail(Code::bad_model, "it has a bias of integers, but its inputs are not quantized");
  Floats scales;
  for (const float s : w->scales) scales.push_back(s * x->scales[0]);
  const bool is_one = scales.size() == 1;
  const TensorPtr factor = is_one
                               ? t2o::Tensor::scalar(scales[0])
                               : t2o::Tensor::of<float>({static_cast<std::int64_t>(scales.size())}, scales);
  Value* codes = op.make("Cast", {b}, {{"DstT", DType::f32}});
  return op.make("Mul", {codes, op.constant(factor)});
}

Value* finish(Op& op, Value* y, std::size_t bias_input, ActivationFunctionType f, std::size_t x_input = 0) {
  if (op.has(bias_input)) y = op.make("BiasAdd", {y, bias(op, bias_input, x_input)});
  return op.activation(y, f);
}

// filter [out, h, w, in / groups] -> [h, w, in / groups, out]
Values conv_2d(Op& op) {
  const auto& o = op.options<Conv2DOptions>();
  const auto four_bits = four_bit_conv(op);
  Value* filter = op.transpose(four_bits ? four_bits->filter : op.layer_weights(1), {1, 2, 3, 0});
  Value* y = op.make("Conv2D", {op.in(0), filter}, window(o, o.dilation_h_factor(), o.dilation_w_factor()));
  if (four_bits)
    return {op.activation(op.make("BiasAdd", {y, four_bits->bias}), o.fused_activation_function())};
  return {finish(op, y, 2, o.fused_activation_function())};
}

// filter [1, h, w, in * multiplier]: a convolution with a group for each input channel, in whose order the
// outputs are
Values depthwise_conv_2d(Op& op) {
  const auto& o = op.options<DepthwiseConv2DOptions>();
  const auto dims = op.sizes(1);
  if (dims) op.dims(1, 4);  // refuses another rank
  const Attrs attrs = window(o, o.dilation_h_factor(), o.dilation_w_factor());
  Value *x = op.in(0), *filter = op.weights(1), *y = nullptr;
  const bool has_codes = filter->producer() && filter->producer()->op() == tfgraph::kDequantize;
  if (!has_codes && dims && o.depth_multiplier() > 0 && (*dims)[3] % o.depth_multiplier() == 0) {
    const std::int64_t multiplier = o.depth_multiplier();
    filter = op.reshape(filter, {(*dims)[1], (*dims)[2], (*dims)[3] / multiplier, multiplier});
    y = op.make("DepthwiseConv2dNative", {x, filter}, attrs);
  } else {  // a Transpose of codes is done when the model is written
    y = op.make("Conv2D", {x, op.transpose(filter, {1, 2, 0, 3})}, attrs);
  }
  return {finish(op, y, 2, o.fused_activation_function())};
}

// inputs: sizes of the result, filter [out, h, w, in], x, bias
Values transpose_conv(Op& op) {
  const auto& o = op.options<TransposeConvOptions>();
  Value* filter = op.transpose(op.weights(1), {1, 2, 0, 3});
  Value* y = op.make("Conv2DBackpropInput", {op.in(0), filter, op.in(2)}, window(o));
  return {finish(op, y, 3, o.fused_activation_function(), 2)};
}

Values conv_3d(Op& op) {
  const auto& o = op.options<Conv3DOptions>();
  Value* y = op.make("Conv3D", {op.in(0), op.weights(1)}, window_3d(o));
  return {finish(op, y, 2, o.fused_activation_function())};
}

// inputs: sizes of the result, filter [d, h, w, out, in], x, bias
Values conv_3d_transpose(Op& op) {
  const auto& o = op.options<Conv3DOptions>();
  Value* y = op.make("Conv3DBackpropInputV2", {op.in(0), op.weights(1), op.in(2)}, window_3d(o));
  return {finish(op, y, 3, o.fused_activation_function(), 2)};
}

Attrs pool(const Pool2DOptions& o) {
  return {{"ksize", Ints{1, o.filter_height(), o.filter_width(), 1}},
          {"strides", Ints{1, o.stride_h(), o.stride_w(), 1}},
          {"padding", padding_name(o.padding())}};
}
Values pooled(Op& op) {
  const auto& o = op.options<Pool2DOptions>();
  if (o.fused_activation_function() != ActivationFunctionType::NONE) op.as_codes(false);  // it is of numbers
  return {op.activation(op.make(op.row().tf, {op.in(0)}, pool(o)), o.fused_activation_function())};
}

// The mean of codes, as LiteRT rounds it: halves away from code 0.
Value* mean_of_codes(Op& op, const Pool2DOptions& o) {
  Value* x = op.make("Cast", {op.codes(0)}, {{"DstT", DType::f32}});
  Value* mean = op.make("AvgPool", {x}, pool(o));
  Value* half = op.scalar(DType::f32, 0.5);
  if (op.input_type(0) == DType::u8)
    return op.make("Cast", {op.make("Floor", {op.make("AddV2", {mean, half})})}, {{"DstT", DType::u8}});
  Value* size = op.make("Floor", {op.make("AddV2", {op.make("Abs", {mean}), half})});
  Value* rounded = op.make("Mul", {op.make("Sign", {mean}), size});
  return op.make("Cast", {rounded}, {{"DstT", DType::i8}});
}

Values average_pool(Op& op) {
  const auto& o = op.options<Pool2DOptions>();
  const auto x = op.quantization(0), y = op.output_quantization();
  const DType type = op.input_type(0);
  if (!x || x != y || !is_byte(type) || op.output_type() != type ||
      o.fused_activation_function() != ActivationFunctionType::NONE)
    return pooled(op);
  op.as_codes(true);
  return {mean_of_codes(op, o)};
}

// sqrt(mean of x^2)
Values l2_pool_2d(Op& op) {
  const auto& o = op.options<Pool2DOptions>();
  Value* mean = op.make("AvgPool", {op.make("Square", {op.in(0)})}, pool(o));
  return {op.activation(op.make("Sqrt", {mean}), o.fused_activation_function())};
}

// x [..., in] as a matrix whose rows fit the weights [out, in].
Value* rows_of(Op& op, Value* x, Value* weights) {
  if (op.sizes(1)) return op.reshape(x, {-1, op.dims(1, 2)[1]});
  Value* in = op.make("Slice", {op.make("Shape", {weights}), op.ints({1}), op.ints({1})});
  return op.make("Reshape", {x, op.make("ConcatV2", {op.ints({-1}), in, op.scalar(DType::i32, 0)})});
}

// x [..., in] * weights [out, in]. Without keep_num_dims the result is a matrix.
Values fully_connected(Op& op) {
  const auto& o = op.options<FullyConnectedOptions>();
  if (o.weights_format() != FullyConnectedOptionsWeightsFormat::DEFAULT)
    op.fail(Code::unsupported_attr, "weights in the form SHUFFLED4x16INT8 are not supported");
  Value *x = op.in(0), *w = op.layer_weights(1);
  if (op.sizes(1)) op.dims(1, 2);  // refuses another rank
  const auto x_sizes = op.sizes(0);
  const bool is_matrix = x_sizes && x_sizes->size() == 2;
  if (!is_matrix && !o.keep_num_dims()) x = rows_of(op, x, w);
  x = rounded_if_fed_back(op, x);
  Value* y = is_matrix || !o.keep_num_dims() ? op.make("MatMul", {x, w}, {{"transpose_b", std::int64_t{1}}})
                                             : op.make("BatchMatMulV2", {x, w}, {{"adj_y", std::int64_t{1}}});
  return {finish(op, y, 2, o.fused_activation_function())};
}

// Products of 8-bit integers are summed in 32 bits.
Values batch_matmul(Op& op) {
  const auto& o = op.options<BatchMatMulOptions>();
  Value *x = op.in(0), *y = op.in(1);
  const DType sum = op.output_type();
  if (sum == DType::i32 && x->dtype() != sum) x = op.make("Cast", {x}, {{"DstT", sum}});
  if (sum == DType::i32 && y->dtype() != sum) y = op.make("Cast", {y}, {{"DstT", sum}});
  return {op.make("BatchMatMulV2", {x, y},
                  {{"adj_x", std::int64_t{o.adj_x()}}, {"adj_y", std::int64_t{o.adj_y()}}})};
}

Attrs resize_bilinear(const Op& op) {
  const auto& o = op.options<ResizeBilinearOptions>();
  return {{"align_corners", std::int64_t{o.align_corners()}},
          {"half_pixel_centers", std::int64_t{o.half_pixel_centers()}}};
}
Attrs resize_nearest(const Op& op) {
  const auto& o = op.options<ResizeNearestNeighborOptions>();
  return {{"align_corners", std::int64_t{o.align_corners()}},
          {"half_pixel_centers", std::int64_t{o.half_pixel_centers()}}};
}
Attrs local_response_normalization(const Op& op) {
  const auto& o = op.options<LocalResponseNormalizationOptions>();
  return {{"depth_radius", std::int64_t{o.radius()}},
          {"bias", o.bias()},
          {"alpha", o.alpha()},
          {"beta", o.beta()}};
}

constexpr Row kRows[] = {
    {B::AVERAGE_POOL_2D, "AvgPool", nullptr, average_pool},
    {B::BATCH_MATMUL, nullptr, nullptr, batch_matmul},
    {B::CONV_2D, nullptr, nullptr, conv_2d},
    {B::CONV_3D, nullptr, nullptr, conv_3d},
    {B::CONV_3D_TRANSPOSE, nullptr, nullptr, conv_3d_transpose},
    {B::DEPTHWISE_CONV_2D, nullptr, nullptr, depthwise_conv_2d},
    {B::FULLY_CONNECTED, nullptr, nullptr, fully_connected},
    {B::L2_POOL_2D, nullptr, nullptr, l2_pool_2d},
    {B::LOCAL_RESPONSE_NORMALIZATION, "LRN", local_response_normalization},
    {B::MAX_POOL_2D, "MaxPool", nullptr, pooled, Codes::moved},
    {B::RESIZE_BILINEAR, "ResizeBilinear", resize_bilinear},
    {B::RESIZE_NEAREST_NEIGHBOR, "ResizeNearestNeighbor", resize_nearest, nullptr, Codes::moved},
    {B::TRANSPOSE_CONV, nullptr, nullptr, transpose_conv},
};

}  // namespace

std::span<const Row> layer_rows() { return kRows; }

}  // namespace t2o::tflite
