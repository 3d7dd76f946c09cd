#include "op_mappers/all.h"
#include "tfgraph/internal_ops.h"

// t2o.QuantizeLinear and t2o.DequantizeLinear: scales and zero points are constants.
namespace t2o::op_mappers {
namespace {

// Codes of 16 bits came with opset 21.
Values linear(MapperContext& c, const std::string& op, const Attrs& attrs) {
  try {
    return {c.emit(op, {c.in(0), c.in(1), c.in(2)}, attrs)};
  } catch (const ConversionError& e) {
    Diagnostic d = e.diagnostic();
    if (d.code == Code::opset_too_low) d.remedy += " | --dequantize";
    throw ConversionError(std::move(d));
  }
}
Values quantize(MapperContext& c, const Attrs& attrs) { return linear(c, "QuantizeLinear", attrs); }
Values dequantize(MapperContext& c, const Attrs& attrs) { return linear(c, "DequantizeLinear", attrs); }

Attrs axis_of(MapperContext& c) {
  const auto axis = c.attr_or<std::int64_t>("axis", -1);
  return axis < 0 ? Attrs{} : Attrs{{"axis", axis}};
}
Values quantize_13(MapperContext& c) { return quantize(c, axis_of(c)); }
Values dequantize_13(MapperContext& c) { return dequantize(c, axis_of(c)); }

Values quantize_11(MapperContext& c) {
  if (!axis_of(c).empty())
    c.fail(Code::opset_too_low, "a scale for each channel needs opset 13", "--opset 13 or above");
  return quantize(c, {});
}

// (codes - zero points) * scales, which belong to one axis
Values dequantize_11(MapperContext& c) {
  const auto axis = c.attr_or<std::int64_t>("axis", -1);
  if (axis < 0) return dequantize(c, {});
  Ints dims(static_cast<std::size_t>(c.rank(0) - axis), 1);
  dims[0] = -1;
  Value* zero_points = c.cast(c.reshape(c.in(2), dims), DType::i32);
  Value* codes = c.sub(c.cast(c.in(0), DType::i32), zero_points);
  return {c.mul(c.cast(codes, DType::f32), c.reshape(c.in(1), dims))};
}

// The codes are round(x * steps) - round(low * steps), at most 255.
Value* round_rows_to_bytes(MapperContext& c, Value* x) {
  constexpr double kSmallest = 1e-30;  // of ranges: a row of zeros has none
  Value* least = c.reduce("ReduceMin", x, {-1}, true);
  Value* low = c.clip(least, std::nullopt, 0);
  Value* greatest = c.reduce("ReduceMax", x, {-1}, true);
  Value* high = c.clip(greatest, 0, std::nullopt);
  Value* range = c.clip(c.sub(high, low), kSmallest, std::nullopt);
  Value* steps = c.div(c.scalar_like(x, 255), range);
  Value* first = c.emit("Round", {c.mul(low, steps)});
  Value* last = c.add(first, c.scalar_like(x, 255));
  Value* rounded = c.emit("Round", {c.mul(x, steps)});
  return c.div(c.minimum(rounded, last), steps);
}

Values round_to_bytes(MapperContext& c) {
  if (c.flag("by_rows")) return {round_rows_to_bytes(c, c.in(0))};
  const Values codes = c.emit_n("DynamicQuantizeLinear", {c.in(0)}, {}, 3);
  return {c.emit("DequantizeLinear", codes)};
}

}  // namespace

void register_quantize_linear(OpRegistry& r) {
  r.op(tfgraph::kQuantize).by(quantize_11);
  r.op(tfgraph::kQuantize).since(13).by(quantize_13);
  r.op(tfgraph::kDequantize).by(dequantize_11);
  r.op(tfgraph::kDequantize).since(13).by(dequantize_13);
  r.op(tfgraph::kRoundToBytes).by(round_to_bytes);
}

}  // namespace t2o::op_mappers
