#include <limits>

#include "op_mappers/all.h"
#include "op_mappers/numbers.h"
#include "op_mappers/three_axes.h"

// Quantized tensors are tensors of plain integers here; what they mean stands in the ops, as in TensorFlow.
namespace t2o::op_mappers {
namespace {

struct Limits {
  DType type;  // the plain integer
  double low, high;
};

Limits limits_of(const MapperContext& c, DType t) {
  switch (t) {
    case DType::qi8:
      return {DType::i8, -128, 127};
    case DType::qu8:
      return {DType::u8, 0, 255};
    case DType::qi16:
      return {DType::i16, -32768, 32767};
    case DType::qu16:
      return {DType::u16, 0, 65535};
    case DType::qi32:
      return {DType::i32, -2147483648.0, 2147483647.0};
    default:
      c.fail(Code::bad_model, std::string(name(t)) + " is not a quantized type");
  }
}

Value* number(Emitter& e, double v) { return e.scalar(DType::f32, v); }

Value* within(Emitter& e, Value* x, Value* low, Value* high) {
  if (low->shape().is_scalar() && high->shape().is_scalar()) return e.emit("Clip", {x, low, high});
  return e.maximum(e.minimum(x, high), low);
}

struct Range {
  Value *min, *max;
};

// Three axes where an axis is given and the rank is not known.
struct Viewed {
  Value* x;
  std::int64_t axis, rank;
  Value* dims;  // to shape the result to; null: as it is

