#include "op_mappers/segments.h"
#include "onnx/facts.h"

#include <limits>
#include <string>

#include "op_mappers/loop.h"
#include "op_mappers/wide_integers.h"

namespace t2o::op_mappers {
namespace {

std::string scatter_name(Reduction r) {
  switch (r) {
    case Reduction::add:
      return "add";
    case Reduction::mul:
      return "mul";
    case Reduction::max:
      return "max";
    case Reduction::min:
      break;
  }
  return "min";
}

std::string reduce_name(Reduction r) {
  switch (r) {
    case Reduction::add:
      return "ReduceSum";
    case Reduction::mul:
      return "ReduceProd";
    case Reduction::max:
      return "ReduceMax";
    case Reduction::min:
      break;
  }
  return "ReduceMin";
}

Value* by_scatter(Emitter& c, Reduction how, Value* rows, Value* ids, Value* count, Value* init) {
  return scatter_rows(c, segment_blank(c, rows, count, init), ids, rows, scatter_name(how));
}

bool surely_some(const Emitter& c, const Value* rows) {
  return (rows->shape().ranked() && rows->shape()[0] > 0) || !onnx::may_be_empty(rows, c.strict());
}

// Of integers, whose products wrap around.
Value* product_in_turn(Emitter& c, Value* rows, Value* ids, Value* count, Value* init) {
  Value* segments = iota(c, c.squeeze(count, {0}));
  const Step step = [&](Emitter& e, Value* k, const Values& state) -> Values {
    Value* here = with_tail(e, e.equal(segments, e.gather(ids, k, 0)), rows);
    return {e.where(here, e.mul(state[0], e.gather(rows, k, 0)), state[0])};
  };
  return counted_loop(c, c.size_of(ids), {segment_blank(c, rows, count, init)}, step)[0];
}

// Of rows x segments.
Value* by_compare(Emitter& c, Reduction how, Value* rows, Value* ids, Value* count, Value* init) {
  const bool arithmetic = how == Reduction::add || how == Reduction::mul;
  const DType type = rows->dtype();
  const DType wide = arithmetic ? DType::i64 : DType::i32;
  const bool is_narrow = is_int(type) && bit_width(type) < bit_width(wide);
  const DType work = is_narrow || (arithmetic && type == DType::u64) ? wide : type;
  if (how == Reduction::mul && is_int(type))
    return c.cast(product_in_turn(c, c.cast(rows, work), ids, count, c.cast(init, work)), type);
  Value* segments = c.unsqueeze(iota(c, c.squeeze(count, {0})), {0});
  Value* hit = with_tail(c, c.equal(c.unsqueeze(ids, {1}), segments), rows);
  Value* none = c.cast(init, work);
  Value* chosen = c.where(hit, c.unsqueeze(c.cast(rows, work), {1}), none);
  const auto reduced_rows = [&](Value* x) { return c.reduce(reduce_name(how), x, Ints{0}, false); };
  Value* reduced = how == Reduction::add ? wrapping_sum(c, chosen, reduced_rows) : reduced_rows(chosen);
  if (arithmetic || ((is_int(type) || !c.strict()) && surely_some(c, rows))) return c.cast(reduced, type);
  return c.cast(how == Reduction::max ? larger(c, reduced, none) : smaller(c, reduced, none),
                type);  // also of no rows
}

// Without the highest bit 64-bit numbers without a sign have the order of those with one.
Value* extremum_of_unsigned(Emitter& c, By by, Reduction how, Value* rows, Value* ids, Value* count,
                            Value* init) {
  Value* half = c.i64(std::numeric_limits<std::int64_t>::min());
  const auto with_sign = [&](Value* x) { return c.add(c.cast(x, DType::i64), half); };
  Value* numbers = with_sign(rows);
  Value* best = segment_reduce(c, by, how, numbers, ids, count, with_sign(init));
  return c.cast(c.add(best, half), DType::u64);
}

// As ScatterElements does it: places are counted from 1.
Value* since_last_nan(Emitter& c, Reduction how, Value* rows, Value* ids, Value* count, Value* init) {
  const auto highest_place = [&](Value* places) { return c.reduce("ReduceMax", places, Ints{0}, true); };
  const double infinity = std::numeric_limits<double>::infinity();
  Value* segments = c.unsqueeze(iota(c, c.squeeze(count, {0})), {0});
  Value* hit = with_tail(c, c.equal(c.unsqueeze(ids, {1}), segments), rows);
  Value* x = c.unsqueeze(rows, {1});
  Value* zero = c.scalar(DType::f32, 0);
  Value* number = c.add(iota(c, c.size_of(ids)), c.i64(1));
  Value* place = with_tail(c, c.unsqueeze(c.cast(number, DType::f32), {1}), rows);
  Value* of_nan = c.where(c.is_nan(x), place, zero);
  Value* last_nan = highest_place(c.where(hit, of_nan, zero));
  Value* last = highest_place(c.where(hit, place, zero));
  Value* counts = c.logical_and(hit, c.greater(place, last_nan));
  Value* none = c.scalar_like(x, how == Reduction::max ? -infinity : infinity);
  Value* best = c.reduce(reduce_name(how), c.where(counts, x, none), Ints{0}, true);
  Value* with_init = how == Reduction::max ? larger(c, best, init) : smaller(c, best, init);
  Value* has_nan = c.greater(last_nan, zero);
  Value* result = c.where(has_nan, best, with_init);
  Value* ends_so = c.logical_and(has_nan, c.equal(last_nan, last));
  Value* nan = c.scalar_like(x, std::numeric_limits<double>::quiet_NaN());
  return c.squeeze(c.where(ends_so, nan, result), {0});
}

bool has_no_elements(const Value* rows) {
  const Shape& s = rows->shape();
  for (int i = 1; s.ranked() && i < s.rank(); ++i)
    if (s[i] == 0) return true;
  return false;
}

}  // namespace

Value* with_tail(Emitter& c, Value* v, const Value* like) {
  Value* rows = const_cast<Value*>(like);
  if (rows->shape().ranked() && v->shape().ranked()) {
    Ints axes;
    for (int i = 1; i < rows->shape().rank(); ++i) axes.push_back(v->shape().rank() + i - 1);
    return c.unsqueeze(v, axes);
  }
  Value* one = c.i64(1);
  Value* ones = c.expand(one, c.unsqueeze(c.sub(c.rank_of(rows), one), {0}));
  return c.reshape_to(v, c.concat({c.shape_of(v), ones}, 0));
}

Value* segment_blank(Emitter& c, Value* rows, Value* count, Value* init) {
  const bool is_vector = rows->shape().ranked() && rows->shape().rank() == 1;
  return c.expand(init, is_vector ? count : c.concat({count, c.dims(rows, 1, onnx::kToEnd)}, 0));
}

Value* scatter_rows(Emitter& c, Value* base, Value* ids, Value* rows, const std::string& reduction) {
  if (has_no_elements(rows)) return base;
  const bool is_vector = rows->shape().ranked() && rows->shape().rank() == 1;
  Value* dims = is_vector ? nullptr : c.shape_of(rows);
  Value* places = is_vector ? ids : c.expand(with_tail(c, ids, rows), dims);
  Attrs attrs{{"axis", 0}};
  if (!reduction.empty()) attrs.push_back({"reduction", reduction});
  return c.emit("ScatterElements", {base, places, rows}, attrs);
}

// Halves are reduced in f32; the result is rounded once.
Value* segment_reduce(Emitter& c, By by, Reduction how, Value* rows, Value* ids, Value* count, Value* init) {
  const DType type = rows->dtype();
  if (type == DType::u64 && (how == Reduction::max || how == Reduction::min))
    return extremum_of_unsigned(c, by, how, rows, ids, count, init);
  const DType work = is_half(type) ? DType::f32 : type;
  rows = c.cast(rows, work);
  init = c.cast(init, work);
  if (has_no_elements(rows)) return c.cast(segment_blank(c, rows, count, init), type);
  Value* reduced = by == By::scatter ? by_scatter(c, how, rows, ids, count, init)
                                     : by_compare(c, how, rows, ids, count, init);
  return c.cast(reduced, type);
}

Value* segment_extremum(Emitter& c, By by, Reduction how, Value* rows, Value* ids, Value* count,
                        Value* init) {
  const DType type = rows->dtype();
  if (by == By::scatter || !is_float(type) || !c.strict() || has_no_elements(rows))
    return segment_reduce(c, by, how, rows, ids, count, init);
  const DType work = is_half(type) ? DType::f32 : type;
  Value* wide = c.cast(rows, work);
  return c.cast(since_last_nan(c, how, wide, ids, count, c.cast(init, work)), type);
}

Value* segment_sum(Emitter& c, By by, Value* rows, Value* ids, Value* count) {
  Value* zero = c.scalar_like(rows, 0);
  return segment_reduce(c, by, Reduction::add, rows, ids, count, zero);
}

Value* segment_sizes(Emitter& c, By by, Value* ids, Value* count) {
  Value* one = c.i64(1);
  Value* ones = c.expand(one, c.shape_of(ids));
  return segment_sum(c, by, ones, ids, count);
}

// How far the row is from that before is put where each row begins that is not empty; their running sum is
// the row.
Value* row_ids(Emitter& c, Value* splits, Value* count) {
  splits = c.cast(splits, DType::i64);
  Value* starts = c.slice(splits, {0}, {-1}, {0});
  Value* ends = c.slice(splits, {1}, {onnx::kToEnd}, {0});
  Value* rows = c.reshape(c.emit("NonZero", {c.greater(ends, starts)}), {-1});
  Value* before = c.concat({c.ints({0}), c.slice(rows, {0}, {-1}, {0})}, 0);
  Value* steps = c.sub(rows, before);
  Value* first = c.gather(starts, rows, 0);
  Value* zero = c.i64(0);
  Value* zeros = c.expand(zero, c.unsqueeze(count, {0}));
  Value* marks = c.emit("ScatterElements", {zeros, first, steps}, {{"axis", 0}});
  return c.cumsum(marks, zero, false, false);
}

}  // namespace t2o::op_mappers
