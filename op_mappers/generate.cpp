#include "op_mappers/numbers.h"

#include "op_mappers/all.h"

namespace t2o::op_mappers {
namespace {

Value* as_scalar(MapperContext& c, Value* v) {
  if (v->shape().is_scalar()) return v;
  return c.emit("Reshape", {v, c.ints({})});
}

// x (f32) rounded to the digits of a half type. Not by a Cast there and back: runtimes drop those.
Value* rounded_to(MapperContext& c, Value* x, DType half) {
  Value* spread =
      c.mul(x, c.scalar(DType::f32, half == DType::f16 ? 8193 : 65537));  // 2^(dropped digits) + 1
  return c.sub(spread, c.sub(spread, x));
}

// In f16 and bf16 each step is rounded, which decides how many numbers there are.
Value* half_range(MapperContext& c, Value* start, Value* limit, Value* delta) {
  const DType type = start->dtype();
  start = c.cast(start, DType::f32);
  delta = c.cast(delta, DType::f32);
  Value* length = rounded_to(c, c.sub(c.cast(limit, DType::f32), start), type);
  Value* quotient = c.abs(rounded_to(c, c.div(length, delta), type));
  Value* count = c.cast(c.ceil(quotient), DType::i64);
  Value* zero = c.i64(0);
  Value* one = c.i64(1);
  Value* steps = rounded_to(c, c.cast(c.range(zero, count, one), DType::f32), type);
  return c.cast(c.add(start, rounded_to(c, c.mul(steps, delta), type)), type);
}

// The size that a number is, as a float: n, where 0, 1, 2 ... n - 1 is asked for.
Value* size_behind(const Value* limit) {
  const ir::Node* n = limit->producer();
  Value* size = n && n->op() == "Cast" ? n->input(0) : nullptr;
  return size && size->known_elements() && size->shape().is_scalar() ? size : nullptr;
}

bool is_number(const Value* v, double number) {
  return v->constant() && v->constant()->elements() == 1 && v->constant()->float_at(0) == number;
}

// TensorFlow counts ceil(|(limit - start) / delta|) in the type itself, ONNX in double: 0.3 / 0.1 would give
// one more.
Value* float_range(MapperContext& c, Value* start, Value* limit, Value* delta) {
  if (Value* size = size_behind(limit); size && is_number(start, 0) && is_number(delta, 1)) {
    Value* first = c.scalar(size->dtype(), 0);
    Value* step = c.scalar(size->dtype(), 1);
    return c.cast(c.range(first, size, step), start->dtype());
  }
  Value* quotient = c.abs(c.div(c.sub(limit, start), delta));
  Value* count = c.cast(c.ceil(quotient), DType::i64);
  Value* zero = c.i64(0);
  Value* one = c.i64(1);
  Value* steps = c.cast(c.range(zero, count, one), start->dtype());
  return c.add(start, c.mul(steps, delta));
}

Values map_range(MapperContext& c) {
  Value* start = as_scalar(c, c.in(0));
  Value* limit = as_scalar(c, c.in(1));
  Value* delta = as_scalar(c, c.in(2));
  if (is_half(start->dtype())) return {half_range(c, start, limit, delta)};
  if (is_float(start->dtype())) return {float_range(c, start, limit, delta)};
  return {c.range(start, limit, delta)};
}

Values map_lin_space(MapperContext& c) {
  Value* start = as_scalar(c, c.in(0));
  Value* stop = as_scalar(c, c.in(1));
  Value* num = as_scalar(c, c.cast(c.in(2), DType::i64));
  Value* zero = c.i64(0);
  Value* one = c.i64(1);
  Value* intervals = c.cast(c.maximum(c.sub(num, one), one), start->dtype());
  Value* step = c.div(c.sub(stop, start), intervals);
  Value* index = c.cast(c.range(zero, num, one), start->dtype());
  // Both ends are as they were given, also where there is no step between them that is a number.
  Value* rest = c.where(c.equal(index, intervals), stop, c.add(start, c.mul(index, step)));
  Value* is_first = c.equal(index, c.scalar_like(index, 0));
  return {c.where(is_first, start, rest)};
}

Values map_fill(MapperContext& c) { return {c.expand(as_scalar(c, c.in(1)), c.cast(c.in(0), DType::i64))}; }

Values map_zeros_like(MapperContext& c) {
  Value* zero = zero_of(c, c.in(0)->dtype());
  return {c.expand(zero, c.shape_of(c.in(0)))};
}

Values map_ones_like(MapperContext& c) {
  Value* one = c.scalar_like(c.in(0), 1);
  return {c.expand(one, c.shape_of(c.in(0)))};
}

Values map_empty(MapperContext& c) {
  Value* zero = zero_of(c, c.output_dtype());
  return {c.expand(zero, c.cast(c.in(0), DType::i64))};
}

}  // namespace

void register_generate(OpRegistry& r) {
  r.op("Range")
      .note("of floats, 0 to a size: all of them, where TensorFlow rounds a size above 2^24")
      .by(map_range);
  r.op("LinSpace").by(map_lin_space);
  r.op("Fill").by(map_fill);
  r.op("ZerosLike").by(map_zeros_like);
  r.op("OnesLike").by(map_ones_like);
  r.op("Empty").ignores({"init"}).note("filled with zeros").by(map_empty);
}

}  // namespace t2o::op_mappers
