#include <limits>
#include <set>
#include <string>

#include "op_mappers/all.h"
#include "op_mappers/numbers.h"
#include "op_mappers/scatter.h"
#include "op_mappers/wide_integers.h"

namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kMaxIndices = 1 << 20;  // looked at for duplicates

struct Updates {
  Value *indices, *values;
};

bool ignores_bad_indices(MapperContext& c) {
  return c.attr_or<std::string>("bad_indices_policy", "") == "IGNORE";
}

// Without the indices that are beyond the tensor, and their updates.
Updates updates_within(MapperContext& c, Updates u, Value* shape) {
  Value* indices = c.cast(u.indices, DType::i64);
  shape = c.cast(shape, DType::i64);
  Value* depth = c.dims(indices, -1, onnx::kToEnd);
  Value* count = c.product(c.dims(indices, 0, -1));
  Value* rows = c.reshape_to(indices, c.concat({count, depth}, 0));
  Value* not_below = c.greater_equal(rows, c.i64(0));
  Value* within = c.logical_and(not_below, c.less(rows, head(c, shape, depth)));
  Value* kept = c.cast(c.reduce("ReduceMin", c.cast(within, DType::i32), Ints{1}, false), DType::boolean);
  Value* values = c.reshape_to(u.values, c.concat({count, after(c, shape, depth)}, 0));
  const Attrs axis{{"axis", 0}};
  Value* good = c.emit("Compress", {rows, kept}, axis);
  return {good, c.emit("Compress", {values, kept}, axis)};
}

bool are_unique(const Value* indices) {
  const TensorPtr& t = indices->constant();
  if (!t || t->rank() == 0 || t->elements() > kMaxIndices) return false;
  const auto depth = static_cast<std::size_t>(t->dims().back());
  const Ints all = t->to_ints();
  std::set<Ints> seen;
  for (std::size_t i = 0; depth != 0 && i < all.size(); i += depth) {
    const auto first = all.begin() + static_cast<std::ptrdiff_t>(i);
    if (!seen.emplace(first, first + static_cast<std::ptrdiff_t>(depth)).second) return false;
  }
  return depth != 0;
}

Value* overwritten(MapperContext& c, Value* data, Value* indices, Value* updates) {
  return c.emit("ScatterND", {data, c.cast(indices, DType::i64), updates});
}

struct Combination {
  Reduction how;
  std::string reduction;  // ONNX ScatterElements'
};
Value* applied(MapperContext& c, const Combination& how, Value* a, Value* b) {
  if (how.how == Reduction::add) return c.add(a, b);
  if (how.how == Reduction::mul) return c.mul(a, b);
  return how.how == Reduction::max ? larger(c, a, b) : smaller(c, a, b);
}
bool is_extremum(const Combination& how) { return how.how == Reduction::max || how.how == Reduction::min; }
Combination combination(const std::string& tf_op) {
  if (tf_op == "TensorScatterMax") return {Reduction::max, "max"};
  if (tf_op == "TensorScatterMin") return {Reduction::min, "min"};
  return {Reduction::add, "add"};
}

// ---- indices that may repeat: of rows (segments.h)

struct Places {
  Value *ids, *count;  // 1-D: the row of each update; [1]: how many rows there are
  Value* inner;        // the axes of the result that are not indexed
};

std::int64_t index_depth(const Value* indices) {
  const Shape& s = indices->shape();
  return s.ranked() && s.rank() > 0 ? s[s.rank() - 1] : kUnknownDim;
}

