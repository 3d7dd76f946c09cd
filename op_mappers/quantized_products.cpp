#include <algorithm>

#include "op_mappers/plain_type.h"
#include "op_mappers/quantized.h"
#include "op_mappers/window.h"

namespace t2o::op_mappers {
namespace {

// The level of zero as ONNX wants it. Ranges hold zero: whoever makes them sees to that.
Value* zero_point(MapperContext& c, DType plain, QuantizedRange r) {
  Value* zero = scale_of(c, plain, r).zero;
  if (zero->constant()) {
    const double level = zero->constant()->float_at(0);
    if (level < lowest_level(plain) || level > highest_level(plain))
      c.fail(Code::unsupported_attr, "the range of a quantized input does not hold zero");
  }
  return c.cast(c.clip(zero, lowest_level(plain), highest_level(plain)), plain);
}

Value* turned(MapperContext& c, std::size_t i, const char* flag) {
  return c.flag(flag) ? c.transpose(c.in(i), {1, 0}) : c.in(i);
}

Values map_matmul(MapperContext& c) {
  const QuantizedRange ra = range_at(c, 2), rb = range_at(c, 4);
  Value* a = turned(c, 0, "transpose_a");
  Value* b = turned(c, 1, "transpose_b");
  Value* zero_a = zero_point(c, a->dtype(), ra);
  Value* zero_b = zero_point(c, b->dtype(), rb);
  Value* y = c.emit("MatMulInteger", {a, b, zero_a, zero_b});
  const QuantizedRange r = product_range(c, a->dtype(), ra, b->dtype(), rb);
  return {y, r.min, r.max};
}

// ---- convolutions. If the filters are unsigned bytes, zero is a level of its own. If they are signed, both
// sides are symmetric, a level is the greater bound / the highest level, and oneDNN computes them.

Value* greater_bound(Emitter& e, Value* min, Value* max) {
  Value* lower = e.abs(min);
  return e.maximum(lower, e.abs(max));
}

Value* symmetric_step(Emitter& e, DType plain, Value* min, Value* max) {
  return e.div(greater_bound(e, min, max), e.scalar(DType::f32, highest_level(plain)));
}

// Of a product: the levels of signed bytes go from -127 to 127 for oneDNN, whose two ends are alike.
QuantizedRange symmetric_range(Emitter& e, DType a, QuantizedRange ra, DType b, QuantizedRange rb) {
  const auto step = [&](DType t, QuantizedRange r) {
    const double levels = is_unsigned_int(t) ? highest_level(t) : 2 * highest_level(t);
    return e.div(e.sub(r.max, r.min), e.scalar(DType::f32, levels));
  };
  Value* step_a = step(a, ra);
  Value* step_c = e.mul(step_a, step(b, rb));
  Value* max = e.mul(step_c, e.scalar(DType::f32, highest_level(DType::i32)));
  return {e.neg(max), max};
}

void check_padding_list(MapperContext& c) {
  const Ints pads = c.attr_or("padding_list", Ints{});
  if (std::ranges::any_of(pads, [](std::int64_t p) { return p != 0; }))
    c.fail(Code::unsupported_attr, "padding_list is set in addition to padding");
}

// NHWC, in i32. depthwise: the filter is [h, w, in, multiplier].
Value* integer_conv(MapperContext& c, Value* zero_x, Value* zero_w, bool depthwise) {
  check_padding_list(c);
  Value* filter = c.in(1);
  Window w = read_window(c, Layout::channels_last, 2);
  w.kernel = {c.dim_of(1, 0), c.dim_of(1, 1)};
  Value* x = to_channels_first(c, c.in(0), w.layout, 2);
  Windowed padded = apply_window(c, x, w, 0, zero_x);
  Value* k = c.transpose(filter, depthwise ? Ints{2, 3, 0, 1} : Ints{3, 2, 0, 1});
  if (depthwise) {
    k = c.reshape(k, {-1, 1, w.kernel[0], w.kernel[1]});
    padded.attrs.push_back({"group", c.dim_of(1, 2)});
  }
  Values in{padded.x, k};
  if (zero_x) in.insert(in.end(), {zero_x, zero_w});
  return from_channels_first(c, c.emit("ConvInteger", in, padded.attrs), w.layout, 2);
}

struct Bounds {
  std::size_t
      first;  // the input that is the least number of x; the next ones: its greatest, and those of the filter
};

QuantizedRange checked_filter_range(MapperContext& c, Bounds at) {
  for (const std::size_t i : {at.first + 2, at.first + 3})
    if (c.has_rank(i) && c.rank(i) > 0 && c.in(i)->shape().elements() != 1)
      c.fail(Code::unsupported_attr, "a range for each channel without a Requantize after the convolution",
             "quantize the filter with one range");
  return range_at(c, at.first + 2);
}

template <bool depthwise>
Values map_conv(MapperContext& c) {
  const QuantizedRange rx = range_at(c, 2), rw = checked_filter_range(c, {2});
  const DType tx = c.in(0)->dtype(), tw = c.in(1)->dtype();
  Value *zero_x = nullptr, *zero_w = nullptr;
  if (tw == DType::u8) {
    refuse_wide_strides(c, 1);
    zero_x = zero_point(c, tx, rx);
    zero_w = zero_point(c, tw, rw);
  }
  Value* y = integer_conv(c, zero_x, zero_w, depthwise);
  const QuantizedRange r =
      tw == DType::u8 ? product_range(c, tx, rx, tw, rw) : symmetric_range(c, tx, rx, tw, rw);
  return {y, r.min, r.max};
}

void want_signed_filter(MapperContext& c) {
  if (c.in(1)->dtype() != DType::i8)
    c.fail(Code::unsupported_type, "a fused quantized convolution with filters other than qint8");
}

// The ranges of the filter and of the result have an entry for each channel.
Values map_conv_per_channel(MapperContext& c) {
  want_signed_filter(c);
  Value* y = integer_conv(c, nullptr, nullptr, false);
  const QuantizedRange rx = range_at(c, 2), rw{c.in(4), c.in(5)};
  const QuantizedRange r = symmetric_range(c, c.in(0)->dtype(), rx, c.in(1)->dtype(), rw);
  return {y, r.min, r.max};
}

struct Fused {
  bool bias, relu, depthwise;
  bool summand = false;
};

Value* real_step(MapperContext& c, Bounds at) {
  const QuantizedRange rx = range_at(c, at.first);
  Value* step_x = symmetric_step(c, c.in(0)->dtype(), rx.min, rx.max);
  return c.mul(step_x, symmetric_step(c, DType::i8, c.in(at.first + 2), c.in(at.first + 3)));
}

// In 32 bits: the bias in levels is added.
Mapper map_fused_conv(Fused f) {
  return [f](MapperContext& c) -> Values {
    want_signed_filter(c);
    const Bounds at{f.bias ? 3U : 2U};
    const QuantizedRange rx = range_at(c, at.first), rw = checked_filter_range(c, at);
    Value* y = integer_conv(c, nullptr, nullptr, f.depthwise);
    if (f.bias) y = c.add(y, c.cast(c.round(c.div(c.in(2), real_step(c, at))), DType::i32));
    if (f.relu) y = c.maximum(y, c.scalar(DType::i32, 0));
    const QuantizedRange r = symmetric_range(c, c.in(0)->dtype(), rx, c.in(1)->dtype(), rw);
    return {y, r.min, r.max};
  };
}

// round((y * step + bias) / step of the result), saturated
Value* requantized(MapperContext& c, Value* y, Value* step, Fused f, QuantizedRange to) {
  const DType type = plain_type(c.output_dtype());
  Value* real = c.mul(c.cast(y, DType::f32), step);
  if (f.bias) real = c.add(real, c.in(2));
  if (f.summand) {
    const QuantizedRange rs = range_at(c, 10);
    Value* levels = c.cast(c.in(9), DType::f32);
    real = c.add(real, c.mul(levels, symmetric_step(c, c.in(9)->dtype(), rs.min, rs.max)));
  }
  if (f.relu && lowest_level(type) < 0) real = c.emit("Relu", {real});  // else saturating does that
  Value* level = c.round(c.div(real, symmetric_step(c, type, to.min, to.max)));
  return c.cast(c.clip(level, lowest_level(type), highest_level(type)), type);
}

void want_real_bias(MapperContext& c) {
  if (c.in(2)->dtype() != DType::f32)
    c.fail(Code::unsupported_type, "a bias in levels", "keep the bias in float32");
}

Mapper map_requantized_conv(Fused f) {
  return [f](MapperContext& c) -> Values {
    want_signed_filter(c);
    if (f.bias) want_real_bias(c);
    const Bounds at{f.bias ? 3U : 2U};
    const QuantizedRange to = range_at(c, at.first + 4);
    Value* y = integer_conv(c, nullptr, nullptr, f.depthwise);
    return {requantized(c, y, real_step(c, at), f, to), to.min, to.max};
  };
}

// ---- a MatMul with a bias, by oneDNN

Value* biased_product(MapperContext& c) {
  want_signed_filter(c);
  want_real_bias(c);
  const QuantizedRange ra = range_at(c, 3);
  const bool from_zero = ra.min->constant() && ra.min->constant()->float_at(0) == 0;
  if (c.attr_or<std::string>("input_quant_mode", "MIN_FIRST") != "SCALED" && !from_zero)
    c.fail(Code::unsupported_attr, "input_quant_mode MIN_FIRST of a range that does not begin at zero",
           "quantize with mode='SCALED'");
  Value* a = turned(c, 0, "transpose_a");
  Value* b = turned(c, 1, "transpose_b");
  return c.emit("MatMulInteger", {a, b});
}

template <bool relu>
Values map_biased_matmul(MapperContext& c) {
  Value* y = biased_product(c);
  const Bounds at{3};
  const QuantizedRange ra = range_at(c, 3), rb = checked_filter_range(c, at);
  y = c.add(y, c.cast(c.round(c.div(c.in(2), real_step(c, at))), DType::i32));
  if (relu) y = c.maximum(y, c.scalar(DType::i32, 0));
  const QuantizedRange r = symmetric_range(c, c.in(0)->dtype(), ra, DType::i8, rb);
  return {y, r.min, r.max};
}

template <bool relu>
Values map_requantized_matmul(MapperContext& c) {
  Value* y = biased_product(c);
  const QuantizedRange to = range_at(c, 7);
  return {requantized(c, y, real_step(c, {3}), {true, relu, false}, to), to.min, to.max};
}

Values map_dequantized_matmul(MapperContext& c) {
  Value* y = biased_product(c);
  return {c.cast(c.add(c.mul(c.cast(y, DType::f32), real_step(c, {3})), c.in(2)), c.output_dtype())};
}

}  // namespace

void register_quantized_products(OpRegistry& r) {
  const std::string types = "filters of qint8 with one range",
                    level = "filters of qint8; may differ by one level";
  r.op("QuantizedMatMul").by(map_matmul);
  r.op("QuantizedConv2D").note("one range for the filter").by(map_conv<false>);
  r.op("QuantizedDepthwiseConv2D").note("one range for the filter").by(map_conv<true>);
  r.op("QuantizedConv2DPerChannel").note("filters of qint8").by(map_conv_per_channel);
  r.op("QuantizedConv2DAndRelu").note(types).by(map_fused_conv({false, true, false}));
  r.op("QuantizedConv2DWithBias").note(types).by(map_fused_conv({true, false, false}));
  r.op("QuantizedConv2DWithBiasAndRelu").note(types).by(map_fused_conv({true, true, false}));
  r.op("QuantizedDepthwiseConv2DWithBias").note(types).by(map_fused_conv({true, false, true}));
  r.op("QuantizedDepthwiseConv2DWithBiasAndRelu").note(types).by(map_fused_conv({true, true, true}));
  const auto requantized = [&](const char* op, Fused f) { r.op(op).note(level).by(map_requantized_conv(f)); };
  requantized("QuantizedConv2DAndRequantize", {false, false, false});
  requantized("QuantizedConv2DAndReluAndRequantize", {false, true, false});
  requantized("QuantizedConv2DWithBiasAndRequantize", {true, false, false});
  requantized("QuantizedConv2DWithBiasAndReluAndRequantize", {true, true, false});
  requantized("QuantizedDepthwiseConv2DWithBiasAndReluAndRequantize", {true, true, true});
  requantized("QuantizedConv2DWithBiasSumAndReluAndRequantize", {true, true, false, true});
  requantized("QuantizedConv2DWithBiasSignedSumAndReluAndRequantize", {true, true, false, true});
  const std::string mode = "; mode SCALED, or a range from 0";
  const std::vector<std::string> about{"input_quant_mode", "is_weight_const", "is_bias_const"};
  const auto matmul = [&](const char* op, Mapper m) {
    r.op(op).note(level + mode).ignores(about).by(std::move(m));
  };
  matmul("QuantizedMatMulWithBias", map_biased_matmul<false>);
  matmul("QuantizedMatMulWithBiasAndRelu", map_biased_matmul<true>);
  matmul("QuantizedMatMulWithBiasAndRequantize", map_requantized_matmul<false>);
  matmul("QuantizedMatMulWithBiasAndReluAndRequantize", map_requantized_matmul<true>);
  matmul("QuantizedMatMulWithBiasAndDequantize", map_dequantized_matmul);
}

}  // namespace t2o::op_mappers
