#include "op_mappers/uniform_quant.h"

#include <cmath>
#include <cstdint>

#include "op_mappers/all.h"
#include "op_mappers/plain_type.h"

namespace t2o::op_mappers {
namespace {

Value* wide(Emitter& e, double v) { return e.scalar(DType::f64, v); }
Value* as_wide(Emitter& e, Value* v) { return e.cast(v, DType::f64); }

}  // namespace

std::int64_t axis_of(MapperContext& c, const std::string& whose) {
  return c.attr_or<std::int64_t>(whose + "quantization_axis", -1);
}

Value* along(Emitter& e, Value* v, std::int64_t axis, int rank) {
  if (axis < 0) return v->shape().is_scalar() ? v : e.reshape(v, {});
  if (axis >= rank) e.fail(Code::bad_model, "the quantization axis is beyond the tensor's rank");
  Ints dims = repeated(1, rank - axis);
  dims[0] = -1;
  return e.reshape(v, dims);
}

Value* along_of(MapperContext& c, std::size_t parameter, std::int64_t axis, Value* tensor) {
  const Shape& shape = tensor->shape();
  if (axis < 0 || shape.ranked()) return along(c, c.in(parameter), axis, axis < 0 ? 0 : shape.rank());
  Value* behind = c.sub(c.rank_of(tensor), c.constant(axis + 1));
  Value* ones = c.expand(c.i64(1), c.reshape(behind, {1}));
  return c.reshape_to(c.in(parameter), c.concat({c.shape_of(c.in(parameter)), ones}, 0));
}

namespace {

Value* along_input(MapperContext& c, std::size_t parameter, std::int64_t axis, std::size_t tensor) {
  return along_of(c, parameter, axis, c.in(tensor));
}

}  // namespace

Value* saturated(MapperContext& c, Value* levels, const std::string& whose) {
  const auto bound = [&](const char* end) {
    return static_cast<double>(c.attr<std::int64_t>(whose + "quantization_" + end + "_val"));
  };
  return c.cast(c.clip(levels, bound("min"), bound("max")), plain_type(c.output_dtype()));
}

namespace {

Value* centered(MapperContext& c, Value* levels, Value* zero) {
  return c.sub(c.cast(levels, DType::i32), zero);
}

Value* floor_of_half_more(Emitter& e, Value* x) { return e.floor(e.add(x, e.scalar_like(x, 0.5))); }

Values map_quantize(MapperContext& c) {
  const std::int64_t axis = axis_of(c, "");
  Value* inverse = c.div(c.scalar(DType::f32, 1), along_input(c, 1, axis, 0));
  Value* level = as_wide(c, floor_of_half_more(c, c.mul(c.in(0), inverse)));
  return {saturated(c, c.add(level, as_wide(c, along_input(c, 2, axis, 0))), "")};
}

Values map_dequantize(MapperContext& c) {
  const std::int64_t axis = axis_of(c, "");
  Value* scale = along_input(c, 1, axis, 0);
  Value* zero = along_input(c, 2, axis, 0);
  Value* above = centered(c, c.in(0), zero);
  return {c.mul(c.cast(above, DType::f32), scale)};
}

// What is known of a factor is kept in 31 bits, as TensorFlow's integers are.
Value* in_31_bits(Emitter& e, Value* factor) {
  const TensorPtr& t = factor->constant();
  if (!t) return factor;
  std::vector<double> kept;
  for (std::int64_t i = 0; i < t->elements(); ++i) {
    int exponent = 0;
    const double fraction = std::frexp(t->float_at(i), &exponent);
    kept.push_back(std::ldexp(std::round(std::ldexp(fraction, 31)), exponent - 31));
  }
  return e.constant<double>(t->dims(), kept);
}

}  // namespace

Value* rescaled(Emitter& e, Value* x, Value* factor) {
  Value* product = e.mul(as_wide(e, x), in_31_bits(e, factor));
  return e.clip(floor_of_half_more(e, product), -2147483648.0, 2147483647.0);
}

Values map_requantize(MapperContext& c) {
  const std::int64_t in_axis = axis_of(c, "input_"), out_axis = axis_of(c, "output_");
  Value* from = as_wide(c, along_input(c, 1, in_axis, 0));
  Value* factor = c.div(from, as_wide(c, along_input(c, 3, out_axis, 0)));
  Value* above = centered(c, c.in(0), along_input(c, 2, in_axis, 0));
  Value* zero = as_wide(c, along_input(c, 4, out_axis, 0));
  return {saturated(c, c.add(rescaled(c, above, factor), zero))};
}

namespace {

int rank_or_0(const Value* v) { return v->shape().ranked() ? v->shape().rank() : 0; }

// Both in the scale of the sum.
Values map_add(MapperContext& c) {
  const std::int64_t l = axis_of(c, "lhs_"), r = axis_of(c, "rhs_"), out = axis_of(c, "output_");
  if (out >= 0 && l < 0)
    c.fail(Code::unsupported_attr, "a sum with scales along an axis of a first operand with one scale");
  // Each axis counts on the rank of its own tensor. An operand with one scale takes those of the sum where
  // the larger operand has them.
  const std::size_t larger = rank_or_0(c.in(0)) < rank_or_0(c.in(1)) ? 1 : 0;
  const auto operand = [&](std::size_t tensor, std::size_t scale, std::int64_t axis) {
    const bool has_axis = out >= 0 && axis >= 0;
    Value* from = as_wide(c, along_input(c, scale, axis, tensor));
    Value* to = as_wide(c, along_input(c, 6, has_axis ? axis : out, has_axis ? tensor : larger));
    return rescaled(c, c.sub(c.in(tensor), along_input(c, scale + 1, axis, tensor)), c.div(from, to));
  };
  Value* left = operand(0, 2, l);
  Value* right = operand(1, 4, r);
  Value* sum = c.add(left, right);
  return {saturated(c, c.add(sum, as_wide(c, along_of(c, 7, out, sum))))};
}

Values map_clip(MapperContext& c) {
  const std::int64_t axis = axis_of(c, "");
  Value* above = c.maximum(c.in(0), along_input(c, 1, axis, 0));
  return {c.minimum(above, along_input(c, 2, axis, 0))};
}

// ---- products of matrices, summed in 32 bits

Values map_dot(MapperContext& c) {
  const std::int64_t r = axis_of(c, "rhs_"), out = axis_of(c, "output_");
  if (axis_of(c, "lhs_") >= 0 || r == 0 || out == 0)
    c.fail(Code::bad_model, "scales along another axis than that of the channels");
  Value* left = centered(c, c.in(0), along_input(c, 3, -1, 0));
  Value* right = centered(c, c.in(1), along(c, c.in(5), r, 2));
  Value* sum = c.matmul(left, right);
  Value* factor = as_wide(c, along_input(c, 2, -1, 0));
  factor = c.mul(factor, as_wide(c, along(c, c.in(4), r, 2)));
  factor = c.div(factor, as_wide(c, along(c, c.in(6), out, 2)));
  Value* zero = as_wide(c, along(c, c.in(7), out, 2));
  return {saturated(c, c.add(rescaled(c, sum, factor), zero))};
}

}  // namespace

CenteredRows centered_rows(MapperContext& c, Value* x) {
  Value* none = wide(c, 0);
  Value* low = c.minimum(as_wide(c, c.reduce("ReduceMin", x, Ints{1}, true)), none);
  Value* high = c.maximum(as_wide(c, c.reduce("ReduceMax", x, Ints{1}, true)), none);
  Value* span = c.sub(high, low);
  Value* is_zero = c.equal(span, none);
  Value* some = c.where(is_zero, wide(c, 255), span);
  Value* scale = c.cast(c.div(some, wide(c, 255)), DType::f32);
  Value* inverse = c.cast(c.div(wide(c, 255), some), DType::f32);
  Value* step = as_wide(c, scale);
  Value* below = c.div(low, step);
  Value* above = c.div(high, step);
  Value* from_below = c.sub(wide(c, 128), below);
  Value* closer = c.less(from_below, c.add(wide(c, 127), above));
  Value* from_low = c.sub(wide(c, -128), below);
  Value* place = c.where(closer, from_low, c.sub(wide(c, 127), above));
  Value* zero = c.where(is_zero, none, c.clip(floor_of_half_more(c, place), -128, 127));
  Value* level = c.add(as_wide(c, floor_of_half_more(c, c.mul(x, inverse))), zero);
  return {c.cast(c.sub(c.clip(level, -128, 127), zero), DType::i32), scale};
}

namespace {

Values map_hybrid_dot(MapperContext& c) {
  const std::int64_t r = axis_of(c, "rhs_");
  const CenteredRows rows = centered_rows(c, c.in(0));
  Value* right = centered(c, c.in(1), along(c, c.in(3), r, 2));
  Value* sum = c.cast(c.matmul(rows.levels, right), DType::f32);
  Value* scaled = c.mul(sum, rows.scale);
  return {c.mul(scaled, along(c, c.in(2), r, 2))};
}

}  // namespace

void register_uniform_quant(OpRegistry& r) {
  const std::string level = "scales that are known only at run time: may differ by one level";
  const auto of = [](const std::vector<std::string>& whose) {
    std::vector<std::string> names;
    for (const std::string& w : whose)
      for (const char* end : {"min", "max"}) names.push_back(w + "quantization_" + end + "_val");
    return names;
  };
  r.op("UniformQuantize").by(map_quantize);
  r.op("UniformDequantize").ignores(of({""})).by(map_dequantize);
  r.op("UniformRequantize").note(level).ignores(of({"input_"})).by(map_requantize);
  r.op("UniformQuantizedAdd").note(level).ignores(of({"lhs_", "rhs_"})).by(map_add);
  r.op("UniformQuantizedClipByValue").ignores(of({""})).by(map_clip);
  r.op("UniformQuantizedDot").note(level).ignores(of({"lhs_", "rhs_"})).by(map_dot);
  r.op("UniformQuantizedDotHybrid").ignores(of({"rhs_"})).by(map_hybrid_dot);
  register_uniform_quant_conv(r);
}

}  // namespace t2o::op_mappers
