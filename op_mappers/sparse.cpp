
#include "op_mappers/all.h"
#include "op_mappers/coordinates.h"
#include "op_mappers/numbers.h"

namespace t2o::op_mappers {
namespace {

Value* count_of(MapperContext& c, Value* v) { return c.dims(v, 0, 1); }  // [1]

// ---- SparseToDense: indices may be a scalar, a vector of places in a vector, or rows of coordinates

Values map_to_dense(MapperContext& c) {
  Value* dims = c.cast(c.in(1), DType::i64);
  Value* indices = c.cast(c.in(0), DType::i64);
  const Shape& s = indices->shape();
  if (!s.ranked() || s.rank() != 2) {
    Value* width = c.dims(dims, 0, onnx::kToEnd);
    indices = c.reshape_to(indices, c.concat({c.ints({-1}), width}, 0));
  }
  Value* values = c.in(2);
  if (!values->shape().ranked() || values->shape().rank() == 0)
    values = c.expand(values, count_of(c, indices));
  Value* fill = c.in(3)->shape().is_scalar() ? c.in(3) : c.reshape(c.in(3), {});
  return {c.emit("ScatterND", {c.expand(fill, dims), indices, values})};
}

// ---- SparseFillEmptyRows: a row without values gets the default at its beginning; the rows ascend

Value* inverse_of(MapperContext& c, Value* order) {
  Value* places = iota(c, c.dim(order, 0));
  return c.emit("ScatterElements", {places, order, places}, {{"axis", 0}});
}

struct Filled {
  Value *added, *order, *empty, *reverse;  // rows without values; the order of old and added ones; ...
};

Filled fill_empty_rows(MapperContext& c, Value* rows, Value* row_count) {
  Value* all = c.expand(c.constant(true), row_count);
  Value* no = c.constant(false);
  Value* hits = c.expand(no, c.shape_of(rows));
  Value* empty = c.emit("ScatterElements", {all, rows, hits}, {{"axis", 0}});
  Value* added = c.reshape(c.emit("NonZero", {empty}), {-1});
  Value* order = ascending_order(c, c.concat({rows, added}, 0));
  Value* inverse = inverse_of(c, order);
  Value* reverse = head(c, inverse, count_of(c, rows));
  return {added, order, empty, reverse};
}

Value* with_defaults(MapperContext& c, Value* values, Value* fill, const Filled& f) {
  Value* defaults = c.expand(fill, c.shape_of(f.added));
  return c.gather(c.concat({values, defaults}, 0), f.order, 0);
}

Values map_fill_empty_rows(MapperContext& c) {
  Value *indices = c.in(0), *dims = c.in(2);
  Value* row_count = c.slice(dims, {0}, {1}, {0});
  const Filled f = fill_empty_rows(c, column(c, indices, 0), row_count);
  Value* first = c.unsqueeze(f.added, {1});
  Value* one = c.ints({1});
  Value* width = c.sub(c.dims(indices, 1, 2), one);
  Value* zero = c.i64(0);
  Value* others = c.expand(zero, c.concat({c.shape_of(f.added), width}, 0));
  Value* all = c.concat({indices, c.concat({first, others}, 1)}, 0);
  Value* filled = c.gather(all, f.order, 0);
  return {filled, with_defaults(c, c.in(1), c.in(3), f), f.empty, f.reverse};
}

Values map_ragged_fill_empty_rows(MapperContext& c) {
  Value* rows = c.in(0);
  const Filled f = fill_empty_rows(c, rows, as_vector(c, c.in(2)));
  Value* filled = c.gather(c.concat({rows, f.added}, 0), f.order, 0);
  return {filled, with_defaults(c, c.in(1), c.in(3), f), f.empty, f.reverse};
}

// ---- coordinates in another shape, order or part

// A size of -1 is what is left of the product.
Value* completed(MapperContext& c, Value* dims, Value* wanted) {
  const auto known = constant_ints(wanted);
  if (known && !contains(*known, -1)) return wanted;
  Value* open = c.less(wanted, c.i64(0));
  Value* others = c.product(c.where(open, c.i64(1), wanted));
  Value* divisor = c.maximum(others, c.ints({1}));
  Value* rest = c.div(c.product(dims), divisor);
  return c.where(open, rest, wanted);
}

Values map_reshape(MapperContext& c) {
  Value* dims = completed(c, c.in(1), c.in(2));
  Value* places = ravel(c, c.in(0), c.in(1));
  return {unravel(c, places, dims), dims};
}

struct Sparse {
  Value *indices, *values;
};

Sparse in_order(MapperContext& c, const Sparse& s, Value* dims) {
  Value* order = ascending_order(c, ravel(c, s.indices, dims));
  return {c.gather(s.indices, order, 0), c.gather(s.values, order, 0)};
}

Values map_reorder(MapperContext& c) {
  const Sparse s = in_order(c, {c.in(0), c.in(1)}, c.in(2));
  return {s.indices, s.values};
}

// What lies from `begin` to before `end` in all axes; both broadcast to the coordinates.
Sparse part(MapperContext& c, const Sparse& s, Value* begin, Value* end) {
  Value* before = c.less(s.indices, begin);
  Value* below = c.less(s.indices, end);
  Value* within = c.logical_and(c.logical_not(before), below);
  Value* all = c.reduce("ReduceMin", c.cast(within, DType::i32), Ints{1}, false);
  Value* chosen = c.cast(all, DType::boolean);
  const Attrs axis{{"axis", 0}};
  Value* indices = c.sub(c.emit("Compress", {s.indices, chosen}, axis), begin);
  return {indices, c.emit("Compress", {s.values, chosen}, axis)};
}

Values map_slice(MapperContext& c) {
  Value *dims = c.in(2), *start = c.in(3), *size = c.in(4);
  const Sparse s = part(c, {c.in(0), c.in(1)}, start, c.add(start, size));
  Value* zero = c.i64(0);
  Value* left = c.maximum(c.sub(dims, start), zero);
  return {s.indices, s.values, c.minimum(size, left)};
}

// 1 at the axis, 0 elsewhere: [rank]
Value* axis_mask(MapperContext& c, Value* dims, Value* axis) {
  Value* rank = c.dim(dims, 0);
  Value* at = c.mod(axis, rank);
  return c.cast(c.equal(iota(c, rank), at), DType::i64);
}

// The first parts are one longer where the size is no multiple of their number.
Values map_split(MapperContext& c) {
  Value* axis = c.reshape(c.in(0), {});
  const auto n = c.attr<std::int64_t>("num_split");
  Value* dims = c.in(3);
  Value* mask = axis_mask(c, dims, axis);
  Value* size = c.gather(dims, axis, 0);
  Value* parts = c.constant(n);
  Value* base = c.div(size, parts);
  Value* longer = c.sub(size, c.mul(base, parts));
  Value* begin = c.i64(0);
  Values indices, values, shapes;
  for (std::int64_t i = 0; i < n; ++i) {
    Value* extra = c.cast(c.less(c.constant(i), longer), DType::i64);
    Value* length = c.add(base, extra);
    Value* end = c.add(begin, length);
    Value* reduced = c.mul(mask, c.sub(size, length));  // what the part's size is less than the whole's
    Value* own_dims = c.sub(dims, reduced);
    Value* from = c.mul(mask, begin);
    const Sparse s = part(c, {c.in(1), c.in(2)}, from, c.add(from, own_dims));
    indices.push_back(s.indices);
    values.push_back(s.values);
    shapes.push_back(own_dims);
    begin = end;
  }
  append(indices, values);
  append(indices, shapes);
  return indices;
}

Values map_concat(MapperContext& c) {
  const auto n = static_cast<std::size_t>(c.attr<std::int64_t>("N"));
  const auto axis = c.attr<std::int64_t>("concat_dim");
  Value* mask = axis_mask(c, c.in(2 * n), c.constant(axis));
  Value* offset = nullptr;
  Values indices, values;
  for (std::size_t i = 0; i < n; ++i) {
    indices.push_back(offset ? c.add(c.in(i), offset) : c.in(i));
    values.push_back(c.in(n + i));
    Value* size = c.mul(c.in(2 * n + i), mask);
    offset = offset ? c.add(offset, size) : size;
  }
  Value* others = c.mul(c.in(2 * n), c.sub(c.i64(1), mask));
  Value* dims = c.add(others, offset);
  const Sparse s = in_order(c, {c.concat(indices, 0), c.concat(values, 0)}, dims);
  return {s.indices, s.values, dims};
}

}  // namespace

void register_sparse(OpRegistry& r) {
  r.op("SparseToDense").ignores({"validate_indices"}).by(map_to_dense);
  r.op("SparseFillEmptyRows").by(map_fill_empty_rows);
  r.op("RaggedFillEmptyRows").by(map_ragged_fill_empty_rows);
  r.op("SparseReshape").by(map_reshape);
  r.op("SparseReorder").by(map_reorder);
  r.op("SparseSlice").by(map_slice);
  r.op("SparseSplit").by(map_split);
  r.op("SparseConcat").by(map_concat);
}

}  // namespace t2o::op_mappers
