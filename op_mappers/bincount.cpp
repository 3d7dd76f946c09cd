#include <limits>
#include <string>

#include "op_mappers/all.h"
#include "op_mappers/coordinates.h"
#include "op_mappers/segments.h"
#include "op_mappers/wide_integers.h"

namespace t2o::op_mappers {
namespace {

// ---- Bincount: bins[values[i]] += weights[i], or 1 where there are no weights; values beyond the bins are
// left out

bool same_shape(const Value* a, const Value* b) {
  const Shape &s = a->shape(), &t = b->shape();
  return s.ranked() && t.ranked() && s == t && !contains(s.dims(), kUnknownDim);
}

Value* ones_for(MapperContext& c, Value* values, Value* weights) {
  Value* one = c.scalar_like(weights, 1);
  return c.expand(one, c.shape_of(values));
}

// What each value adds. Weights without elements stand for ones, also when that shows only at run time.
Value* updates_of(MapperContext& c, Value* values, Value* weights) {
  const auto n = weights->shape().elements();
  if (n == 0) return ones_for(c, values, weights);
  if (n || same_shape(values, weights)) return weights;
  Value* one = c.scalar_like(weights, 1);
  Value* present = c.size_of(weights);
  Value* missing = c.sub(c.size_of(values), present);
  Value* ones = c.expand(one, c.unsqueeze(missing, {0}));
  Value* all = c.concat({c.reshape(weights, {-1}), ones}, 0);
  return c.reshape_to(all, c.shape_of(values));
}

Value* at_least_vector(MapperContext& c, Value* v) {
  return v->shape().is_scalar() ? c.unsqueeze(v, {0}) : v;
}

Attrs last_axis(bool add) {
  Attrs attrs{{"axis", -1}};
  if (add) attrs.push_back({"reduction", std::string("add")});
  return attrs;
}

// Along the last axis, into one bin more for what is beyond.
Value* scatter_counts(MapperContext& c, Value* values, Value* size, Value* updates, bool add) {
  Value* more = c.add(size, c.ints({1}));
  Value* dims = more;
  if (!values->shape().ranked() || values->shape().rank() > 1)
    dims = c.concat({c.dims(values, 0, -1), more}, 0);
  Value* zero = c.scalar_like(updates, 0);
  Value* blank = c.expand(zero, dims);
  Value* places = c.where(c.less(values, size), values, size);
  Value* bins = c.emit("ScatterElements", {blank, places, updates}, last_axis(add));
  return head(c, bins, size, -1);
}

Value* compare_counts(MapperContext& c, Value* values, Value* size, Value* updates) {
  const DType type = updates->dtype();
  if (is_int(type)) updates = c.cast(updates, DType::i64);  // of whose sums i32 wrap around
  Value* bins = iota(c, c.squeeze(size, {0}));
  Value* hit = c.equal(c.unsqueeze(values, {-1}), bins);
  Value* zero = c.scalar_like(updates, 0);
  Value* chosen = c.where(hit, c.unsqueeze(updates, {-1}), zero);
  const auto sum = [&](Value* x) { return c.reduce("ReduceSum", x, Ints{-2}, false); };
  return c.cast(wrapping_sum(c, chosen, sum), type);
}

Value* counts(MapperContext& c, By by, Value* values, Value* size, Value* weights) {
  if (c.flag("binary_output")) {
    Value* ones = ones_for(c, values, weights);
    return scatter_counts(c, values, size, ones, false);
  }
  Value* updates = updates_of(c, values, weights);
  return by == By::scatter ? scatter_counts(c, values, size, updates, true)
                           : compare_counts(c, values, size, updates);
}

bool is_vector(const Value* v) { return v->shape().ranked() && v->shape().rank() == 1; }

template <By by>
Values map_bincount(MapperContext& c) {
  Value* values = c.cast(c.in(0), DType::i64);
  Value* weights = c.in(2);
  if (!is_vector(values)) values = c.reshape(values, {-1});
  if (!is_vector(weights)) weights = c.reshape(weights, {-1});
  return {counts(c, by, values, as_vector(c, c.in(1)), weights)};
}

template <By by>
Values map_dense_bincount(MapperContext& c) {
  Value* values = at_least_vector(c, c.cast(c.in(0), DType::i64));
  Value* weights = at_least_vector(c, c.in(2));
  return {counts(c, by, values, as_vector(c, c.in(1)), weights)};
}

// Rows of values that belong to row `rows[i]` each.
Value* counts_by_row(MapperContext& c, By by, Value* rows, Value* row_count, Value* values, Value* size,
                     Value* weights) {
  Value* width = c.add(size, c.ints({1}));
  Value* bins = c.where(c.less(values, size), values, size);
  Value* places = c.add(c.mul(rows, width), bins);
  Value* total = c.mul(row_count, width);
  Value* flat = nullptr;
  if (c.flag("binary_output")) {
    Value* ones = ones_for(c, values, weights);
    flat = scatter_rows(c, segment_blank(c, ones, total, c.scalar_like(weights, 0)), places, ones);
  } else {
    flat = segment_sum(c, by, updates_of(c, values, weights), places, total);
  }
  Value* table = c.reshape_to(flat, c.concat({row_count, width}, 0));
  return head(c, table, size, 1);
}

template <By by>
Values map_ragged_bincount(MapperContext& c) {
  Value* values = c.cast(c.in(1), DType::i64);
  Value* rows = row_ids(c, c.in(0), c.size_of(values));
  Value* one = c.ints({1});
  Value* row_count = c.sub(c.dims(c.in(0), 0, 1), one);
  return {counts_by_row(c, by, rows, row_count, values, as_vector(c, c.in(2)), c.in(3))};
}

template <By by>
Values map_sparse_bincount(MapperContext& c) {
  Value* values = c.cast(c.in(1), DType::i64);
  Value* size = as_vector(c, c.in(3));
  const Shape& dims = c.in(2)->shape();
  const Dim rank = dims.ranked() ? dims[0] : kUnknownDim;
  if (rank == 1) return {counts(c, by, values, size, c.in(4))};
  Value* rows = column(c, c.in(0), 0);
  Value* outer = c.slice(c.in(2), {0}, {-1}, {0});
  if (is_known(rank)) return {counts_by_row(c, by, rows, outer, values, size, c.in(4))};
  Value* of_one = c.mul(rows, c.dim(outer, 0));  // a vector is one row
  Value* table = counts_by_row(c, by, of_one, c.product(outer), values, size, c.in(4));
  return {c.reshape_to(table, c.concat({outer, size}, 0))};
}

// bin = trunc(min((max(x, low) - low) / ((high - low) / n), n - 1))
template <By by>
Values map_histogram(MapperContext& c) {
  Value* low = c.gather(c.in(1), c.i64(0), 0);
  Value* high = c.gather(c.in(1), c.i64(1), 0);
  Value* bins = as_vector(c, c.in(2));
  Value* values = is_vector(c.in(0)) ? c.in(0) : c.reshape(c.in(0), {-1});
  Value* n = c.cast(bins, DType::f64);
  Value* step = c.div(c.cast(c.sub(high, low), DType::f64), n);
  Value* at_least = larger(c, values, low);
  const bool exact = is_int(values->dtype());  // whose differences could wrap around
  Value* above = exact ? c.sub(c.cast(at_least, DType::f64), c.cast(low, DType::f64)) : c.sub(at_least, low);
  Value* scaled = c.div(c.cast(above, DType::f64), step);
  Value* last = c.sub(n, c.scalar(DType::f64, 1));
  Value* bin = c.cast(c.minimum(scaled, last), DType::i64);
  return {c.cast(segment_sizes(c, by, bin, bins), c.output_dtype())};
}

// ---- the same as a sparse tensor: each row's values that occur, ascending

struct Occurrences {
  Value *rows, *row_count;  // none, of a vector
  Value *values, *weights;
};

Value* sparse_width(MapperContext& c, Value* values) {
  const auto least = c.attr_or<std::int64_t>("minlength", -1);
  if (const auto most = c.attr_or<std::int64_t>("maxlength", -1); most >= 0) return c.ints({most});
  Value* highest_value = c.reduce("ReduceMax", c.concat({c.ints({0}), values}, 0), Ints{0}, true);
  Value* needed = c.add(highest_value, c.ints({1}));
  return least > 1 ? c.maximum(needed, c.ints({least})) : needed;
}

Occurrences below_maxlength(MapperContext& c, Occurrences o) {
  const auto most = c.attr_or<std::int64_t>("maxlength", -1);
  if (o.weights) o.weights = updates_of(c, o.values, o.weights);
  if (most < 0) return o;
  Value* kept = c.less(o.values, c.constant(most));
  const Attrs axis{{"axis", 0}};
  if (o.rows) o.rows = c.emit("Compress", {o.rows, kept}, axis);
  if (o.weights) o.weights = c.emit("Compress", {o.weights, kept}, axis);
  o.values = c.emit("Compress", {o.values, kept}, axis);
  return o;
}

template <By by>
Values sparse_counts(MapperContext& c, Occurrences o) {
  const DType type = o.weights->dtype();
  const bool binary = c.flag("binary_output");
  if (binary || o.weights->shape().elements() == 0) o.weights = nullptr;
  o = below_maxlength(c, o);
  Value* width = sparse_width(c, o.values);
  Value* keys = o.rows ? c.add(c.mul(o.rows, width), o.values) : o.values;
  const Values u = c.emit_n("Unique", {keys}, {{"sorted", 1}}, 4);
  Value* counts = o.weights ? segment_sum(c, by, o.weights, u[2], c.dims(u[0], 0, 1)) : c.cast(u[3], type);
  if (binary) {
    Value* one = c.scalar(type, 1);
    counts = c.expand(one, c.shape_of(u[0]));
  }
  Value* dims = o.rows ? c.concat({o.row_count, width}, 0) : width;
  return {unravel(c, u[0], dims), counts, dims};
}

template <By by>
Values map_dense_sparse_counts(MapperContext& c) {
  const bool table = !c.has_rank(0) || c.rank(0) == 2;
  if (!table && c.rank(0) != 1) c.fail(Code::bad_model, "values are neither a vector nor a matrix");
  Value* values = c.cast(c.in(0), DType::i64);
  Value* weights = is_vector(c.in(1)) ? c.in(1) : c.reshape(c.in(1), {-1});
  if (!table) return sparse_counts<by>(c, {nullptr, nullptr, values, weights});
  Value* places = iota(c, c.size_of(values));
  Value* columns = c.maximum(c.dims(values, -1, std::numeric_limits<int>::max()), c.ints({1}));
  Value* row_count = c.dims(values, 0, -1);  // none of a vector, whose elements all come out as of row 0
  Value* rows = c.div(places, columns);
  return sparse_counts<by>(c, {rows, row_count, c.reshape(values, {-1}), weights});
}

template <By by>
Values map_ragged_sparse_counts(MapperContext& c) {
  Value* values = c.cast(c.in(1), DType::i64);
  Value* one = c.ints({1});
  Value* row_count = c.sub(c.dims(c.in(0), 0, 1), one);
  Value* rows = row_ids(c, c.in(0), c.size_of(values));
  return sparse_counts<by>(c, {rows, row_count, values, c.in(2)});
}

template <By by>
Values map_sparse_sparse_counts(MapperContext& c) {
  Value* values = c.cast(c.in(1), DType::i64);
  const Shape& dims = c.in(2)->shape();
  const Dim rank = dims.ranked() ? dims[0] : kUnknownDim;
  if (rank == 1) return sparse_counts<by>(c, {nullptr, nullptr, values, c.in(3)});
  Value* rows = column(c, c.in(0), 0);
  Value* row_count = c.slice(c.in(2), {0}, {-1}, {0});
  if (!is_known(rank)) rows = c.mul(rows, c.dim(row_count, 0));  // those of a vector are one
  return sparse_counts<by>(c, {rows, row_count, values, c.in(3)});
}

// ---- the number of boundaries that are not above a value, or below it

Values map_bucketize(MapperContext& c) {
  const auto boundaries = c.attr<Floats>("boundaries");
  Value* x = c.in(0);
  if (boundaries.empty()) {
    Value* zero = c.scalar(DType::i32, 0);
    return {c.expand(zero, c.shape_of(x))};
  }
  if (is_int(x->dtype())) x = c.cast(x, DType::f32);  // as TensorFlow compares them
  Value* all = c.constant({static_cast<std::int64_t>(boundaries.size())},
                          std::vector<float>(boundaries.begin(), boundaries.end()));
  Value* bounds = c.cast_like(all, x);
  const bool ranked = x->shape().ranked();
  Value* below = c.less(ranked ? c.unsqueeze(x, {-1}) : c.reshape(x, {-1, 1}), bounds);
  Value* passed = c.cast(c.logical_not(below), DType::i32);  // NaN passes all
  Value* count = c.reduce("ReduceSum", passed, Ints{ranked ? x->shape().rank() : 1}, false);
  return {ranked ? count : c.reshape_to(count, c.shape_of(x))};
}

Values map_bound(MapperContext& c) {
  Value* sorted = c.unsqueeze(c.in(0), {1});
  Value* values = c.unsqueeze(c.in(1), {2});
  const bool upper = c.node().op() == "UpperBound";
  Value* before = upper ? c.logical_not(c.less(values, sorted)) : c.less(sorted, values);
  Value* count = c.reduce("ReduceSum", c.cast(before, DType::i64), Ints{2}, false);
  return {c.cast(count, c.output_dtype())};
}

}  // namespace

void register_bincount(OpRegistry& r) {
  const std::string memory = "below opset 16 memory of values times bins";
  const auto rows = [&](const char* op, Mapper low, Mapper high) {
    r.op(op).note(memory).by(std::move(low));
    r.op(op).since(16).by(std::move(high));
  };
  rows("Bincount", map_bincount<By::compare>, map_bincount<By::scatter>);
  rows("DenseBincount", map_dense_bincount<By::compare>, map_dense_bincount<By::scatter>);
  rows("RaggedBincount", map_ragged_bincount<By::compare>, map_ragged_bincount<By::scatter>);
  rows("SparseBincount", map_sparse_bincount<By::compare>, map_sparse_bincount<By::scatter>);
  rows("HistogramFixedWidth", map_histogram<By::compare>, map_histogram<By::scatter>);
  rows("DenseCountSparseOutput", map_dense_sparse_counts<By::compare>, map_dense_sparse_counts<By::scatter>);
  rows("RaggedCountSparseOutput", map_ragged_sparse_counts<By::compare>,
       map_ragged_sparse_counts<By::scatter>);
  rows("SparseCountSparseOutput", map_sparse_sparse_counts<By::compare>,
       map_sparse_sparse_counts<By::scatter>);
  r.op("Bucketize").by(map_bucketize);
  r.op("LowerBound", "UpperBound").by(map_bound);
}

}  // namespace t2o::op_mappers
