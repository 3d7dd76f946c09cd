#include <cstdint>
#include <limits>
#include <string>

#include "op_mappers/all.h"

namespace t2o::op_mappers {
namespace {

Values map_select_v2(MapperContext& c) { return {c.where(c.in(0), c.in(1), c.in(2))}; }

// Select takes a condition of the branches' shape, a scalar, or a vector that picks rows: ones are put behind
// its shape.
Value* aligned_condition(MapperContext& c, Value* condition, Value* x) {
  const Shape &cs = condition->shape(), &xs = x->shape();
  if (cs.ranked() && cs.rank() != 1) return condition;
  if (cs.ranked() && xs.ranked()) {
    Ints tail;
    for (int i = 1; i < xs.rank(); ++i) tail.push_back(i);
    return c.unsqueeze(condition, tail);
  }
  Value* missing = c.sub(c.rank_of(x), c.rank_of(condition));
  Value* ones = c.expand(c.i64(1), c.unsqueeze(missing, {0}));
  return c.reshape_to(condition, c.concat({c.shape_of(condition), ones}, 0));
}

Values map_select(MapperContext& c) {
  Value* condition = aligned_condition(c, c.in(0), c.in(1));
  return {c.where(condition, c.in(1), c.in(2))};
}

// Less half of their range, 64-bit numbers without a sign are those with one, in the same order.
Values top_k(MapperContext& c, Value* k, bool largest = true) {
  Value* x = c.in(0);
  const DType type = x->dtype();
  Value* half = type == DType::u64 ? c.i64(std::numeric_limits<std::int64_t>::min()) : nullptr;
  if (half) x = c.add(c.cast(x, DType::i64), half);
  const Values top = c.topk(x, k, -1, largest);
  Value* best = half ? c.cast(c.add(top[0], half), type) : top[0];
  return {best, top[1]};
}
Values top_pair(MapperContext& c, Value* k) {
  const Values top = top_k(c, k);
  return {top[0], c.cast(top[1], c.output_dtype(1))};
}
Values map_top_k(MapperContext& c) { return top_pair(c, c.constant(c.attr<std::int64_t>("k"))); }
Values map_top_k_v2(MapperContext& c) { return top_pair(c, c.cast(c.in(1), DType::i64)); }

Values map_approx_top_k(MapperContext& c) {
  if (c.attr_or<std::int64_t>("aggregate_to_topk", 1) == 0)
    c.fail(Code::unsupported_attr,
           "with aggregate_to_topk=False the number of candidates depends on the device",
           "set aggregate_to_topk=True");
  Value* k = c.constant(c.attr<std::int64_t>("k"));
  const bool largest = c.attr_or<std::int64_t>("is_max_k", 1) != 0;
  const Values top = c.topk(c.in(0), k, c.attr_or<std::int64_t>("reduction_dimension", -1), largest);
  return {top[0], c.cast(top[1], DType::i32)};
}

Values map_nth_element(MapperContext& c) {
  Value* n = c.cast(c.in(1), DType::i64);
  Value* k = c.add(n, c.i64(1));
  const Values top = top_k(c, k, c.flag("reverse"));
  return {c.gather(top[0], n, -1)};
}

// The target is among the k best when fewer than k classes beat it; never when a number of the row is not
// finite.
Values in_top_k(MapperContext& c, Value* k) {
  Value* scores = c.in(0);
  Value* target = c.cast(c.in(1), DType::i64);
  Value* classes = c.dim(scores, 1);
  Value* zero = c.i64(0);
  Value* below = c.less(target, zero);
  Value* outside = c.logical_or(below, c.greater_equal(target, classes));
  Value* safe = c.unsqueeze(c.where(outside, zero, target), {1});
  Value* chosen = c.emit("GatherElements", {scores, safe}, {{"axis", 1}});
  Value* better = c.reduce("ReduceSum", c.cast(c.greater(scores, chosen), DType::i64), {1}, false);
  Value* not_finite = c.cast(c.is_nan(c.sub(scores, scores)), DType::i64);
  Value* bad = c.greater(c.reduce("ReduceSum", not_finite, {1}, false), zero);
  Value* within = c.less(better, c.cast(k, DType::i64));
  return {c.logical_and(within, c.logical_not(c.logical_or(bad, outside)))};
}
Values map_in_top_k(MapperContext& c) { return in_top_k(c, c.constant(c.attr<std::int64_t>("k"))); }
Values map_in_top_k_v2(MapperContext& c) { return in_top_k(c, c.in(2)); }

}  // namespace

void register_select(OpRegistry& r) {
  r.op("Select").by(map_select);
  r.op("SelectV2").by(map_select_v2);
  const std::string nan = "where NaN comes is not defined, as in TensorFlow";
  r.op("TopK")
      .note(nan)
      .ignores({"sorted"})
      .by(map_top_k);  // in order is one of the orders that sorted=False allows
  r.op("TopKV2").note(nan).ignores({"sorted"}).by(map_top_k_v2);
  r.op("ApproxTopK")
      .note("exact")
      .ignores({"recall_target", "reduction_input_size_override"})
      .by(map_approx_top_k);
  r.op("NthElement").by(map_nth_element);
  r.op("InTopK").by(map_in_top_k);
  r.op("InTopKV2").by(map_in_top_k_v2);
}

}  // namespace t2o::op_mappers
