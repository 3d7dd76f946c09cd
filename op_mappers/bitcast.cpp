#include "op_mappers/bitcast.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "onnx/raise_opset.h"
#include "op_mappers/plain_type.h"

// The bits of a float are those of an unsigned integer of its width; from there to other integers by casts,
// to other widths by shifts.
namespace t2o::op_mappers {
namespace {

DType unsigned_of(std::size_t width) {
  if (width == 64) return DType::u64;
  if (width == 32) return DType::u32;
  return width == 16 ? DType::u16 : DType::u8;
}

struct Format {
  int mantissa, bias;
};

Format format_of(MapperContext& c, DType t) {
  if (t == DType::f16) return {10, 15};
  if (t == DType::bf16) return {7, 127};
  if (t == DType::f32) return {23, 127};
  c.fail(Code::opset_too_low, "Bitcast of " + std::string(name(t)) + " needs ONNX BitCast",
         onnx::raise_opset(26, c.target()));
}

Value* f64(MapperContext& c, double v) { return c.scalar(DType::f64, v); }
Value* i64(MapperContext& c, std::int64_t v) { return c.constant(v); }

// 2^k by which a number of that exponent becomes an integer with all its digits; the exponent 0 is that of
// the numbers without a leading one.
Value* scales(MapperContext& c, Format f, bool inverse) {
  std::vector<double> table;
  for (int e = 0; e <= 2 * f.bias + 1; ++e) {
    const int k = f.mantissa + f.bias - std::max(e, 1);
    table.push_back(std::exp2(inverse ? -k : k));
  }
  return c.constant<double>({static_cast<std::int64_t>(table.size())}, table);
}

struct Digits {
  Value *exponent, *whole;  // the biased exponent, and the mantissa as an integer (f64)
};

// The logarithm finds the exponent, or the one beside it.
Digits digits(MapperContext& c, Value* size, Format f) {
  Value* table = scales(c, f, false);
  Value* logarithm = c.mul(c.log(size), f64(c, std::numbers::log2e));
  Value* guess = c.floor(c.add(logarithm, f64(c, f.bias)));
  Value* near = c.cast(c.clip(guess, 0, 2.0 * f.bias), DType::i64);
  Value* whole = c.mul(size, c.gather(table, near, 0));
  Value* low = c.cast(c.less(whole, f64(c, std::exp2(f.mantissa))), DType::i64);
  Value* high = c.cast(c.greater_equal(whole, f64(c, std::exp2(f.mantissa + 1))), DType::i64);
  Value* exponent = c.maximum(c.add(c.sub(near, low), high), i64(c, 0));
  return {exponent, c.mul(size, c.gather(table, exponent, 0))};
}

Value* bits_of_float(MapperContext& c, Value* x, Bits how) {
  const auto width = bit_width(x->dtype());
  if (how == Bits::by_bitcast) return c.emit("BitCast", {x}, {{"to", unsigned_of(width)}});
  const Format f = format_of(c, x->dtype());
  const std::int64_t infinite = std::int64_t{2 * f.bias + 1} << f.mantissa;
  Value* wide = c.cast(x, DType::f64);
  Value* zero = f64(c, 0);
  Value* size = c.abs(wide);
  Value* is_nan = c.is_nan(wide);
  Value* is_endless = c.equal(size, f64(c, std::numeric_limits<double>::infinity()));
  Value* finite = c.where(c.logical_or(is_nan, is_endless), zero, size);
  const Digits d = digits(c, finite, f);
  Value* above = c.maximum(c.sub(d.exponent, i64(c, 1)), i64(c, 0));  // the leading one counts for another
  Value* bits = c.add(c.mul(above, i64(c, std::int64_t{1} << f.mantissa)), c.cast(d.whole, DType::i64));
  bits = c.where(is_endless, i64(c, infinite), bits);
  bits = c.where(is_nan, i64(c, infinite | std::int64_t{1} << (f.mantissa - 1)), bits);
  Value* is_zero = c.equal(wide, zero);
  Value* side = c.where(is_zero, c.reciprocal(wide), wide);
  Value* sign = c.cast(c.less(side, zero), DType::i64);
  Value* all = c.add(bits, c.mul(sign, i64(c, std::int64_t{1} << (width - 1))));
  return c.cast(all, unsigned_of(width));
}

Value* float_of_bits(MapperContext& c, Value* bits, DType type, Bits how) {
  if (how == Bits::by_bitcast) return c.emit("BitCast", {bits}, {{"to", type}});
  const Format f = format_of(c, type);
  const std::int64_t one = std::int64_t{1} << f.mantissa, exponents = 2 * f.bias + 2;
  Value* u = c.cast(bits, DType::i64);
  Value* exponent = c.emit("Mod", {c.div(u, i64(c, one)), i64(c, exponents)});
  Value* mantissa = c.mod(u, i64(c, one));
  Value* leading = c.mul(c.minimum(exponent, i64(c, 1)), i64(c, one));
  Value* whole = c.cast(c.add(mantissa, leading), DType::f64);
  Value* size = c.mul(whole, c.gather(scales(c, f, true), exponent, 0));
  Value* endless = c.where(c.equal(mantissa, i64(c, 0)), f64(c, std::numeric_limits<double>::infinity()),
                           f64(c, std::numeric_limits<double>::quiet_NaN()));
  size = c.where(c.equal(exponent, i64(c, exponents - 1)), endless, size);
  Value* is_negative = c.greater_equal(u, i64(c, std::int64_t{1} << (bit_width(type) - 1)));
  return c.cast(c.where(is_negative, c.neg(size), size), type);
}

// [...] of wide integers as [..., n] of narrow ones, the lowest bits first.
Value* cut(MapperContext& c, Value* bits, std::size_t width) {
  const DType work = bits->dtype() == DType::u64 ? DType::u64 : DType::u32;
  Ints amounts;
  for (std::size_t at = 0; at < bit_width(bits->dtype()); at += width)
    amounts.push_back(static_cast<std::int64_t>(at));
  Value* column = c.unsqueeze(c.cast(bits, work), {-1});
  Value* by = c.cast(c.ints(amounts), work);
  Value* moved = c.emit("BitShift", {column, by}, {{"direction", std::string("RIGHT")}});
  return c.cast(moved, unsigned_of(width));
}

Value* joined(MapperContext& c, Value* bits, std::size_t width) {
  std::vector<std::int64_t> weights;
  for (std::size_t at = 0; at < width; at += bit_width(bits->dtype()))
    weights.push_back(std::int64_t{1} << at);
  Value* wide = c.cast(bits, DType::i64);
  Value* sum = c.emit(
      "MatMul", {wide, c.constant<std::int64_t>({static_cast<std::int64_t>(weights.size()), 1}, weights)});
  return c.cast(c.squeeze(sum, {-1}), unsigned_of(width));
}

}  // namespace

Values map_bitcast(MapperContext& c, Bits how) {
  Value* x = c.in(0);
  const DType from = x->dtype(), to = plain_type(c.output_dtype());
  if (const TensorPtr& t = x->constant(); t && bit_width(from) == bit_width(to))
    return {c.constant(t->with_dtype(to))};
  const auto have = bit_width(from), want = bit_width(to);
  if (from == to || (have == want && is_int(from) && is_int(to))) return {c.cast(x, to)};
  if (have == want && how == Bits::by_bitcast) return {c.emit("BitCast", {x}, {{"to", to}})};
  Value* bits = is_float(from) ? bits_of_float(c, x, how) : c.cast(x, unsigned_of(have));
  if (have > want) bits = cut(c, bits, want);
  if (have < want) bits = joined(c, bits, want);
  return {is_float(to) ? float_of_bits(c, bits, to, how) : c.cast(bits, to)};
}

// The number beside x1 on the way to x2. Finite numbers are in the order of their bits, counted down below
// zero; from 0 the next one has the lowest bits, and x2's sign.
Values map_next_after(MapperContext& c, Bits how) {
  Value *x = c.in(0), *to = c.in(1);
  const DType type = x->dtype();
  Value* zero = c.scalar_like(x, 0);
  Value* upward = c.less(x, to);
  Value* is_zero = c.equal(x, zero);
  Value* bits = bits_of_float(c, x, how);
  Value* one = c.scalar_like(bits, 1);
  Value* grows = c.equal(c.greater(x, zero), upward);  // away from zero
  Value* moved = c.where(grows, c.add(bits, one), c.sub(bits, one));
  Value* next = float_of_bits(c, moved, type, how);
  Value* least = float_of_bits(c, one, type, how);
  next = c.where(is_zero, c.where(upward, least, c.neg(least)), next);
  next = c.where(c.equal(x, to), to, next);
  next = c.where(c.is_nan(to), to, next);
  return {c.where(c.is_nan(x), x, next)};
}

}  // namespace t2o::op_mappers
