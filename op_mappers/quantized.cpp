#include "op_mappers/quantized.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "op_mappers/all.h"
#include "op_mappers/apply.h"
#include "op_mappers/numbers.h"
#include "op_mappers/plain_type.h"

namespace t2o::op_mappers {

double lowest_level(DType plain) {
  return is_unsigned_int(plain) ? 0 : -std::exp2(static_cast<double>(bit_width(plain)) - 1);
}
double highest_level(DType plain) {
  return lowest_level(plain) + std::exp2(static_cast<double>(bit_width(plain))) - 1;
}

namespace {

Value* wide(Emitter& e, double v) { return e.scalar(DType::f64, v); }

// Halves go away from zero. The addend is the number below 0.5: half of an odd last digit must not carry.
Value* rounded_away(Emitter& e, Value* x) {
  Value* size = e.add(e.abs(x), wide(e, std::nextafter(0.5, 0.0)));
  Value* sign = e.sign(x);
  return e.mul(sign, e.floor(size));
}

}  // namespace

QuantizedScale scale_of(Emitter& e, DType plain, QuantizedRange r) {
  Value* min = e.cast(r.min, DType::f64);
  Value* max = e.cast(r.max, DType::f64);
  Value* step = e.div(e.sub(max, min), wide(e, highest_level(plain) - lowest_level(plain)));
  return {step, e.sub(wide(e, lowest_level(plain)), rounded_away(e, e.div(min, step)))};
}

QuantizedScale scale_of_reading(Emitter& e, DType plain, QuantizedRange r) {
  Value* step = scale_of(e, plain, r).step;
  Value* low = e.div(r.min, e.cast(step, DType::f32));
  Value* size = e.emit(
      "Floor", {e.add(e.abs(low), e.scalar(DType::f32, static_cast<double>(std::nextafter(0.5f, 0.0f))))});
  Value* places = e.mul(size, e.sign(low));
  return {step, e.sub(wide(e, lowest_level(plain)), e.cast(places, DType::f64))};
}

QuantizedRange range_at(MapperContext& c, std::size_t input) {
  const auto scalar = [&](Value* v) { return v->shape().is_scalar() ? v : c.reshape(v, {}); };
  Value* min = scalar(c.in(input));
  return {min, scalar(c.in(input + 1))};
}

namespace {

bool is_zero(const Value* scalar) { return scalar->constant() && scalar->constant()->float_at(0) == 0; }

}  // namespace

Value* dequantized(Emitter& e, Value* levels, QuantizedScale s) {
  Value* above = e.cast(levels, DType::f32);
  if (!is_zero(s.zero)) above = e.sub(above, e.cast(s.zero, DType::f32));
  return e.mul(above, e.cast(s.step, DType::f32));
}

Value* quantized(Emitter& e, Value* numbers, DType plain, QuantizedScale s) {
  Value* level = e.round(e.div(numbers, e.cast(s.step, DType::f32)));
  if (!is_zero(s.zero)) level = e.add(level, e.cast(s.zero, DType::f32));
  const double high = highest_level(plain);
  // the highest f32 that is an i32
  return e.cast(e.clip(level, lowest_level(plain), high > 65535 ? 2147483520.0 : high), plain);
}

QuantizedRange product_range(Emitter& e, DType a, QuantizedRange ra, DType b, QuantizedRange rb) {
  const auto step = [&](DType t, QuantizedRange r) {
    return e.div(e.sub(r.max, r.min), e.scalar(DType::f32, highest_level(t) - lowest_level(t)));
  };
  Value* step_a = step(a, ra);
  Value* step_c = e.mul(step_a, step(b, rb));
  Value* min = e.mul(step_c, e.scalar(DType::f32, lowest_level(DType::i32)));
  return {min, e.mul(step_c, e.scalar(DType::f32, highest_level(DType::i32)))};
}

namespace {

Value* zero_level(MapperContext& c, DType plain, QuantizedRange r) {
  Value* zero = c.clip(scale_of(c, plain, r).zero, lowest_level(plain), highest_level(plain));
  return c.cast(zero, plain);
}

Values map_relu(MapperContext& c) {
  Value* x = c.in(0);
  return {c.maximum(x, zero_level(c, x->dtype(), range_at(c, 1))), c.in(1), c.in(2)};
}

Values map_relu6(MapperContext& c) {
  Value* x = c.in(0);
  const QuantizedRange r = range_at(c, 1);
  Value* above = c.maximum(x, zero_level(c, x->dtype(), r));
  Value* six = quantized(c, c.scalar(DType::f32, 6), x->dtype(), scale_of(c, x->dtype(), r));
  return {c.minimum(above, six), c.in(1), c.in(2)};
}

Values map_max_pool(MapperContext& c) {
  Value* y = apply_one(c, "MaxPool", {c.in(0)});
  return {y, c.in(1), c.in(2)};
}

// A quotient of integers, which loses its fraction; half of the smallest there can be keeps a whole one from
// falling below.
Values map_avg_pool(MapperContext& c) {
  std::int64_t window = 1;
  for (const std::int64_t k : c.attr<Ints>("ksize")) window *= std::max<std::int64_t>(k, 1);
  Value* mean = apply_one(c, "AvgPool", {c.cast(c.in(0), DType::f32)});
  Value* whole = c.floor(c.add(mean, c.scalar_like(mean, 0.5 / static_cast<double>(window))));
  return {c.cast(whole, c.in(0)->dtype()), c.in(1), c.in(2)};
}

Values map_reshape(MapperContext& c) {
  Value* y = apply_one(c, "Reshape", {c.in(0), c.in(1)});
  return {y, c.in(2), c.in(3)};
}

// ---- the reading and writing of TensorFlow's Eigen kernels, in single precision, which is seen where a
// number lies between two levels

Value* f32(Emitter& e, double v) { return e.scalar(DType::f32, v); }

Value* rounded_away_f32(Emitter& e, Value* x) {
  Value* size = e.add(e.abs(x), f32(e, static_cast<double>(std::nextafter(0.5f, 0.0f))));
  return e.mul(e.sign(x), e.floor(size));
}

Value* span_of(Emitter& e, QuantizedRange r) { return e.cast(e.sub(r.max, r.min), DType::f64); }

// round(min / step) * step - lowest * step + x * step
Value* numbers_of(Emitter& e, Value* levels, QuantizedRange r) {
  const DType plain = levels->dtype();
  const double lowest = lowest_level(plain);
  Value* step = e.cast(e.div(span_of(e, r), wide(e, highest_level(plain) - lowest)), DType::f32);
  Value* base = e.mul(rounded_away_f32(e, e.div(r.min, step)), step);
  if (lowest != 0) base = e.sub(base, e.mul(step, f32(e, lowest)));
  return e.add(base, e.mul(e.cast(levels, DType::f32), step));
}

// round(x * scale) - (round(min * scale) - lowest), saturated
Value* levels_of(Emitter& e, Value* numbers, DType plain, QuantizedRange r) {
  const double lowest = lowest_level(plain), highest = highest_level(plain);
  Value* scale = e.cast(e.div(wide(e, highest - lowest), span_of(e, r)), DType::f32);
  Value* offset = rounded_away_f32(e, e.mul(r.min, scale));
  if (lowest != 0) offset = e.sub(offset, f32(e, lowest));
  Value* level = e.sub(rounded_away_f32(e, e.mul(numbers, scale)), offset);
  return e.cast(e.clip(level, lowest, highest > 65535 ? 2147483520.0 : highest), plain);
}

// ---- sums, in a range that lies around zero

QuantizedRange range_of_sums(MapperContext& c, int bits) {
  const QuantizedRange x = range_at(c, 2), y = range_at(c, 4);
  Value* lowest = c.abs(c.minimum(x.min, y.min));
  Value* largest = c.maximum(lowest, c.abs(c.maximum(x.max, y.max)));
  Value* size = c.mul(largest, f32(c, std::exp2(bits)));
  return {c.neg(size), size};
}

// How many levels of 32 bits there are in 1, as TensorFlow has it in double precision.
Value* levels_per_unit(Emitter& e, QuantizedRange r) {
  constexpr double kLevels = 4294967296.0;
  return e.div(wide(e, kLevels), e.mul(span_of(e, r), wide(e, kLevels / (kLevels - 1))));
}

// round(x * scale) - round(min * scale) + lowest
Value* level_of_32_bits(Emitter& e, Value* number, QuantizedRange r) {
  Value* scale = levels_per_unit(e, r);
  const auto scaled = [&](Value* v) { return rounded_away(e, e.mul(e.cast(v, DType::f64), scale)); };
  Value* low = scaled(r.min);
  return e.cast(e.sub(e.sub(scaled(number), low), wide(e, 2147483648.0)), DType::i64);
}

// TensorFlow's reading of a single level: round(min / step) * step + level * step
Value* number_at(Emitter& e, Value* level, DType plain, QuantizedRange r) {
  const double lowest = lowest_level(plain), levels = highest_level(plain) - lowest + 1;
  Value* step = e.div(e.mul(span_of(e, r), wide(e, levels / (levels - 1))), wide(e, levels));
  Value* narrow_step = e.cast(step, DType::f32);
  Value* places = e.cast(rounded_away_f32(e, e.div(r.min, narrow_step)), DType::f64);
  Value* base = e.mul(places, e.cast(narrow_step, DType::f64));
  Value* above = e.sub(e.cast(level, DType::f64), wide(e, lowest));
  return e.cast(e.add(base, e.mul(above, step)), DType::f32);
}

// Levels in the range of the sums. Those of a tensor are as far apart as 0 and 1 are, that of a single number
// is its own.
Value* in_range_of_sums(MapperContext& c, Value* levels, QuantizedRange r, QuantizedRange sums,
                        Value* single) {
  const DType plain = levels->dtype();
  const auto at = [&](Value* level) { return level_of_32_bits(c, number_at(c, level, plain, r), sums); };
  Value* first = at(wide(c, 0));
  Value* distance = c.sub(at(wide(c, 1)), first);
  Value* apart = c.add(c.mul(c.cast(levels, DType::i64), distance), first);
  const TensorPtr& known = single->constant();
  if (known && known->int_at(0) == 0) return apart;
  return known ? at(levels) : c.where(single, at(levels), apart);
}

// ---- two tensors, of which TensorFlow repeats the smaller from its beginning

// Whether the axes of `part` are the last ones of `whole`, but for axes of one element in front.
bool ends_with(const Shape& whole, const Shape& part) {
  if (!whole.ranked() || !part.ranked()) return false;
  int first = 0;
  while (first < part.rank() && part[first] == 1) ++first;
  if (part.rank() - first > whole.rank()) return false;
  for (int i = first; i < part.rank(); ++i) {
    const Dim &mine = part[i], &its = whole[whole.rank() - part.rank() + i];
    if (mine != its || mine == kUnknownDim) return false;
  }
  return true;
}

// The elements of the smaller tensor repeat along the larger one, whatever axes they stand for. A column
// beside a matrix therefore pairs with other elements than in a broadcast.
Value* combined(MapperContext& c, const std::string& op, Value* a, Value* b) {
  Value* broadcast = c.emit(op, {a, b});
  if (ends_with(a->shape(), b->shape()) || ends_with(b->shape(), a->shape())) return broadcast;
  Value* places = iota(c, c.size_of(broadcast));
  const auto round_and_round = [&](Value* v) {
    Value* row = c.reshape(v, {-1});
    return c.gather(row, c.mod(places, c.maximum(c.size_of(row), c.i64(1))), 0);
  };
  Value* first = round_and_round(a);
  Value* second = round_and_round(b);
  return c.reshape_to(c.emit(op, {first, second}), c.shape_of(broadcast));
}

Values map_add(MapperContext& c) {
  const QuantizedRange sums = range_of_sums(c, 14);
  Value* one = c.i64(1);
  Value* first_is_single = c.equal(c.size_of(c.in(0)), one);
  Value* second_is_single = c.equal(c.size_of(c.in(1)), one);
  second_is_single = c.logical_and(second_is_single, c.logical_not(first_is_single));
  Value* a = in_range_of_sums(c, c.in(0), range_at(c, 2), sums, first_is_single);
  Value* b = in_range_of_sums(c, c.in(1), range_at(c, 4), sums, second_is_single);
  return {c.cast(combined(c, "Add", a, b), DType::i32), sums.min, sums.max};
}

Values map_bias_add(MapperContext& c) {
  const QuantizedRange sums = range_of_sums(c, 17);
  const DType type = plain_type(c.output_dtype());
  const auto moved = [&](std::size_t i, std::size_t range) {
    return levels_of(c, numbers_of(c, c.in(i), range_at(c, range)), type, sums);
  };
  Value* x = moved(0, 2);
  Value* bias = moved(1, 4);
  Value* zero = c.cast(level_of_32_bits(c, f32(c, 0), sums), type);
  return {c.add(c.add(x, bias), zero), sums.min, sums.max};
}

// (x - zero of x) * (y - zero of y)
Values map_mul(MapperContext& c) {
  const QuantizedRange x = range_at(c, 2), y = range_at(c, 4);
  const auto centered = [&](Value* v, QuantizedRange r) {
    Value* zero = c.cast(scale_of(c, v->dtype(), r).zero, DType::i32);  // in a range without zero no level
    return c.sub(c.cast(v, DType::i32), zero);
  };
  Value* a = centered(c.in(0), x);
  Value* b = centered(c.in(1), y);
  const QuantizedRange r = product_range(c, c.in(0)->dtype(), x, c.in(1)->dtype(), y);
  return {combined(c, "Mul", a, b), r.min, r.max};
}

bool same_constants(const Values& v) {
  for (const Value* one : v)
    if (!one->constant() || one->constant()->elements() != 1 ||
        one->constant()->float_at(0) != v[0]->constant()->float_at(0))
      return false;
  return true;
}

Values map_concat(MapperContext& c) {
  const auto n = static_cast<std::size_t>(c.attr<std::int64_t>("N"));
  if (n == 0 || c.input_count() != 3 * n + 1)
    c.fail(Code::bad_model, "QuantizedConcat needs two bounds for each input");
  Values parts, mins, maxes;
  for (std::size_t i = 0; i < n; ++i) {
    parts.push_back(c.in(1 + i));
    mins.push_back(c.reshape(c.in(1 + n + i), {}));
    maxes.push_back(c.reshape(c.in(1 + 2 * n + i), {}));
  }
  const DType type = parts[0]->dtype();
  Value* zero = c.scalar(DType::f32, 0);
  QuantizedRange all{zero, maxes[0]};
  for (std::size_t i = 0; i < n; ++i) {
    all.min = c.minimum(all.min, mins[i]);
    all.max = c.maximum(all.max, maxes[i]);
  }
  if (!is_unsigned_int(type)) {
    Value* lowest = c.abs(all.min);
    all.max = c.maximum(lowest, c.abs(all.max));
    all.min = c.neg(all.max);
  }
  mins.push_back(all.min);
  maxes.push_back(all.max);
  if (!same_constants(mins) || !same_constants(maxes))
    for (std::size_t i = 0; i < n; ++i) {
      const Values both_mins{mins[i], all.min}, both_maxes{maxes[i], all.max};
      if (same_constants(both_mins) && same_constants(both_maxes)) continue;
      Value* numbers = numbers_of(c, parts[i], {mins[i], maxes[i]});
      Value* moved = levels_of(c, numbers, type, all);
      Value* same_min = c.equal(mins[i], all.min);
      parts[i] = c.where(c.logical_and(same_min, c.equal(maxes[i], all.max)), parts[i], moved);
    }
  Values in{c.in(0)};
  append(in, parts);
  return {apply_one(c, "Concat", in), all.min, all.max};
}

// ---- from 32 bits to 8

QuantizedRange actual_range(MapperContext& c) {
  Value* x = c.in(0);
  const QuantizedScale s = scale_of(c, x->dtype(), range_at(c, 1));
  Value* lowest = dequantized(c, c.reduce_all("ReduceMin", x, false), s);
  Value* min = c.minimum(lowest, c.scalar(DType::f32, 0));
  return {min, dequantized(c, c.reduce_all("ReduceMax", x, false), s)};
}

Values map_range(MapperContext& c) {
  const QuantizedRange r = actual_range(c);
  return {r.min, r.max};
}

// floor(x / 2^32)
Value* shifted_by_32(Emitter& e, Value* x) {
  Value* unit = e.constant(std::int64_t{1} << 32);
  Value* below = e.mod(x, unit);
  return e.div(e.sub(x, below), unit);
}

// TensorFlow's fixed point of 16 bits: ((x * scale >> 32) + offset - lowest + half) >> 16, saturated
Value* requantized_to_bytes(MapperContext& c, QuantizedRange from, QuantizedRange to) {
  constexpr double kOne = 1 << 16;
  const auto fixed = [&](Value* v) { return c.cast(v, DType::i64); };
  Value* span = span_of(c, to);
  Value* scale = fixed(c.div(c.mul(span_of(c, from), wide(c, 255 * kOne)), span));
  Value* middle = c.mul(c.add(from.min, from.max), f32(c, 0.5));
  Value* per_level = c.cast(c.div(wide(c, 255), span), DType::f32);
  Value* offset = fixed(c.mul(c.mul(middle, per_level), f32(c, kOne)));
  Value* lowest = fixed(c.div(c.mul(c.mul(c.cast(to.min, DType::f64), wide(c, 255)), wide(c, kOne)), span));
  Value* bias = c.add(c.sub(offset, lowest), c.constant(std::int64_t{1} << 15));
  Value* unit = c.constant(std::int64_t{1} << 16);
  Value* above = c.add(shifted_by_32(c, c.mul(c.cast(c.in(0), DType::i64), scale)), bias);
  Value* level = c.div(c.sub(above, c.mod(above, unit)), unit);
  return c.cast(c.clip(c.cast(level, DType::f32), 0, 255), DType::u8);
}

Value* requantized(MapperContext& c, QuantizedRange to) {
  const DType type = plain_type(c.output_dtype());
  if (type == DType::u8 && c.in(0)->dtype() == DType::i32) return requantized_to_bytes(c, range_at(c, 1), to);
  Value* numbers = dequantized(c, c.in(0), scale_of(c, c.in(0)->dtype(), range_at(c, 1)));
  return quantized(c, numbers, type, scale_of(c, type, to));
}

Values map_requantize(MapperContext& c) {
  const QuantizedRange to = range_at(c, 3);
  return {requantized(c, to), to.min, to.max};
}

Values map_shrink(MapperContext& c) {
  const QuantizedRange to = actual_range(c);
  return {requantized(c, to), to.min, to.max};
}

// ---- with a range for each channel: symmetric around zero

Value* greater_bound(Emitter& e, QuantizedRange r) {
  Value* low = e.abs(r.min);
  return e.maximum(low, e.abs(r.max));
}

// The greatest size of a number, not above clip_value_max.
Values map_range_per_channel(MapperContext& c) {
  Value* x = c.in(0);
  const Ints pixels{0, 1, 2};
  Value* lowest = c.reduce("ReduceMin", x, pixels, false);
  Value* low = c.abs(c.cast(lowest, DType::f32));
  Value* high = c.abs(c.cast(c.reduce("ReduceMax", x, pixels, false), DType::f32));
  Value* step = c.mul(greater_bound(c, {c.in(1), c.in(2)}), f32(c, std::exp2(-31)));
  Value* greatest = c.reduce_all("ReduceMax", c.mul(c.maximum(low, high), step), false);
  greatest = c.maximum(greatest, f32(c, static_cast<double>(std::numeric_limits<float>::min())));
  greatest = c.minimum(greatest, f32(c, static_cast<double>(c.attr<float>("clip_value_max"))));
  Value* is_signed = c.less(c.reduce_all("ReduceMin", lowest, false), c.scalar(x->dtype(), 0));
  return {c.where(is_signed, c.neg(greatest), f32(c, 0)), greatest};
}

Values map_requantize_per_channel(MapperContext& c) {
  const DType type = plain_type(c.output_dtype());
  const QuantizedRange to = range_at(c, 3);
  Value* ratio = c.div(greater_bound(c, {c.in(1), c.in(2)}), greater_bound(c, to));
  Value* scale = c.mul(c.mul(ratio, f32(c, highest_level(type))), f32(c, std::exp2(-31)));
  Value* level = c.round(c.mul(c.cast(c.in(0), DType::f32), scale));
  return {c.cast(c.clip(level, lowest_level(type), highest_level(type)), type), to.min, to.max};
}

}  // namespace

void register_quantized(OpRegistry& r) {
  const std::string level = "may differ by one level";
  r.op("QuantizedRelu").by(map_relu);
  r.op("QuantizedRelu6").by(map_relu6);
  r.op("QuantizedMaxPool").by(map_max_pool);
  r.op("QuantizedAvgPool").note("as without oneDNN, whose means are up to one level higher").by(map_avg_pool);
  r.op("QuantizedReshape").by(map_reshape);
  r.op("QuantizedBiasAdd").note(level).by(map_bias_add);
  r.op("QuantizedMul").by(map_mul);
  r.op("QuantizedAdd").by(map_add);
  r.op("QuantizedConcat").note(level).by(map_concat);
  r.op("RequantizationRange").by(map_range);
  r.op("Requantize").by(map_requantize);
  r.op("QuantizeDownAndShrinkRange").note(level).by(map_shrink);
  r.op("RequantizationRangePerChannel").by(map_range_per_channel);
  r.op("RequantizePerChannel").by(map_requantize_per_channel);
  register_quantized_products(r);
  register_quantized_images(r);
}

}  // namespace t2o::op_mappers
