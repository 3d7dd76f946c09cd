#include <limits>

#include "op_mappers/all.h"
#include "op_mappers/special.h"
#include "op_mappers/wide_integers.h"

namespace t2o::op_mappers {
namespace {

Values map_add(MapperContext& c) {
  const bool text = c.in(0)->dtype() == DType::string;
  return {c.emit(text ? "StringConcat" : "Add", {c.in(0), c.in(1)})};
}

Values map_add_n(MapperContext& c) {
  if (c.input_count() == 1) return {c.in(0)};
  if (is_float(c.in(0)->dtype())) return {c.emit("Sum", c.inputs())};
  Value* sum = c.in(0);
  for (std::size_t i = 1; i < c.input_count(); ++i) sum = c.add(sum, c.in(i));
  return {sum};
}

Value* zero_where(MapperContext& c, Value* condition, Value* otherwise) {
  return c.where(condition, c.scalar_like(otherwise, 0), otherwise);
}
Value* is_zero(MapperContext& c, Value* x) { return c.equal(x, c.scalar_like(x, 0)); }

Values map_mul_no_nan(MapperContext& c) {
  Value* product = c.mul(c.in(0), c.in(1));
  return {zero_where(c, is_zero(c, c.in(1)), product)};
}

Values map_div_no_nan(MapperContext& c) {
  Value* quotient = c.div(c.in(0), c.in(1));
  return {zero_where(c, is_zero(c, c.in(1)), quotient)};
}

Values map_xdivy(MapperContext& c) {
  Value* quotient = c.div(c.in(0), c.in(1));
  return {zero_where(c, is_zero(c, c.in(0)), quotient)};
}

Values map_xlogy(MapperContext& c) {
  Value* product = c.mul(c.in(0), c.log(c.in(1)));
  return {zero_where(c, is_zero(c, c.in(0)), product)};
}

Values map_xlog1py(MapperContext& c) {
  Value* product = c.mul(c.in(0), log1p(c, c.in(1), true));
  return {zero_where(c, is_zero(c, c.in(0)), product)};
}

Value* remainder(MapperContext& c, Value* x, Value* truncated_quotient, Value* y) {
  return c.sub(x, c.mul(truncated_quotient, y));
}

// Processors trap on the lowest integer / -1, which TensorFlow gives as the lowest integer. Narrow integers
// are divided in wider ones.
bool may_trap(const Value* x, const Value* y) {
  if (y->dtype() != DType::i32 && y->dtype() != DType::i64) return false;
  if (is_made_of_sizes(x) || is_made_of_sizes(y)) return false;
  const auto has = [](const Value* v, std::int64_t n) {
    if (!v->constant()) return onnx::numbers_of(v).has(static_cast<double>(n));
    const Ints all = v->constant()->to_ints();
    return contains(all, n);
  };
  const std::int64_t lowest = x->dtype() == DType::i32 ? std::numeric_limits<std::int32_t>::min()
                                                       : std::numeric_limits<std::int64_t>::min();
  return has(y, -1) && has(x, lowest);
}

// TensorFlow does not run a division of integers by 0.
void refuse_zero_divisor(MapperContext& c) {
  const TensorPtr& y = c.in(1)->constant();
  if (!y || !is_int(y->dtype()) || c.in(0)->shape().elements() == 0) return;
  const Ints all = y->to_ints();
  if (contains(all, 0))
    c.fail(Code::unsupported_attr,
           "integers are divided by a constant 0, and TensorFlow fails when it runs this",
           "divide by something else, or by a float");
}

// 1 in place of a -1 that may trap: the remainder is 0 too, the quotient is to be negated.
struct Divisor {
  Value* y;
  Value* is_minus_one = nullptr;