// The row-major numbers of the rows.
Value* row_numbers(MapperContext& c, Value* indices, Value* outer) {
  indices = c.cast(indices, DType::i64);
  if (index_depth(indices) == 1) return c.reshape(indices, {-1});
  if (const auto sizes = constant_ints(outer)) {
    Ints strides(sizes->size(), 1);
    for (std::size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * (*sizes)[i];
    Value* offsets = c.mul(indices, c.ints(strides));
    return c.reshape(c.reduce("ReduceSum", offsets, Ints{-1}, false), {-1});
  }
  Value* zero = c.i64(0);
  Value* one = c.i64(1);
  Value* all = c.range(zero, c.reduce("ReduceProd", outer, Ints{0}, false), one);
  return c.reshape(c.emit("GatherND", {c.reshape_to(all, outer), indices}), {-1});
}

Places places(MapperContext& c, Value* indices, Value* shape) {
  const std::int64_t known = index_depth(indices);
  if (known == 0) c.fail(Code::unsupported_attr, "indices of no axes have no ONNX form");
  Value* depth = is_known(known) ? c.ints({known}) : c.dims(indices, -1, std::numeric_limits<int>::max());
  Value* outer = head(c, shape, depth);
  Value* inner = after(c, shape, depth);
  Value* count = known == 1 ? outer : c.product(outer);
  return {row_numbers(c, indices, outer), count, inner};
}

Value* as_rows(MapperContext& c, Value* x, Value* count, Value* inner) {
  auto known = constant_ints(inner);
  if (inner->shape() == Shape(Ints{0})) known = Ints{};
  if (!known || contains(*known, 0)) return c.reshape_to(x, c.concat({count, inner}, 0));
  Ints dims{-1};
  append(dims, *known);
  return c.reshape(x, dims);
}

Value* update_rows(MapperContext& c, Value* updates, const Places& p) {
  const Shape& s = updates->shape();
  if (s.ranked() && p.inner->shape().is_static() && s.rank() == 1 + p.inner->shape()[0]) return updates;
  return as_rows(c, updates, c.shape_of(p.ids), p.inner);
}

Value* combined_by_scatter(MapperContext& c, const Combination& how, Value* data, Value* shape,
                           Value* indices, Value* updates) {
  const Places p = places(c, indices, shape);
  const bool flat = index_depth(indices) == 1;
  Value* rows = flat ? data : as_rows(c, data, p.count, p.inner);
  Value* result = scatter_rows(c, rows, p.ids, update_rows(c, updates, p), how.reduction);
  return flat ? result : c.reshape_to(result, shape);
}

Value* none_of(MapperContext& c, const Combination& how, const Value* like) {
  const DType t = like->dtype();
  if (how.how == Reduction::add) return c.scalar_like(like, 0);
  if (how.how == Reduction::mul) return c.scalar_like(like, 1);
  const double sign = how.how == Reduction::max ? -1 : 1;
  if (is_float(t)) return c.scalar_like(like, sign * std::numeric_limits<double>::infinity());
  return how.how == Reduction::max ? lowest(c, t) : highest(c, t);
}

// Below the opset of the reduction in ONNX: all updates of each row.
Value* combined_updates(MapperContext& c, const Combination& how, Value* shape, Value* indices,
                        Value* updates) {
  const Places p = places(c, indices, shape);
  Value* none = none_of(c, how, updates);
  Value* rows = update_rows(c, updates, p);
  return c.reshape_to(segment_reduce(c, By::compare, how.how, rows, p.ids, p.count, none), shape);
}

template <By by>
Value* combined(MapperContext& c, const Combination& how, Value* data, Value* shape, Value* indices,
                Value* updates) {
  if (by == By::compare) return applied(c, how, data, combined_updates(c, how, shape, indices, updates));
  const DType work = is_half(data->dtype()) ? DType::f32 : data->dtype();
  Value* to = c.cast(data, work);
  Value* from = c.cast(updates, work);
  Value* result = combined_by_scatter(c, how, to, shape, indices, from);
  if (is_extremum(how) && is_float(work) && c.strict())
    result = c.where(c.is_nan(to), to, result);  // NaN stays
  return c.cast(result, data->dtype());
}

Value* negated_for_sub(MapperContext& c, Value* updates) {
  if (c.node().op() != "TensorScatterSub") return updates;
  return is_unsigned_int(updates->dtype()) ? c.sub(c.scalar_like(updates, 0), updates) : c.neg(updates);
}

// A NaN of the tensor stays; one among the updates counts for nothing.
Value* without_nan(MapperContext& c, const Combination& how, Value* updates) {
  if (!c.strict() || !is_extremum(how) || !is_float(updates->dtype())) return updates;
  const DType work = is_half(updates->dtype()) ? DType::f32 : updates->dtype();
  Value* wide = c.cast(updates, work);
  return c.cast(c.where(c.is_nan(wide), none_of(c, how, wide), wide), updates->dtype());
}

// One number for all updates, as ScatterUpdate of a variable allows.
Value* spread(MapperContext& c, Value* indices, Value* number) {
  Value* depth = c.dims(indices, -1, onnx::kToEnd);
  return c.expand(number, c.concat({c.dims(indices, 0, -1), after(c, c.shape_of(c.in(0)), depth)}, 0));
}

Updates updates_of(MapperContext& c) {
  Updates u{c.in(1), c.in(2)};
  if (u.values->shape().is_scalar()) u.values = spread(c, u.indices, u.values);
  return ignores_bad_indices(c) ? updates_within(c, u, c.shape_of(c.in(0))) : u;
}

Values map_update(MapperContext& c) {
  const Updates u = updates_of(c);
  return {overwritten(c, c.in(0), u.indices, u.values)};
}

// Read, combine, write back.
Value* combine_unique(MapperContext& c, const Combination& how, Value* data, Value* indices, Value* updates) {
  indices = c.cast(indices, DType::i64);
  Value* old = c.emit("GatherND", {data, indices});
  Value* result = applied(c, how, old, updates);
  return overwritten(c, data, indices, result);
}

template <By by>
Value* combined_into(MapperContext& c, const Combination& how, Value* data, Value* indices, Value* updates) {
  updates = without_nan(c, how, updates);
  if (are_unique(indices)) return combine_unique(c, how, data, indices, updates);
  Value* shape = c.shape_of(data);
  return combined<by>(c, how, data, shape, indices, updates);
}

template <By by>
Values map_combine(MapperContext& c) {
  const Combination how = combination(c.node().op());
  const Updates u = updates_of(c);
  return {combined_into<by>(c, how, c.in(0), u.indices, negated_for_sub(c, u.values))};
}

Value* zeros(MapperContext& c, DType type, Value* dims) {
  return c.expand(zero_of(c, type), c.cast(dims, DType::i64));
}

template <By by>
Values map_scatter_nd(MapperContext& c) {
  const DType type = c.in(1)->dtype();
  Updates u{c.in(0), c.in(1)};
  if (ignores_bad_indices(c)) u = updates_within(c, u, c.in(2));
  if (are_unique(u.indices)) return {overwritten(c, zeros(c, type, c.in(2)), u.indices, u.values)};
  const bool counts = type == DType::boolean;
  const DType work = counts ? DType::i32 : type;
  Value* updates = c.cast(u.values, work);
  Value* shape = c.cast(c.in(2), DType::i64);
  const Combination how = combination("ScatterNd");
  if (by == By::compare) return {c.cast(combined_updates(c, how, shape, u.indices, updates), type)};
  return {c.cast(combined<by>(c, how, zeros(c, work, shape), shape, u.indices, updates), type)};
}

// ---- DynamicStitch: merged[indices[m][i], ...] = data[m][i, ...], the later one wins

// data of shape labels' + rest as [elements of labels] + rest
Value* stitch_rows(MapperContext& c, Value* data, Value* labels) {
  if (!labels->shape().ranked()) {
    Value* inner = after(c, c.shape_of(data), c.unsqueeze(c.rank_of(labels), {0}));
    return c.reshape_to(data, c.concat({c.unsqueeze(c.size_of(labels), {0}), inner}, 0));
  }
  const int rank = labels->shape().rank();
  if (rank == 0) return c.unsqueeze(data, {0});
  if (rank == 1) return data;
  Value* count = c.unsqueeze(c.size_of(labels), {0});
  return c.reshape_to(data, c.concat({count, c.dims(data, rank, onnx::kToEnd)}, 0));
}

struct Stitch {
  Value *indices, *rows;  // 1-D, and [as many, ...]
};

Stitch stitch_inputs(MapperContext& c) {
  const std::size_t n = c.input_count() / 2;
  Values indices, rows;
  for (std::size_t i = 0; i < n; ++i) {
    indices.push_back(c.reshape(c.cast(c.in(i), DType::i64), {-1}));
    rows.push_back(stitch_rows(c, c.in(n + i), c.in(i)));
  }
  return {c.concat(indices, 0), c.concat(rows, 0)};
}

// Where no index points, TensorFlow leaves zeros; -1 is the last row.
Value* with_zero_row(MapperContext& c, Value* rows) {
  Value* dims = c.concat({c.ints({1}), c.dims(rows, 1, onnx::kToEnd)}, 0);
  return c.concat({rows, c.expand(zero_of(c, rows->dtype()), dims)}, 0);
}

Values map_stitch_constant(MapperContext& c) {
  Ints position;
  std::int64_t row = 0;
  for (std::size_t m = 0; m < c.input_count() / 2; ++m) {
    for (const std::int64_t place : c.const_ints(m)) {
      if (place < 0 || place > kMaxIndices)
        c.fail(Code::bad_model, "index " + std::to_string(place) + " is out of range");
      const auto at = static_cast<std::size_t>(place);
      if (at >= position.size()) position.resize(at + 1, -1);
      position[at] = row++;
    }
  }
  Value* rows = stitch_inputs(c).rows;
  if (contains(position, -1)) rows = with_zero_row(c, rows);
  return {c.gather(rows, c.ints(position), 0)};
}

// The row that comes last of each place; -1 where there is none.
template <By by>
Value* last_rows(MapperContext& c, Value* indices, Value* count, Value* order) {
  Value* none = c.i64(-1);
  if (by == By::scatter) return scatter_rows(c, c.expand(none, count), indices, order, "max");
  return segment_reduce(c, by, Reduction::max, order, indices, count, none);
}

template <By by>
Values map_stitch(MapperContext& c) {
  bool constant = true;
  for (std::size_t m = 0; m < c.input_count() / 2; ++m) constant = constant && c.maybe_ints(m).has_value();
  if (constant) return map_stitch_constant(c);
  const Stitch s = stitch_inputs(c);
  Value* zero = c.i64(0);
  Value* one = c.i64(1);
  Value* highest = c.reduce("ReduceMax", c.concat({c.ints({-1}), s.indices}, 0), {0}, true);
  Value* order = c.range(zero, c.dim(s.indices, 0), one);
  Value* last = last_rows<by>(c, s.indices, c.add(highest, one), order);
  return {c.gather(with_zero_row(c, s.rows), last, 0)};
}

Values map_partition(MapperContext& c) {
  const auto n = c.attr<std::int64_t>("num_partitions");
  if (n < 1 || static_cast<std::size_t>(n) != c.node().outputs().size())
    c.fail(Code::bad_model, "num_partitions is not the number of outputs");
  Value* partitions = c.reshape(c.in(1), {-1});
  Value* data = stitch_rows(c, c.in(0), c.in(1));
  Values out;
  for (std::int64_t i = 0; i < n; ++i) {
    Value* chosen = c.equal(partitions, c.scalar_like(partitions, static_cast<double>(i)));
    out.push_back(c.emit("Compress", {data, chosen}, {{"axis", 0}}));
  }
  return out;
}

}  // namespace

