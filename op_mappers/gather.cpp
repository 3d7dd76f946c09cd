#include <limits>

#include "op_mappers/all.h"
#include "op_mappers/numbers.h"
#include "op_mappers/three_axes.h"

namespace t2o::op_mappers {
namespace {

Value* as_i64(MapperContext& c, Value* v) { return c.cast(v, DType::i64); }

struct GatherPlan {
  std::int64_t axis, batch;
  Ints before, after;  // transposes of params and of the result; empty: none
};

// With batch axes, ONNX has GatherND, which gathers along axis b. So another axis is moved there first. The
// axes that it passes (params[b:axis], which TensorFlow puts before the axes of the indices) are moved back
// in the result.
GatherPlan plan_gather(std::int64_t axis, std::int64_t batch, std::int64_t params_rank,
                       std::int64_t indices_rank) {
  GatherPlan plan{axis, batch, {}, {}};
  if (axis == batch) return plan;
  append(plan.before, ints_from(0, batch));
  plan.before.push_back(axis);
  append(plan.before, ints_from(batch, axis));
  append(plan.before, ints_from(axis + 1, params_rank));
  const std::int64_t leapt = axis - batch, own = indices_rank - batch;
  append(plan.after, ints_from(0, batch));
  append(plan.after, ints_from(indices_rank, indices_rank + leapt));
  append(plan.after, ints_from(batch, batch + own));
  append(plan.after, ints_from(indices_rank + leapt, params_rank + indices_rank - batch - 1));
  return plan;
}

// Where ranks or the axis are known at run time only: number i of leapt place l of batch b is row (b L + l) N
// + i of params.
Value* gather_of_any_rank(MapperContext& c, Value* axis, std::int64_t batch) {
  Value* params = c.in(0);
  Value* indices = as_i64(c, c.in(1));
  Value *first = c.ints({0}), *end = c.ints({std::numeric_limits<std::int64_t>::max()});
  const Sides s = sides(c, params, counted_from_front(c, axis, params));
  Value* batches = batch < 0 ? counted_from_front(c, c.ints({batch}), indices) : c.ints({batch});
  Value* own = c.slice(c.shape_of(indices), batches, end, first);
  Value* outer = c.product(c.slice(s.before, first, batches, first));
  Value* leapt = c.product(c.slice(s.before, batches, end, first));
  Value* lines = c.mul(outer, leapt);
  Value* one = c.ints({1});
  Value* numbers = iota(c, c.squeeze(lines, {0}));
  Value* offsets = c.reshape_to(c.mul(numbers, s.size), c.concat({outer, leapt, one}, 0));
  Value* chosen = c.reshape_to(indices, c.concat({outer, one, c.product(own)}, 0));
  Value* rows = c.reshape_to(params, c.concat({c.mul(lines, s.size), c.product(s.after)}, 0));
  Value* y = c.gather(rows, c.add(offsets, chosen), 0);
  return c.reshape_to(y, c.concat({s.before, own, s.after}, 0));
}

using BatchGather = Value* (*)(MapperContext& c, Value* params, Value* indices, std::int64_t batch);

Value* by_gather_nd(MapperContext& c, Value* params, Value* indices, std::int64_t batch) {
  return c.emit("GatherND", {params, c.unsqueeze(indices, {-1})}, {{"batch_dims", batch}});
}

// Out of all batches' elements in one row: number i of batch k of n is i + k n.
Value* by_offsets(MapperContext& c, Value* params, Value* indices, std::int64_t batch) {
  const int at = static_cast<int>(batch);
  Value* batches = c.dims(indices, 0, at);
  Value* n = c.dims(params, at, at + 1);
  Value* count = c.product(batches);
  Value* numbers = iota(c, c.squeeze(count, {0}));
  Value* ones = c.ints(repeated(1, c.rank(1) - batch));
  Value* offsets = c.reshape_to(c.mul(numbers, n), c.concat({batches, ones}, 0));
  Value* all = c.mul(count, n);
  Value* row =
      c.reshape_to(params, c.concat({all, c.dims(params, at + 1, std::numeric_limits<int>::max())}, 0));
  return c.gather(row, c.add(indices, offsets), 0);
}

Value* batch_gather(MapperContext& c, std::int64_t axis, std::int64_t batch, BatchGather gather) {
  const bool ranked = c.has_rank(0) && c.has_rank(1);
  if (!ranked && (gather == by_offsets || axis != batch || batch < 0))
    return gather_of_any_rank(c, c.ints({axis}), batch);
  if (batch < 0) batch += c.rank(1);
  if (axis < 0) axis += c.rank(0);
  if (batch < 0 || axis < batch) c.fail(Code::bad_model, "batch_dims is beyond the axis or the indices");
  const bool plain = axis == batch;
  const GatherPlan plan = plan_gather(axis, batch, plain ? 0 : c.rank(0), plain ? 0 : c.rank(1));
  Value* params = plain ? c.in(0) : c.transpose(c.in(0), plan.before);
  Value* y = gather(c, params, as_i64(c, c.in(1)), batch);
  return plain ? y : c.transpose(y, plan.after);
}

std::optional<std::int64_t> gather_axis(MapperContext& c, std::int64_t batch) {
  if (c.node().op() != "GatherV2") return batch;  // Gather, ResourceGather
  const auto axis = c.maybe_ints(2);
  return axis && axis->size() == 1 ? std::optional(axis->front()) : std::nullopt;
}

Values map_gather(MapperContext& c, BatchGather gather) {
  const auto batch = c.attr_or<std::int64_t>("batch_dims", 0);
  const auto known = gather_axis(c, batch);
  if (!known) return {gather_of_any_rank(c, c.in(2), batch)};
  const std::int64_t axis = *known;
  return {batch == 0 ? c.gather(c.in(0), c.in(1), axis) : batch_gather(c, axis, batch, gather)};
}
Values map_gather_11(MapperContext& c) { return map_gather(c, by_offsets); }
Values map_gather_12(MapperContext& c) { return map_gather(c, by_gather_nd); }

// Zeros where an index is beyond the tensor.
Value* gather_good(MapperContext& c, Value* params, Value* indices) {
  Value* zero = c.i64(0);
  Value* depth = c.dims(indices, -1, std::numeric_limits<int>::max());
  Value* first = c.ints({0});
  Value* sizes = c.slice(c.shape_of(params), first, depth, first);
  Value* not_below = c.greater_equal(indices, zero);
  Value* within = c.cast(c.logical_and(not_below, c.less(indices, sizes)), DType::i32);
  Value* rows = c.product(c.dims(indices, 0, -1));
  Value* table = c.reshape_to(within, c.concat({rows, depth}, 0));
  Value* good = c.cast(c.reduce("ReduceMin", table, Ints{1}, true), DType::boolean);
  Value* safe = c.where(c.cast(within, DType::boolean), indices, zero);
  Value* y = c.emit("GatherND", {params, safe});
  Value* end = c.ints({std::numeric_limits<std::int64_t>::max()});
  Value* tail = c.product(c.slice(c.shape_of(params), depth, end, first));
  Value* flat = c.reshape_to(y, c.concat({rows, tail}, 0));
  return c.reshape_to(c.where(good, flat, zero_of(c, y->dtype())), c.shape_of(y));
}

Values map_gather_nd(MapperContext& c) {
  const bool ignores = c.attr_or<std::string>("bad_indices_policy", "") == "IGNORE";
  return {ignores ? gather_good(c, c.in(0), as_i64(c, c.in(1)))
                  : c.emit("GatherND", {c.in(0), as_i64(c, c.in(1))})};
}

// The axis of depth `n` in the result, as a tensor 0 .. n-1 that broadcasts against the indices with that
// axis of 1.
Value* places(MapperContext& c, Value* depth, std::int64_t axis) {
  Value* zero = c.i64(0);
  Value* one = c.i64(1);
  Value* row = c.range(zero, depth, one);
  if (axis == -1) return row;
  if (!c.has_rank(0)) {
    Value* behind = c.unsqueeze(c.sub(c.rank_of(c.in(0)), c.constant(axis)), {0});
    return c.reshape_to(row, c.concat({c.unsqueeze(depth, {0}), c.expand(one, behind)}, 0));
  }
  return c.unsqueeze(row, ints_from(1, c.rank(0) - axis + 1));
}

bool is_number(const Value* v, double expected) {
  const TensorPtr& t = v->constant();
  if (!t || t->rank() != 0 || !(is_int(t->dtype()) || is_float(t->dtype()) || t->dtype() == DType::boolean))
    return false;
  return t->float_at(0) == expected;
}

// Not ONNX OneHot: that counts a negative index from the end, TensorFlow gives a row without `on`.
Values map_one_hot(MapperContext& c) {
  const auto axis = c.attr<std::int64_t>("axis");
  Value* indices = c.unsqueeze(as_i64(c, c.in(0)), {axis});
  Value* depth = as_i64(c, c.in(1));
  if (!depth->shape().is_scalar()) depth = c.emit("Reshape", {depth, c.ints({})});
  Value* hit = c.equal(indices, places(c, depth, axis));
  Value *on = c.in(2), *off = c.in(3);
  if (is_number(on, 1) && is_number(off, 0)) return {c.cast(hit, on->dtype())};
  return {c.where(hit, on, off)};
}

Values map_where(MapperContext& c) {  // the coordinates of what is true, one row each
  Value* found = c.emit("NonZero", {c.cast(c.in(0), DType::boolean)});
  return {c.transpose(found, {1, 0})};
}

}  // namespace

void register_gather(OpRegistry& r) {
  r.op("Gather", "ResourceGather").ignores({"validate_indices"}).by(map_gather_11);
  r.op("Gather", "ResourceGather").since(12).ignores({"validate_indices"}).by(map_gather_12);
  r.op("GatherV2").by(map_gather_11);
  r.op("GatherV2").since(12).by(map_gather_12);
  r.op("GatherNd", "ResourceGatherNd").by(map_gather_nd);
  r.op("OneHot").by(map_one_hot);
  r.op("Where").by(map_where);
}

}  // namespace t2o::op_mappers
