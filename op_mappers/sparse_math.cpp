#include <limits>
#include <string>

#include "op_mappers/all.h"
#include "op_mappers/coordinates.h"
#include "op_mappers/segments.h"
#include "op_mappers/sparse_cross.h"
#include "op_mappers/wide_integers.h"

namespace t2o::op_mappers {
namespace {

struct Merged {
  Value *places, *of_a, *of_b;  // all places, ascending; those of a's and of b's values among them
  Value* counts;                // how many have each place
};

Merged merged(MapperContext& c, Value* a, Value* b) {
  const Values u = c.emit_n("Unique", {c.concat({a, b}, 0)}, {{"sorted", 1}}, 4);
  Value* split = c.dims(a, 0, 1);
  Value* of_a = head(c, u[2], split);
  Value* of_b = after(c, u[2], split);
  return {u[0], of_a, of_b, u[3]};
}

Value* spread(MapperContext& c, Value* values, Value* places, Value* count) {
  Value* zeros = c.expand(c.scalar_like(values, 0), count);
  return c.emit("ScatterElements", {zeros, places, values}, {{"axis", 0}});
}

// ---- two sparse tensors, each of which has a place but once

struct Pair {
  Value *places, *a, *b, *counts;  // values at all places of both; 0 where one has none
};

Pair aligned(MapperContext& c) {
  Value* dims = c.in(2);
  Value* a = ravel(c, c.in(0), dims);
  const Merged m = merged(c, a, ravel(c, c.in(3), dims));
  Value* count = c.dims(m.places, 0, 1);
  Value* spread_a = spread(c, c.in(1), m.of_a, count);
  return {m.places, spread_a, spread(c, c.in(4), m.of_b, count), m.counts};
}

bool is_zero(const Value* v) {
  const TensorPtr& t = v->constant();
  return t && t->elements() == 1 && t->float_at(0) == 0;
}

// The threshold is for the sums of two values only.
Values map_add(MapperContext& c) {
  const Pair p = aligned(c);
  Value* sum = c.add(p.a, p.b);
  Value* dims = c.in(2);
  const bool keeps_all = is_zero(c.in(6)) && is_int(sum->dtype());  // but not NaN
  if (keeps_all) return {unravel(c, p.places, dims), sum, dims};
  Value* size = is_unsigned_int(sum->dtype()) ? sum : c.abs(sum);
  Value* threshold = c.cast_like(c.in(6), sum);
  Value* alone = c.equal(p.counts, c.i64(1));
  Value* kept = c.logical_or(alone, c.greater_equal(size, threshold));
  const Attrs axis{{"axis", 0}};
  Value* places = c.emit("Compress", {p.places, kept}, axis);
  return {unravel(c, places, dims), c.emit("Compress", {sum, kept}, axis), dims};
}

Values map_maximum(MapperContext& c) {
  const Pair p = aligned(c);
  return {unravel(c, p.places, c.in(2)), larger(c, p.a, p.b)};
}
Values map_minimum(MapperContext& c) {
  const Pair p = aligned(c);
  return {unravel(c, p.places, c.in(2)), smaller(c, p.a, p.b)};
}

// ---- a sparse and a dense tensor

// The rows of b that a's values meet, times them, summed up where they belong.
template <By by>
Values map_matmul(MapperContext& c) {
  const bool transposed = c.flag("adjoint_a");
  Value* indices = c.cast(c.in(0), DType::i64);
  Value* b = c.flag("adjoint_b") ? c.transpose(c.in(3), {1, 0}) : c.in(3);
  Value* met = c.gather(b, column(c, indices, transposed ? 0 : 1), 0);
  Value* products = c.mul(met, c.unsqueeze(c.in(1), {1}));
  const std::int64_t axis = transposed ? 1 : 0;
  Value* rows = c.slice(c.in(2), {axis}, {axis + 1}, {0});
  return {segment_sum(c, by, products, column(c, indices, axis), rows)};
}

// Of all elements, those at a's places are read, added up and written back.
template <By by>
Values map_dense_add(MapperContext& c) {
  Value* dims = c.cast(c.in(2), DType::i64);
  Value* flat = c.reshape(c.in(3), {-1});
  Value* places = ravel(c, c.cast(c.in(0), DType::i64), dims);
  if (by == By::scatter) {
    const bool half = is_half(flat->dtype());
    Value* base = half ? c.cast(flat, DType::f32) : flat;
    Value* sum = scatter_rows(c, base, places, c.cast_like(c.in(1), base), "add");
    return {c.cast_like(c.reshape_to(sum, dims), c.in(3))};
  }
  const Values u = c.emit_n("Unique", {places}, {{"sorted", 0}}, 4);
  Value* sums = segment_sum(c, by, c.in(1), u[2], c.dims(u[0], 0, 1));
  Value* changed = c.add(c.gather(flat, u[0], 0), sums);
  Value* written = c.emit("ScatterElements", {flat, u[0], changed}, {{"axis", 0}});
  return {c.reshape_to(written, dims)};
}

// The dense tensor broadcasts to the sparse one: the coordinate in an axis of 1 is 0.
Value* dense_at_places(MapperContext& c) {
  Value* dense = c.in(3);
  if (dense->shape().is_scalar()) return dense;
  Value* dims = c.shape_of(dense);
  Value* dense_rank = c.dims(dims, 0, 1);
  Value* first = c.sub(c.dims(c.in(2), 0, 1), dense_rank);
  Value* own = after(c, c.in(0), first, 1);
  Value* one = c.i64(1);
  Value* zero = c.i64(0);
  Value* places = c.where(c.equal(dims, one), zero, own);
  return c.emit("GatherND", {dense, places});
}

Values map_cwise(MapperContext& c) {
  Value* dense = dense_at_places(c);
  const std::string op = c.node().op().substr(std::string("SparseDenseCwise").size());
  return {c.emit(op, {c.in(1), dense})};
}

// ---- reductions

struct Kept {
  Value *groups, *dims,
      *full;  // the group of each value; the sizes of the axes that are left; with axes of 1
};

// Reduced axes count as axes of 1, at 0.
Kept kept_axes_at_run_time(MapperContext& c) {
  Value* rank = c.dim(c.in(2), 0);
  Value* axes = c.mod(c.reshape(c.cast(c.in(3), DType::i64), {-1}), rank);
  Value* all = c.unsqueeze(iota(c, rank), {1});
  Value* hits = c.cast(c.equal(all, axes), DType::i64);
  Value* zero = c.i64(0);
  Value* is_kept = c.equal(c.reduce("ReduceSum", hits, Ints{1}, false), zero);
  Value* full = c.where(is_kept, c.in(2), c.i64(1));
  Value* groups = ravel(c, c.where(is_kept, c.in(0), zero), full);
  return {groups, c.emit("Compress", {c.in(2), is_kept}, {{"axis", 0}}), full};
}

Kept kept_axes(MapperContext& c) {
  const auto given = c.maybe_ints(3);
  const Shape& s = c.in(2)->shape();
  if (!given || !s.ranked() || !is_known(s[0])) return kept_axes_at_run_time(c);
  const std::int64_t rank = s[0];
  std::vector<bool> reduced(static_cast<std::size_t>(rank), false);
  for (const std::int64_t a : *given) nth(reduced, c.front_axis(a, rank)) = true;
  Ints axes, ones;
  for (std::int64_t i = 0; i < rank; ++i) {
    ones.push_back(nth(reduced, i) ? 1 : 0);
    if (!nth(reduced, i)) axes.push_back(i);
  }
  Value* dims = c.gather(c.in(2), c.ints(axes), 0);
  Value* is_reduced = c.cast(c.ints(ones), DType::boolean);
  Value* full = c.where(is_reduced, c.i64(1), c.in(2));
  if (axes.empty()) {
    Value* zero = c.i64(0);
    return {c.expand(zero, c.shape_of(c.in(1))), dims, full};
  }
  Value* coordinates = c.gather(c.in(0), c.ints(axes), 1);
  return {ravel(c, coordinates, dims), dims, full};
}

// The greatest value of each group that has one.
template <By by>
Value* group_maximum(MapperContext& c, Value* groups, Value* count) {
  Value* values = c.in(1);
  const DType type = values->dtype();
  Value* least =
      is_float(type) ? c.scalar_like(values, -std::numeric_limits<double>::infinity()) : lowest(c, type);
  return segment_extremum(c, by, Reduction::max, values, groups, count, least);
}

template <By by>
Values map_reduce_sum(MapperContext& c) {
  const Kept k = kept_axes(c);
  Value* sums = segment_sum(c, by, c.in(1), k.groups, c.product(k.dims));
  return {c.reshape_to(sums, c.flag("keep_dims") ? k.full : k.dims)};
}

// 0 where there are no values, not the lowest number.
template <By by>
Values map_reduce_max(MapperContext& c) {
  const Kept k = kept_axes(c);
  Value* count = c.product(k.dims);
  Value* most = group_maximum<by>(c, k.groups, count);
  Value* yes = c.constant(true);
  Value* hits = c.expand(yes, c.shape_of(k.groups));
  Value* has_values = spread(c, hits, k.groups, count);
  Value* result = c.where(has_values, most, c.scalar_like(most, 0));
  return {c.reshape_to(result, c.flag("keep_dims") ? k.full : k.dims)};
}

template <By by>
Values map_reduce_sparse(MapperContext& c) {
  const Kept k = kept_axes(c);
  const Values u = c.emit_n("Unique", {k.groups}, {{"sorted", 1}}, 4);
  Value* count = c.dims(u[0], 0, 1);
  const bool sums = c.node().op().find("Sum") != std::string::npos;
  Value* values = sums ? segment_sum(c, by, c.in(1), u[2], count) : group_maximum<by>(c, u[2], count);
  Value* dims = c.flag("keep_dims") ? k.full : k.dims;
  return {unravel(c, u[0], dims), values, dims};
}

// Over the values that are there of each row: exp(x - most) / sum(exp(x - most))
template <By by>
Values map_softmax(MapperContext& c) {
  Value* dims = c.slice(c.in(2), {0}, {-1}, {0});
  Value* outer = c.slice(c.in(0), {0}, {-1}, {1});
  Value* rows = ravel(c, outer, dims);
  const Values u = c.emit_n("Unique", {rows}, {{"sorted", 0}}, 4);
  Value* count = c.dims(u[0], 0, 1);
  Value* most = c.gather(group_maximum<by>(c, u[2], count), u[2], 0);
  Value* powers = c.exp(c.sub(c.in(1), most));
  Value* sums = c.gather(segment_sum(c, by, powers, u[2], count), u[2], 0);
  return {c.div(powers, sums)};
}

}  // namespace

void register_sparse_math(OpRegistry& r) {
  const std::string memory = "below opset ";
  const auto rows = [&](const char* op, int since, Mapper low, Mapper high, const std::string& limits) {
    const std::string more = limits.empty() ? "" : limits + "; ";
    r.op(op)
        .note(more + memory + std::to_string(since) + " memory of values times results")
        .by(std::move(low));
    r.op(op).since(since).note(limits).by(std::move(high));
  };
  r.op("SparseAdd").note("no index may occur twice in one tensor").by(map_add);
  r.op("SparseSparseMaximum").note("no index may occur twice in one tensor").by(map_maximum);
  r.op("SparseSparseMinimum").note("no index may occur twice in one tensor").by(map_minimum);
  rows("SparseTensorDenseMatMul", 16, map_matmul<By::compare>, map_matmul<By::scatter>, "");
  rows("SparseTensorDenseAdd", 16, map_dense_add<By::compare>, map_dense_add<By::scatter>, "");
  r.op("SparseDenseCwiseAdd", "SparseDenseCwiseMul", "SparseDenseCwiseDiv").by(map_cwise);
  rows("SparseReduceSum", 16, map_reduce_sum<By::compare>, map_reduce_sum<By::scatter>, "");
  rows("SparseReduceMax", 18, map_reduce_max<By::compare>, map_reduce_max<By::scatter>, "");
  rows("SparseReduceSumSparse", 16, map_reduce_sparse<By::compare>, map_reduce_sparse<By::scatter>, "");
  rows("SparseReduceMaxSparse", 18, map_reduce_sparse<By::compare>, map_reduce_sparse<By::scatter>, "");
  rows("SparseSoftmax", 18, map_softmax<By::compare>, map_softmax<By::scatter>, "");
  register_sparse_cross(r);
}

}  // namespace t2o::op_mappers