  Value* mended(MapperContext& c, Value* quotient) const {
    return is_minus_one ? c.where(is_minus_one, c.sub(c.scalar_like(quotient, 0), quotient), quotient)
                        : quotient;
  }
};
Divisor harmless_divisor(MapperContext& c, Value* x, Value* y) {
  refuse_zero_divisor(c);
  if (!c.strict() || !may_trap(x, y)) return {y};
  Value* is_minus_one = c.equal(y, c.scalar_like(y, -1));
  return {c.where(is_minus_one, c.scalar_like(y, 1), y), is_minus_one};
}

Value* quotient(MapperContext& c, Value* x, Value* y) {
  const Divisor d = harmless_divisor(c, x, y);
  return d.mended(c, c.div(x, d.y));
}

Values map_div(MapperContext& c) { return {quotient(c, c.in(0), c.in(1))}; }

Value* mod(MapperContext& c, Value* x, Value* y, bool truncating) {
  return c.emit("Mod", {x, y}, {{"fmod", truncating}});
}

Values map_truncate_mod(MapperContext& c) {
  Value* x = c.in(0);
  const DType type = x->dtype();
  refuse_zero_divisor(c);
  if (type != DType::i64) return {mod(c, x, c.in(1), !is_unsigned_int(type))};
  Value* y = harmless_divisor(c, x, c.in(1)).y;
  return {all_bits(c, mod(c, x, y, true), x)};
}

Values map_truncate_div(MapperContext& c) {
  Value* x = quotient(c, c.in(0), c.in(1));
  if (is_int(x->dtype())) return {x};
  Value* negative = c.less(x, c.scalar_like(x, 0));
  Value* up = c.ceil(x);
  Value* down = c.floor(x);
  return {c.where(negative, up, down)};
}

// Numbers, or sizes, with room above and below them in their type.
bool has_room(const Value* v) {
  if (v->dtype() == DType::i64) return has_few_bits(v);
  constexpr double kMostOfSize = 1 << 24;
  return is_made_of_sizes(v) || (v->dtype() == DType::i32 && onnx::numbers_of(v).within(kMostOfSize));
}

// ONNX truncates the quotient of integers: one too high where the two remainders differ. (x - remainder) / y
// is exact, but the difference may leave the type.
Values map_floor_div(MapperContext& c) {
  Value* x = c.in(0);
  const DType type = x->dtype();
  if (!is_int(type)) return {c.floor(c.div(x, c.in(1)))};
  const Divisor d = harmless_divisor(c, x, c.in(1));
  if (!is_unsigned_int(type) && !d.is_minus_one && has_room(x) && has_room(d.y))
    return {c.div(c.sub(x, mod(c, x, d.y, false)), d.y)};
  Value* truncated = c.div(x, d.y);
  if (is_unsigned_int(type)) return {truncated};
  Value* floored = mod(c, x, d.y, false);
  Value* same = c.equal(floored, remainder(c, x, truncated, d.y));
  return {d.mended(c, c.sub(truncated, c.cast(c.logical_not(same), type)))};
}

// ONNX Mod has the divisor's sign for integers, the dividend's (fmod) for floats.
Values map_floor_mod(MapperContext& c) {
  if (is_int(c.in(0)->dtype())) return {mod(c, c.in(0), harmless_divisor(c, c.in(0), c.in(1)).y, false)};
  Value* remainder = mod(c, c.in(0), c.in(1), true);
  Value* zero = c.scalar_like(remainder, 0);
  Value* negative = c.less(remainder, zero);
  Value* other_sign = c.emit("Xor", {negative, c.less(c.in(1), zero)});
  Value* not_zero = c.logical_not(c.equal(remainder, zero));
  Value* shifted = c.add(remainder, c.in(1));
  return {c.where(c.logical_and(not_zero, other_sign), shifted, remainder)};
}

// Integers wrap around as repeated multiplication does; runtimes compute Pow in double.
Value* repeated_product(MapperContext& c, Value* base, std::int64_t exponent) {
  Value* result = nullptr;
  for (Value* power = base; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1) result = result ? c.mul(result, power) : power;
    if (exponent > 1) power = c.mul(power, power);
  }
  return result;
}

Values map_pow(MapperContext& c) {
  Value *base = c.in(0), *exponent = c.in(1);
  if (!is_int(base->dtype())) return {c.emit("Pow", {base, exponent})};
  const TensorPtr& t = exponent->constant();
  if (t && t->rank() == 0 && t->int_at(0) > 0) return {repeated_product(c, base, t->int_at(0))};
  Value* power = wrapping_power(c, c.cast(base, DType::i64), c.cast(exponent, DType::i64));
  return {c.cast_like(power, base)};
}

Values map_maximum(MapperContext& c) { return {larger(c, c.in(0), c.in(1))}; }
Values map_minimum(MapperContext& c) { return {smaller(c, c.in(0), c.in(1))}; }

Values map_squared_difference(MapperContext& c) {
  Value* d = c.sub(c.in(0), c.in(1));
  return {c.mul(d, d)};
}

bool are_ordered_scalars(const Value* low, const Value* high) {
  const TensorPtr &a = low->constant(), &b = high->constant();
  return a && b && a->rank() == 0 && b->rank() == 0 && a->float_at(0) <= b->float_at(0);
}

// max(min(x, high), low): low wins where it is above high, unlike in Clip. A bound of NaN is none, unlike in
// Min.
Values map_clip_by_value(MapperContext& c) {
  Value *x = c.in(0), *low = c.in(1), *high = c.in(2);
  if (is_int(x->dtype()) || (!c.strict() && !are_ordered_scalars(low, high)))
    return {larger(c, smaller(c, x, high), low)};
  if (are_ordered_scalars(low, high)) return {c.emit("Clip", {x, low, high})};
  Value* above = c.greater(x, high);
  Value* capped = c.where(above, high, x);
  Value* below = c.less(capped, low);
  return {c.where(below, low, capped)};
}

}  // namespace

void register_arithmetic(OpRegistry& r) {
  r.op("Add", "AddV2").by(map_add);
  r.op("AddN", "AccumulateNV2").ignores({"N", "shape"}).by(map_add_n);
  r.op("Sub").to("Sub");
  r.op("Mul").to("Mul");
  r.op("MulNoNan").by(map_mul_no_nan);
  r.op("Div", "RealDiv").by(map_div);
  r.op("TruncateDiv").by(map_truncate_div);
  r.op("FloorDiv").by(map_floor_div);
  r.op("DivNoNan").by(map_div_no_nan);
  r.op("Xdivy").by(map_xdivy);
  r.op("Xlogy").by(map_xlogy);
  r.op("Xlog1py").by(map_xlog1py);
  r.op("FloorMod").by(map_floor_mod);
  r.op("Mod", "TruncateMod").by(map_truncate_mod);
  r.op("Pow").by(map_pow);
  r.op("SquaredDifference").by(map_squared_difference);
  r.op("Maximum").by(map_maximum);
  r.op("Minimum").by(map_minimum);
  r.op("ClipByValue").by(map_clip_by_value);
}

}  // namespace t2o::op_mappers
