#include <algorithm>
#include <cstdint>
#include <limits>

#include "op_mappers/all.h"
#include "op_mappers/apply.h"
#include "op_mappers/numbers.h"
#include "op_mappers/segments.h"

namespace t2o::op_mappers {
namespace {

// A table says the count of each byte.
Values map_population_count(MapperContext& c) {
  const DType type = c.in(0)->dtype();
  const std::size_t bytes = bit_width(type) / 8;
  Value* bits = c.in(0);  // as unsigned, then in u64
  if (type == DType::i8) bits = c.cast(bits, DType::u8);
  if (type == DType::i16) bits = c.cast(bits, DType::u16);
  if (type == DType::i32) bits = c.cast(bits, DType::u32);
  bits = c.cast(bits, DType::u64);
  std::vector<std::int64_t> counts;
  for (unsigned byte = 0; byte < 256; ++byte) counts.push_back(__builtin_popcount(byte));
  Value* table = c.ints(counts);
  Value* base = c.constant<std::uint64_t>(256);
  Value* sum = nullptr;
  for (std::size_t i = 0; i < bytes; ++i) {
    Value* byte = i + 1 == bytes ? bits : c.mod(bits, base);
    Value* count = c.gather(table, c.cast(byte, DType::i64), 0);
    sum = sum ? c.add(sum, count) : count;
    if (i + 1 < bytes) bits = c.div(bits, base);
  }
  return {c.cast(sum, DType::u8)};
}

// ---- a strided slice to write to

// The places of the flat tensor of this shape that the slice takes, in the slice's own shape.
Value* sliced_places(MapperContext& c, Value* shape, std::size_t first) {
  Value* zero = c.i64(0);
  Value* count = c.reduce("ReduceProd", shape, Ints{0}, false);
  Value* places = c.reshape_to(c.range(zero, count, c.i64(1)), shape);
  return apply(c, "StridedSlice", {places, c.in(first), c.in(first + 1), c.in(first + 2)})[0];
}

Value* written(MapperContext& c, Value* x, Value* shape, Value* places, Value* values) {
  Value* flat = c.reshape(x, {-1});
  Value* at = c.reshape(places, {-1});
  Value* from = c.reshape(c.expand(values, c.shape_of(places)), {-1});
  return c.reshape_to(c.emit("ScatterElements", {flat, at, from}, {{"axis", 0}}), shape);
}

Values map_slice_update(MapperContext& c) {
  Value* shape = c.shape_of(c.in(0));
  Value* places = sliced_places(c, shape, 1);
  return {written(c, c.in(0), shape, places, c.in(4))};
}

Values map_slice_grad(MapperContext& c) {
  Value* shape = c.cast(c.in(0), DType::i64);
  Value* places = sliced_places(c, shape, 1);
  Value* zeros = c.expand(zero_of(c, c.in(4)->dtype()), shape);
  return {written(c, zeros, shape, places, c.in(4))};
}

// ---- rows to write to

Values map_inplace_update(MapperContext& c) {
  Value* rows = c.unsqueeze(c.cast(c.in(1), DType::i64), {1});
  return {c.emit("ScatterND", {c.in(0), rows, c.in(2)})};
}

template <By by>
Values added(MapperContext& c, Value* values) {
  const DType type = values->dtype();
  const DType work = is_half(type) ? DType::f32 : type;
  Value* x = c.cast(c.in(0), work);
  Value* rows = c.cast(values, work);
  Value* ids = c.cast(c.in(1), DType::i64);
  Value* y = by == By::scatter ? scatter_rows(c, x, ids, rows, "add")
                               : c.add(x, segment_sum(c, by, rows, ids, c.dims(x, 0, 1)));
  return {c.cast(y, type)};
}
template <By by>
Values map_inplace_add(MapperContext& c) {
  return added<by>(c, c.in(2));
}
template <By by>
Values map_inplace_sub(MapperContext& c) {
  return added<by>(c, c.sub(c.scalar_like(c.in(2), 0), c.in(2)));
}

// What grappler put together: one after the other.
Values map_composition(MapperContext& c) {
  Value* x = c.in(0);
  for (const std::string& op : c.attr<Strings>("op_names")) x = apply_one(c, op, {x});
  return {x};
}

// A scalar that is not zero, a tensor that is not empty.
Values map_to_bool(MapperContext& c) {
  Value* x = c.in(0);
  if (x->shape().is_scalar()) return {c.cast(x, DType::boolean)};
  Value* zero = c.i64(0);
  Value* has_elements = c.greater(c.size_of(x), zero);
  if (x->shape().ranked()) return {has_elements};
  Value* set = c.cast(c.cast(c.reshape(x, {-1}), DType::boolean), DType::i64);
  Value* is_set = c.greater(c.reduce("ReduceSum", set, Ints{0}, false), zero);
  return {c.where(c.equal(c.rank_of(x), zero), is_set, has_elements)};
}

// ---- about variables and devices, known at conversion time

Values map_true(MapperContext& c) { return {c.constant(Tensor::of<bool>({}, {true}))}; }

Values map_variable_shape(MapperContext& c) { return {apply_one(c, "Shape", {c.in(0)})}; }

// The place of "CPU" in the list, or its length.
Values map_device_index(MapperContext& c) {
  const auto names = c.attr<Strings>("device_names");
  return {c.constant(static_cast<std::int32_t>(std::ranges::find(names, "CPU") - names.begin()))};
}

// ---- the nearest of some points: |p|^2 - 2 p c + |c|^2

Values map_nearest_neighbors(MapperContext& c) {
  Value* points = c.in(0);
  Value* centers = c.in(1);
  Value* of_points = c.reduce("ReduceSumSquare", points, Ints{1}, true);
  Value* of_centers = c.reduce("ReduceSumSquare", centers, Ints{1}, false);
  Value* products = c.matmul(points, c.transpose(centers, {1, 0}));
  Value* distances = c.add(c.sub(of_centers, c.mul(products, c.scalar(DType::f32, 2))), of_points);
  Value* wanted = c.reshape(c.in(2), {1});
  Value* count = c.minimum(wanted, c.dims(centers, 0, 1));
  const Values nearest = c.topk(c.emit("Relu", {distances}), count, 1, false);
  return {nearest[1], nearest[0]};
}

// ---- IsotonicRegression: the falling numbers nearest to those of each row. They are means of segments. A
// segment ends where no mean of the numbers up to there is below a mean of those that follow.

struct Means {
  Value *least_up_to, *greatest_from;  // [rows, n]
};

// Of x from `begin` to `end`, [rows, begin, end]; x is finite.
Value* sums_between(MapperContext& c, Value* x) {
  Value* axis = c.i64(1);
  Value* up_to = c.unsqueeze(c.cumsum(x, axis, false, false), {1});
  return c.sub(up_to, c.unsqueeze(c.cumsum(x, axis, true, false), {2}));
}

// A mean that is NaN is neither above nor below another.
Means means_of(MapperContext& c, Value* x, Value* n) {
  Value* begins = c.unsqueeze(iota(c, n), {1});
  Value* counts = c.sub(c.add(iota(c, n), c.i64(1)), begins);
  Value* is_range = c.greater(counts, c.i64(0));
  Value* divisor = c.cast_like(c.maximum(counts, c.i64(1)), x);
  const auto extrema = [&](Value* counts_for, Value* mean, Value* high, Value* low) -> Means {
    Value* least = c.reduce("ReduceMin", c.where(counts_for, mean, high), Ints{1}, false);
    return {least, c.reduce("ReduceMax", c.where(counts_for, mean, low), Ints{2}, false)};
  };
  const double far = std::numeric_limits<double>::infinity();
  Value *zero = c.scalar_like(x, 0), *high = c.scalar_like(x, far), *low = c.scalar_like(x, -far);
  if (!c.strict()) return extrema(is_range, c.div(sums_between(c, x), divisor), high, low);
  Value *below = c.less(x, high), *above = c.greater(x, low);
  Value* finite = c.where(c.logical_and(below, above), x, zero);
  Value* mean = c.div(sums_between(c, finite), divisor);
  const auto some = [&](Value* flags) { return c.greater(sums_between(c, c.cast_like(flags, x)), zero); };
  Value* rises = some(c.logical_not(below));  // by a NaN too
  Value* falls = some(c.logical_not(above));
  mean = c.where(rises, high, c.where(falls, low, mean));
  Value* counts_for = c.logical_and(is_range, c.logical_not(c.logical_and(rises, falls)));
  return extrema(counts_for, mean, high, low);
}

Values map_isotonic_regression(MapperContext& c) {
  Value* n = c.dim(c.in(0), -1);
  Value* row = c.concat({c.ints({-1}), c.reshape(n, {1})}, 0);
  Value* x = c.cast(c.reshape(c.in(0), {-1}), DType::f64);
  x = c.emit("Reshape", {x, row});
  const Means m = means_of(c, x, n);
  Value* rest = c.slice(m.greatest_from, {1}, {std::numeric_limits<std::int64_t>::max()}, {1});
  Value* begins = c.greater_equal(c.slice(m.least_up_to, {0}, {-1}, {1}), rest);
  Value* first = c.expand(c.i64(0), c.concat({c.dims(x, 0, 1), c.ints({1})}, 0));
  Value* counted = c.concat({first, c.cast(begins, DType::i64)}, 1);
  Value* segments = c.cumsum(counted, c.i64(1), false, false);
  Value* other = c.unsqueeze(segments, {1});
  Value* same = c.equal(c.unsqueeze(segments, {2}), other);
  Value* own = c.where(same, c.unsqueeze(x, {1}), c.scalar_like(x, 0));
  Value* sums = c.reduce("ReduceSum", own, Ints{2}, false);
  Value* means = c.div(sums, c.reduce("ReduceSum", c.cast_like(same, x), Ints{2}, false));
  Value* dims = c.shape_of(c.in(0));
  Value* y = c.cast(c.reshape_to(means, dims), c.output_dtype());
  return {y, c.cast(c.reshape_to(segments, dims), c.output_dtype(1))};
}

}  // namespace

void register_misc(OpRegistry& r) {
  r.op("_UnaryOpsComposition").by(map_composition);
  r.op("ToBool").by(map_to_bool);
  r.op("VarIsInitializedOp", "IsVariableInitialized").by(map_true);
  r.op("VariableShape").by(map_variable_shape);
  r.op("DeviceIndex").by(map_device_index);
  r.op("NearestNeighbors").by(map_nearest_neighbors);
  r.op("PopulationCount").by(map_population_count);
  r.op("TensorStridedSliceUpdate").note("strides known at conversion time").by(map_slice_update);
  r.op("StridedSliceGrad").note("strides known at conversion time").by(map_slice_grad);
  r.op("IsotonicRegression").note("memory of each row squared").by(map_isotonic_regression);
  r.op("InplaceUpdate").by(map_inplace_update);
  r.op("InplaceAdd").by(map_inplace_add<By::compare>);
  r.op("InplaceAdd").since(16).by(map_inplace_add<By::scatter>);
  r.op("InplaceSub").by(map_inplace_sub<By::compare>);
  r.op("InplaceSub").since(16).by(map_inplace_sub<By::scatter>);
}

}  // namespace t2o::op_mappers