  Value* back(Emitter& e, Value* y) const { return dims ? e.reshape_to(y, dims) : y; }
};

Viewed viewed(MapperContext& c) {
  const auto axis = c.attr_or<std::int64_t>("axis", -1);
  Value* x = c.in(0);
  if (axis < 0) return {x, axis, 0, nullptr};
  if (c.has_rank(0)) return {x, axis, c.rank(0), nullptr};
  Value* three = as_three(c, x, sides(c, x, c.ints({axis})));
  return {three, 1, 3, c.shape_of(x)};
}

// The bounds of input(1) and input(2) so that they lie along the axis of x
Range range_along(MapperContext& c, const Viewed& x) {
  const auto placed = [&](Value* v) {
    if (x.axis < 0) return v->shape().is_scalar() ? v : c.reshape(v, {});
    Ints dims = repeated(1, x.rank - x.axis);
    dims[0] = -1;
    return c.reshape(v, dims);
  };
  Value* min = placed(c.in(1));
  return {min, placed(c.in(2))};
}

// The range holds zero and is not too narrow.
Range widened(MapperContext& c, Range r) {
  const auto least = static_cast<double>(c.attr_or("ensure_minimum_range", 0.01f));
  Value* zero = number(c, 0);
  Value* min = c.minimum(r.min, zero);
  Value* min_size = c.abs(r.min);
  Value* size = c.maximum(number(c, 1), c.maximum(min_size, c.abs(r.max)));
  Value* end = c.add(min, c.mul(size, number(c, least)));
  return {min, c.maximum(zero, c.maximum(r.max, end))};
}

// low + (x - min) * levels / (max - min)
Value* min_combined(Emitter& e, Value* x, Range r, const Limits& t) {
  Value* scale = e.div(number(e, t.high - t.low), e.sub(r.max, r.min));
  Value* above = e.mul(e.sub(within(e, x, r.min, r.max), r.min), scale);
  if (t.low == 0) return e.floor(e.add(above, number(e, 0.5)));
  return round_away(e, e.sub(above, number(e, -t.low)));
}

// round(x * scale) - round(min * scale) + low, saturated
Value* min_first(Emitter& e, Value* x, Range r, const Limits& t) {
  Value* levels = number(e, t.high - t.low);
  Value* span = e.sub(r.max, r.min);
  Value* scale = e.div(levels, span);
  Value* offset = e.sub(round_away(e, e.mul(r.min, scale)), number(e, t.low));
  Value* level = e.sub(round_away(e, e.mul(x, scale)), offset);
  // the highest f32 that is an i32
  return e.clip(level, t.low, t.high > 65535 ? 2147483520.0 : t.high);
}

struct Scaled {
  Value* level;
  Range range;
};

// The largest scale for which neither side of the range leaves the integers; zero stays zero.
Scaled scaled(MapperContext& c, Value* x, Range r, const Limits& t, bool narrow, bool away) {
  const double low = t.low + (narrow ? 1 : 0);
  Value* zero = number(c, 0);
  Value* unlimited = number(c, static_cast<double>(std::numeric_limits<float>::max()));
  Value* top = number(c, t.high);
  Value* bottom = number(c, low);
  Value* has_max = c.greater(r.max, zero);
  Value* scale = c.where(has_max, c.div(top, r.max), unlimited);
  if (low < 0) {
    Value* has_min = c.less(r.min, zero);
    scale = c.minimum(c.where(has_min, c.div(bottom, r.min), unlimited), scale);
  }
  const Range range{c.div(bottom, scale), c.div(top, scale)};
  Value* level = c.mul(within(c, x, range.min, range.max), scale);
  return {away ? round_away(c, level) : c.round(level), range};
}

[[noreturn]] void no_min_first(MapperContext& c) {
  c.fail(Code::unsupported_attr, "TensorFlow does not compute mode 'MIN_FIRST' with an axis",
         "use mode 'SCALED'");
}

// A vector along an axis, but a scalar of one channel.
Value* bound(MapperContext& c, Value* v, std::int64_t axis) {
  if (axis < 0) return c.reshape(v, {});
  const auto count = v->shape().elements();
  if (count) return c.reshape(v, *count == 1 ? Ints{} : Ints{-1});
  Value* size = c.unsqueeze(c.size_of(v), {0});
  Value* one = c.ints({1});
  Value* kept = c.cast(c.logical_not(c.equal(size, one)), DType::i64);
  return c.reshape_to(v, c.slice(size, c.ints({0}), kept, c.ints({0})));
}

Values map_quantize(MapperContext& c) {
  const auto mode = c.attr_or<std::string>("mode", "MIN_COMBINED");
  const auto rounding = c.attr_or<std::string>("round_mode", "HALF_AWAY_FROM_ZERO");
  const bool narrow = c.flag("narrow_range");
  const Limits t = limits_of(c, c.attr<DType>("T"));
  if (rounding != "HALF_AWAY_FROM_ZERO" && rounding != "HALF_TO_EVEN")
    c.fail(Code::unsupported_attr, "round_mode '" + rounding + "' is not known");
  if (t.high > 65535 && mode != "SCALED")
    c.fail(Code::unsupported_type, "mode '" + mode + "' for qint32 overflows in TensorFlow's own kernel",
           "quantize with mode='SCALED'");
  const Viewed view = viewed(c);
  const auto axis = view.axis;
  Value* x = view.x;
  Range range = widened(c, range_along(c, view));
  Value* level = nullptr;
  if (mode == "MIN_COMBINED") {
    level = min_combined(c, x, range, t);
  } else if (mode == "MIN_FIRST") {
    if (axis >= 0) no_min_first(c);
    level = min_first(c, x, range, t);
  } else if (mode == "SCALED") {
    const Scaled s = scaled(c, x, range, t, narrow, rounding == "HALF_AWAY_FROM_ZERO");
    level = s.level;
    range = s.range;
  } else {
    c.fail(Code::unsupported_attr, "mode '" + mode + "' is not known");
  }
  Value* y = view.back(c, c.cast(level, t.type));
  Value* min = bound(c, range.min, axis);
  return {y, min, bound(c, range.max, axis)};
}

Values map_dequantize(MapperContext& c) {
  const auto mode = c.attr_or<std::string>("mode", "MIN_COMBINED");
  const bool narrow = c.flag("narrow_range");
  const Limits t = limits_of(c, c.attr<DType>("T"));
  const Viewed view = viewed(c);
  const auto axis = view.axis;
  const Range r = range_along(c, view);
  Value* x = c.cast(view.x, DType::f32);
  Value* y = nullptr;
  if (mode == "MIN_COMBINED") {  // (x + half) * step + min
    Value* step = c.div(c.sub(r.max, r.min), number(c, t.high - t.low));
    Value* above = t.low == 0 ? x : c.add(x, number(c, -t.low));
    y = c.add(c.mul(above, step), r.min);
  } else if (mode == "MIN_FIRST") {
    if (axis >= 0) no_min_first(c);
    // the minimum rounded to a step, so that zero is exact
    Value* step = c.div(c.sub(r.max, r.min), number(c, t.high - t.low));
    Value* same = c.equal(r.min, r.max);
    Value* rounded = c.mul(round_away(c, c.div(r.min, step)), step);
    Value* base = c.where(same, r.min, rounded);
    y = c.add(c.sub(base, c.mul(number(c, t.low), step)), c.mul(x, step));
  } else if (mode == "SCALED") {
    Value* step = c.div(r.max, number(c, t.high));
    if (t.low < 0) step = c.maximum(c.div(r.min, number(c, t.low + (narrow ? 1 : 0))), step);
    y = c.mul(x, step);
  } else {
    c.fail(Code::unsupported_attr, "mode '" + mode + "' is not known");
  }
  return {view.back(c, c.cast(y, c.output_dtype()))};
}

}  // namespace

void register_quantize(OpRegistry& r) {
  r.op("QuantizeV2").note("qint32: mode SCALED").by(map_quantize);
  r.op("Dequantize").by(map_dequantize);
}

}  // namespace t2o::op_mappers