Value* scatter_combined(MapperContext& c, By by, Reduction reduction, Value* data, Value* indices,
                        Value* updates) {
  constexpr const char* kNames[] = {"add", "mul", "max", "min"};
  const Combination how{reduction, nth(kNames, reduction)};
  return by == By::scatter ? combined_into<By::scatter>(c, how, data, indices, updates)
                           : combined_into<By::compare>(c, how, data, indices, updates);
}

void register_scatter(OpRegistry& r) {
  r.op("TensorScatterUpdate").by(map_update);
  const std::string note = "below opset ";
  const std::string cost = " indices that may repeat take memory of rows x updates";
  r.op("TensorScatterAdd", "TensorScatterSub", "ScatterNdNonAliasingAdd")
      .note(note + "16" + cost)
      .by(map_combine<By::compare>);
  r.op("TensorScatterAdd", "TensorScatterSub", "ScatterNdNonAliasingAdd")
      .since(16)
      .by(map_combine<By::scatter>);
  r.op("TensorScatterMax", "TensorScatterMin").note(note + "18" + cost).by(map_combine<By::compare>);
  r.op("TensorScatterMax", "TensorScatterMin").since(18).by(map_combine<By::scatter>);
  r.op("ScatterNd").note(note + "16" + cost).by(map_scatter_nd<By::compare>);
  r.op("ScatterNd").since(16).by(map_scatter_nd<By::scatter>);
  r.op("DynamicStitch", "ParallelDynamicStitch")
      .ignores({"N"})
      .note("below opset 18 indices known at run time only take memory of their number squared")
      .by(map_stitch<By::compare>);
  r.op("DynamicStitch", "ParallelDynamicStitch").since(18).ignores({"N"}).by(map_stitch<By::scatter>);
  r.op("DynamicPartition").by(map_partition);
}

}  // namespace t2o::op_mappers
