#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx/facts.h"
#include "op_mappers/all.h"
#include "op_mappers/rounded_sums.h"
#include "op_mappers/three_axes.h"

namespace t2o::op_mappers {
namespace {

// ---- FakeQuant: zero is made one of the levels, then x is rounded to the nearest of them.

struct Levels {
  Value *low, *high, *scale, *inverse, *zero;
};

// scale = (max - min) / levels; the level of zero is round(low - min / scale), within [low, high]
Levels nudge(Emitter& e, Value* min, Value* max, double low, double high) {
  Value* levels = e.scalar(DType::f32, high - low);
  Value* span = e.sub(max, min);
  Value* scale = e.div(span, levels);
  Value* inverse = e.div(levels, span);
  Value* from_min = e.sub(e.scalar(DType::f32, low), e.div(min, scale));
  Value* within = e.maximum(e.minimum(from_min, e.scalar(DType::f32, high)), e.scalar(DType::f32, low));
  Value* floor = e.floor(within);
  Value* up = e.greater_equal(e.sub(within, floor), e.scalar(DType::f32, 0.5));
  Value* zero_point = e.add(floor, e.cast(up, DType::f32));
  Value* lowest = e.mul(e.sub(e.scalar(DType::f32, low), zero_point), scale);
  Value* highest = e.mul(e.sub(e.scalar(DType::f32, high), zero_point), scale);
  Value* level = e.mul(e.neg(lowest), inverse);
  Value* zero = e.floor(e.add(level, e.scalar(DType::f32, 0.5)));
  return {lowest, highest, scale, inverse, zero};
}

bool surely_none(const Value* condition) { return !(onnx::numbers_of(condition).high > 0); }

bool in_order(const Value* low, const Value* high) {
  return low->shape().is_scalar() && high->shape().is_scalar() && low->constant() && high->constant() &&
         low->constant()->float_at(0) <= high->constant()->float_at(0);
}

// max(min(x, high), low): low counts where the bounds cross, other than in Clip.
Value* clipped(Emitter& e, Value* x, Value* low, Value* high) {
  if (in_order(low, high)) return e.emit("Clip", {x, low, high});
  return e.maximum(e.minimum(x, high), low);
}

// round(x / scale) * scale. Halves go to the even level; in TensorFlow they go up. Such thresholds differ by
// an ulp, which does not matter for sums that were rounded before. QuantizeLinear and DequantizeLinear would
// say the same of numbers, but a NaN would become one, and such pairs ask a runtime to quantize the layer
// between them, with its weights. Null if x is not such a sum, or if the range is known only at run time.
Value* rounded_sum(MapperContext& c, Value* x, const Levels& n) {
  constexpr double kFarFromHalf = 0.01;
  if (!in_order(n.low, n.high) || !n.scale->constant()) return nullptr;
  const double scale = n.scale->constant()->float_at(0), lowest = n.low->constant()->float_at(0),
               highest = n.high->constant()->float_at(0);
  if (!std::isnormal(scale)) return nullptr;
  const auto is_far_from_thresholds = [&](float bound) {
    if (bound <= lowest || bound >= highest) return true;
    const double level = bound / scale;
    return std::abs(level - std::floor(level) - 0.5) > kFarFromHalf;
  };
  if (!is_rounded_sum(x, is_far_from_thresholds)) return nullptr;
  Value* level = c.round(c.mul(clipped(c, x, n.low, n.high), n.inverse));
  return c.mul(level, n.scale);
}

// TensorFlow divides by the scale for ranges of the whole tensor, else multiplies by its inverse: halves may
// fall to the other side.
enum class Scaling : std::uint8_t { multiply, divide };

Value* fake_quant(MapperContext& c, Value* x, Value* min, Value* max, Scaling scaling) {
  const auto bits = c.attr_or<std::int64_t>("num_bits", 8);
  if (bits < 2 || bits > 16)
    c.fail(Code::bad_model, "num_bits is " + std::to_string(bits) + ", not between 2 and 16");
  const double low = c.flag("narrow_range") ? 1 : 0, high = std::exp2(static_cast<double>(bits)) - 1;
  const Levels n = nudge(c, min, max, low, high);
  if (Value* y = rounded_sum(c, x, n)) return y;
  Value* above = c.sub(clipped(c, x, n.low, n.high), n.low);
  Value* steps = scaling == Scaling::divide ? c.div(above, n.scale) : c.mul(above, n.inverse);
  // floor(steps - zero + 1/2): a whole number less a half is exact, and their sum rounds as the two steps of
  // TensorFlow do
  Value* half_below = c.sub(n.zero, c.scalar(DType::f32, 0.5));
  Value* rounded = c.floor(c.sub(steps, half_below));
  Value* y = c.mul(rounded, n.scale);
  // an empty range means zeros
  Value* zero = c.scalar(DType::f32, 0);
  Value* no_min = c.equal(min, zero);
  Value* off = c.logical_and(no_min, c.equal(max, zero));
  return surely_none(off) ? y : c.where(off, zero, y);
}

Values map_fake_quant_args(MapperContext& c) {
  Value* min = c.constant(c.attr_or("min", -6.0f));
  Value* max = c.constant(c.attr_or("max", 6.0f));
  return {fake_quant(c, c.in(0), min, max, Scaling::multiply)};
}
Values map_fake_quant_vars(MapperContext& c) {
  return {fake_quant(c, c.in(0), c.in(1), c.in(2), Scaling::divide)};
}
Values map_fake_quant_channels(MapperContext& c) {
  return {fake_quant(c, c.in(0), c.in(1), c.in(2), Scaling::multiply)};
}

// ---- gradients: they pass within the range; what lies beyond goes to the bound, which a range of zeros does
// not have

struct PassedGradient {
  Value *of_x, *below, *above;
};

PassedGradient passed(MapperContext& c, Value* min, Value* max) {
  const auto bits = static_cast<double>(c.attr_or<std::int64_t>("num_bits", 8));
  const Levels n = nudge(c, min, max, c.flag("narrow_range") ? 1 : 0, std::exp2(bits) - 1);
  Value *g = c.in(0), *x = c.in(1), *zero = c.scalar(DType::f32, 0);
  Value* is_below = c.less(x, n.low);
  Value* is_above = c.greater(x, n.high);
  Value* not_below = c.greater_equal(x, n.low);
  Value* inside = c.logical_and(not_below, c.less_equal(x, n.high));
  Value* no_min = c.equal(min, zero);
  Value* off = c.logical_and(no_min, c.equal(max, zero));
  Value* on = c.logical_not(off);
  Value* passes = c.logical_or(inside, off);
  Value* goes_down = c.logical_and(is_below, on);
  Value* goes_up = c.logical_and(is_above, on);
  // TensorFlow multiplies: a gradient that is NaN is NaN where it does not pass too
  const auto part = [&](Value* takes) { return c.mul(g, c.cast(takes, DType::f32)); };
  Value* of_x = part(passes);
  Value* below = part(goes_down);
  return {of_x, below, part(goes_up)};
}

Values map_fake_quant_args_grad(MapperContext& c) {
  Value* min = c.constant(c.attr_or("min", -6.0f));
  return {passed(c, min, c.constant(c.attr_or("max", 6.0f))).of_x};
}
Values map_fake_quant_vars_grad(MapperContext& c) {
  const PassedGradient p = passed(c, c.in(2), c.in(3));
  Value* of_min = c.reduce_all("ReduceSum", p.below, false);
  return {p.of_x, of_min, c.reduce_all("ReduceSum", p.above, false)};
}
Values map_fake_quant_channels_grad(MapperContext& c) {
  const PassedGradient p = passed(c, c.in(2), c.in(3));
  const auto sum = [&](Value* v) {
    Value* rows = c.reshape_to(v, c.concat({c.product(c.dims(v, 0, -1)), c.shape_of(c.in(2))}, 0));
    return c.reduce("ReduceSum", rows, Ints{0}, false);
  };
  Value* of_min = sum(p.below);
  return {p.of_x, of_min, sum(p.above)};
}

// ---- QuantizeAndDequantize: y = round(x * scale) / scale, as if by way of a small integer.

struct Quantizer {
  Value *scale, *inverse, *min, *max;
};

double highest_of(DType t) {
  switch (t) {
    case DType::f16:
      return 65504;
    case DType::bf16:
      return static_cast<double>(bfloat_to_float(0x7f7f));
    case DType::f64:
      return std::numeric_limits<double>::max();
    default:
      return static_cast<double>(std::numeric_limits<float>::max());
  }
}

// The largest scale for which neither side of [min, max] leaves [low, high]; a side that says nothing has the
// highest number.
Quantizer plan_symmetric(Emitter& e, Value* min, Value* max, double low, double high) {
  Value* zero = e.scalar_like(min, 0);
  Value* unlimited = e.scalar_like(min, highest_of(min->dtype()));
  Value* top = e.scalar_like(min, high);
  Value* has_max = e.greater(max, zero);
  Value* from_max = e.where(has_max, e.div(top, max), unlimited);
  Value* max_step = e.div(max, top);
  if (low == 0) return {from_max, max_step, zero, max};
  Value* bottom = e.scalar_like(min, low);
  Value* has_min = e.less(min, zero);
  Value* from_min = e.where(has_min, e.div(bottom, min), unlimited);
  Value* by_min = e.less(from_min, from_max);
  Value* step = e.where(by_min, e.div(min, bottom), max_step);
  Value* lowest = e.where(by_min, min, e.mul(bottom, step));
  Value* highest = e.where(by_min, e.mul(top, step), max);
  return {e.where(by_min, from_min, from_max), step, lowest, highest};
}

struct Range {
  Value *min, *max;  // null: of the tensor itself
};

// [channels] so that it lies along the axis of x
Value* along_axis(MapperContext& c, Value* v, std::int64_t axis, std::int64_t rank) {
  if (axis < 0) return v->shape().is_scalar() ? v : c.reshape(v, {});
  if (axis >= rank) c.fail(Code::bad_model, "the axis is beyond the tensor's rank");
  Ints dims = repeated(1, rank - axis);
  dims[0] = -1;
  return c.reshape(v, dims);
}

Range range_of_tensor(MapperContext& c, Value* x, std::int64_t axis, std::int64_t rank) {
  if (axis < 0) {
    Value* min = c.reduce_all("ReduceMin", x, false);
    return {min, c.reduce_all("ReduceMax", x, false)};
  }
  Ints others;
  for (std::int64_t i = 0; i < rank; ++i)
    if (i != axis) others.push_back(i);
  Value* min = c.reduce("ReduceMin", x, others, true);
  return {min, c.reduce("ReduceMax", x, others, true)};
}

Value* quantize_and_dequantize(MapperContext& c, std::int64_t bits, Range range) {
  if (bits < 1 || bits > 63)
    c.fail(Code::bad_model, "num_bits is " + std::to_string(bits) + ", not between 1 and 63");
  auto axis = c.attr_or<std::int64_t>("axis", -1);
  const auto rounding = c.attr_or<std::string>("round_mode", "HALF_TO_EVEN");
  if (rounding != "HALF_TO_EVEN" && rounding != "HALF_UP")
    c.fail(Code::unsupported_attr, "round_mode '" + rounding + "' is not known");
  const bool is_signed = c.attr_or<std::int64_t>("signed_input", 1) != 0;
  const bool narrow = c.flag("narrow_range");
  Value* x = c.in(0);
  const bool by_three = axis >= 0 && !c.has_rank(0);
  if (by_three) {
    x = as_three(c, x, sides(c, x, c.ints({axis})));
    axis = 1;
  }
  const std::int64_t rank = by_three ? 3 : axis < 0 ? 0 : c.rank(0);
  const bool given = range.min;
  if (given) {
    Value* min = along_axis(c, range.min, axis, rank);
    range = {min, along_axis(c, range.max, axis, rank)};
  } else {
    range = range_of_tensor(c, x, axis, rank);
  }
  const double half = std::exp2(static_cast<double>(bits - 1));
  const double low = is_signed ? (narrow ? 1 - half : -half) : 0;
  const double high = (is_signed ? half : 2 * half) - 1;
  const Quantizer q = plan_symmetric(c, range.min, range.max, low, high);
  if (given) x = clipped(c, x, q.min, q.max);
  Value* scaled = c.mul(x, q.scale);
  Value* level = rounding == "HALF_UP" ? c.floor(c.add(scaled, c.scalar_like(x, 0.5))) : c.round(scaled);
  Value* y = c.mul(level, q.inverse);
  return by_three ? c.reshape_to(y, c.shape_of(c.in(0))) : y;
}

Values map_quantize_and_dequantize_v1(MapperContext& c) {
  Range range{nullptr, nullptr};
  const float min = c.attr_or("input_min", 0.0f);
  const float max = c.attr_or("input_max", 0.0f);
  if (c.flag("range_given"))
    range = {c.scalar_like(c.in(0), static_cast<double>(min)),
             c.scalar_like(c.in(0), static_cast<double>(max))};
  return {quantize_and_dequantize(c, c.attr_or<std::int64_t>("num_bits", 8), range)};
}

Range stated_range(MapperContext& c) {
  return c.flag("range_given") ? Range{c.in(1), c.in(2)} : Range{nullptr, nullptr};
}
Values map_quantize_and_dequantize(MapperContext& c) {
  return {quantize_and_dequantize(c, c.attr_or<std::int64_t>("num_bits", 8), stated_range(c))};
}
Values map_quantize_and_dequantize_v3(MapperContext& c) {
  return {quantize_and_dequantize(c, c.const_int(3), stated_range(c))};
}

// in(0) the gradient, in(1) x, in(2) and in(3) its bounds, which get none
Values map_quantize_and_dequantize_grad(MapperContext& c) {
  const auto axis = c.attr_or<std::int64_t>("axis", -1);
  const std::int64_t rank = axis < 0 ? 0 : c.rank(1);
  Value* not_below = c.greater_equal(c.in(1), along_axis(c, c.in(2), axis, rank));
  Value* inside = c.logical_and(not_below, c.less_equal(c.in(1), along_axis(c, c.in(3), axis, rank)));
  Value* zero = c.scalar_like(c.in(0), 0);
  Value* of_x = c.mul(c.in(0), c.cast_like(inside, c.in(0)));
  Value* of_min = c.expand(zero, c.shape_of(c.in(2)));
  return {of_x, of_min, c.expand(zero, c.shape_of(c.in(3)))};
}

}  // namespace

void register_fake_quant(OpRegistry& r) {
  r.op("FakeQuantWithMinMaxArgsGradient").by(map_fake_quant_args_grad);
  r.op("FakeQuantWithMinMaxVarsGradient").by(map_fake_quant_vars_grad);
  r.op("FakeQuantWithMinMaxVarsPerChannelGradient").by(map_fake_quant_channels_grad);
  r.op("QuantizeAndDequantizeV4Grad").note("with an axis: rank known").by(map_quantize_and_dequantize_grad);
  constexpr auto kHalves = "of a Conv or MatMul halves go to the even level";
  r.op("FakeQuantWithMinMaxArgs").note(kHalves).by(map_fake_quant_args);
  r.op("FakeQuantWithMinMaxVars").note(kHalves).by(map_fake_quant_vars);
  r.op("FakeQuantWithMinMaxVarsPerChannel").by(map_fake_quant_channels);
  r.op("QuantizeAndDequantize").by(map_quantize_and_dequantize_v1);
  r.op("QuantizeAndDequantizeV2", "QuantizeAndDequantizeV4").by(map_quantize_and_dequantize);
  r.op("QuantizeAndDequantizeV3").note("num_bits a constant").by(map_quantize_and_dequantize_v3);
}

}  // namespace t2o::op_mappers
