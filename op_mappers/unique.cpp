#include <string>

#include "op_mappers/all.h"
#include "op_mappers/coordinates.h"
#include "op_mappers/meaning.h"
#include "op_mappers/segments.h"
#include "op_mappers/three_axes.h"

namespace t2o::op_mappers {
namespace {

struct Unique {
  Value *values, *first, *inverse, *counts;  // first: where each value comes for the first time
};

// A NaN equals nothing, not even itself.
Unique unique(Emitter& c, Value* x, bool sorted, std::optional<std::int64_t> axis = {}) {
  Attrs attrs{{"sorted", sorted}};
  if (axis) attrs.push_back({"axis", *axis});
  const Values out = c.emit_n("Unique", {x}, attrs, 4);
  if (is_float(x->dtype())) meaning(c, out[0], onnx::kNan, onnx::kApart);
  return {out[0], out[1], out[2], out[3]};
}

// The slices along an axis: rows of [size, the axes before it, those behind it].
Unique unique_along(MapperContext& c, Value* x, Value* axis) {
  const Sides s = sides(c, x, counted_from_front(c, axis, x));
  Unique u = unique(c, c.transpose(as_three(c, x, s), {1, 0, 2}), false, 0);
  u.values = from_three(c, c.transpose(u.values, {1, 0, 2}), s);
  return u;
}

bool is_vector(MapperContext& c) {
  const Shape& s = c.in(0)->shape();
  if (!c.node().op().ends_with("V2") || (s.ranked() && s.rank() == 1)) return true;
  const auto axis = c.maybe_ints(1);
  return axis && axis->empty();
}

Unique unique_of(MapperContext& c) {
  Value* x = c.in(0);
  if (is_vector(c)) return unique(c, x, false);
  const auto axis = c.maybe_ints(1);
  if (axis && axis->size() > 1) c.fail(Code::bad_model, "more than one axis");
  if (axis) return unique(c, x, false, axis->front());
  Value* given =
      c.concat({c.reshape(c.cast(c.in(1), DType::i64), {-1}), c.ints({0})}, 0);  // no axis: that of a vector
  return unique_along(c, x, c.slice(given, {0}, {1}, {0}));
}

Values map_unique(MapperContext& c) {
  const Unique u = unique_of(c);
  Values out{u.values, c.cast(u.inverse, c.output_dtype(1))};
  if (c.node().outputs().size() > 2) out.push_back(c.cast(u.counts, c.output_dtype(2)));
  return out;
}

// ---- ListDiff: what of x is not in y, and where it stands

// flags[i] is true when i is among ids; ids are below count, a scalar.
Value* flags_of(Emitter& c, Value* ids, Value* count) {
  Value *no = c.constant(false), *yes = c.constant(true);
  Value* blank = c.expand(no, c.unsqueeze(count, {0}));
  Value* hits = c.expand(yes, c.shape_of(ids));
  return c.emit("ScatterElements", {blank, ids, hits}, {{"axis", 0}});
}

// A NaN is in no list, as no two are equal.
Value* member_floats(MapperContext& c) {
  Value* x = c.unsqueeze(c.in(0), {1});
  Value* y = c.unsqueeze(c.in(1), {0});
  Value* same = c.cast(c.equal(x, y), DType::i32);
  return c.cast(c.reduce("ReduceSum", same, Ints{1}, false), DType::boolean);
}

Value* members(MapperContext& c) {
  if (is_float(c.in(0)->dtype())) return member_floats(c);
  Value* all = c.concat({c.in(0), c.in(1)}, 0);
  const Unique u = unique(c, all, false);
  Value* split = c.dims(c.in(0), 0, 1);
  Value* of_x = head(c, u.inverse, split);
  Value* of_y = after(c, u.inverse, split);
  Value* in_y = flags_of(c, of_y, c.dim(u.first, 0));
  return c.gather(in_y, of_x, 0);
}

Values map_list_diff(MapperContext& c) {
  Value* outside = c.logical_not(members(c));
  Value* index = c.reshape(c.emit("NonZero", {outside}), {-1});
  Value* kept = c.gather(c.in(0), index, 0);
  return {kept, c.cast(index, c.output_dtype(1))};
}

// ---- operations on sets, which are the rows along the last axis; the result is sparse, each row ascends

struct Sets {
  Value *groups, *values, *dims;  // the set of each value; the shape of the tensor of sets
};

Sets dense_sets(MapperContext& c, Value* x) {
  Value* width = c.dims(x, -1, onnx::kToEnd);
  Value* places = iota(c, c.size_of(x));
  Value* groups = c.div(places, c.maximum(width, c.ints({1})));
  return {groups, c.reshape(x, {-1}), c.dims(x, 0, -1)};
}

Sets sparse_sets(MapperContext& c, std::size_t first) {
  Value* dims = c.slice(c.in(first + 2), {0}, {-1}, {0});
  Value* outer = c.slice(c.in(first), {0}, {-1}, {1});
  return {ravel(c, outer, dims), c.in(first + 1), dims};
}

struct Keys {
  Value *values, *count, *sorted, *inverse;  // a key is set * count + the rank of the value
};

Keys keys_of(Emitter& c, Value* groups, Value* values) {
  const Unique u = unique(c, values, true);
  Value* one = c.i64(1);
  Value* count = c.maximum(c.size_of(u.values), one);  // runtimes divide by it
  Value* keys = c.add(c.mul(groups, count), u.inverse);
  const Unique k = unique(c, keys, true);
  return {u.values, count, k.values, k.inverse};
}

Value* chosen_keys(MapperContext& c, const Keys& k, Value* split) {
  const auto op = c.attr<std::string>("set_operation");
  if (op == "union") return k.sorted;
  Value* count = c.dim(k.sorted, 0);
  Value* in_a = flags_of(c, head(c, k.inverse, split), count);
  Value* in_b = flags_of(c, after(c, k.inverse, split), count);
  if (op == "a-b")
    in_b = c.logical_not(in_b);
  else if (op == "b-a")
    in_a = c.logical_not(in_a);
  else if (op != "intersection")
    c.fail(Code::unsupported_attr, "set_operation \"" + op + "\" is not known");
  Value* both = c.logical_and(in_a, in_b);
  return c.emit("Compress", {k.sorted, both}, {{"axis", 0}});
}

Values set_operation(MapperContext& c, const Sets& a, const Sets& b) {
  Value* groups = c.concat({a.groups, b.groups}, 0);
  const Keys k = keys_of(c, groups, c.concat({a.values, b.values}, 0));
  Value* keys = chosen_keys(c, k, c.unsqueeze(c.size_of(a.values), {0}));
  Value* group = c.div(keys, k.count);
  Value* values = c.gather(k.values, c.mod(keys, k.count), 0);
  const Unique row = unique(c, group, false);
  Value* begin = c.gather(row.first, row.inverse, 0);
  Value* place = c.sub(iota(c, c.dim(keys, 0)), begin);
  Value* highest_place = c.reduce("ReduceMax", c.concat({c.ints({-1}), place}, 0), Ints{0}, true);
  Value* width = c.add(highest_place, c.ints({1}));
  Value* outer = unravel(c, group, a.dims);
  Value* indices = c.concat({outer, c.unsqueeze(place, {1})}, 1);
  return {indices, values, c.concat({a.dims, width}, 0)};
}

Values map_dense_dense(MapperContext& c) {
  const Sets a = dense_sets(c, c.in(0));
  const Sets b = dense_sets(c, c.in(1));
  return set_operation(c, a, b);
}
Values map_dense_sparse(MapperContext& c) {
  const Sets a = dense_sets(c, c.in(0));
  const Sets b = sparse_sets(c, 1);
  return set_operation(c, a, b);
}
Values map_sparse_sparse(MapperContext& c) {
  const Sets a = sparse_sets(c, 0);
  const Sets b = sparse_sets(c, 3);
  return set_operation(c, a, b);
}

template <By by>
Values map_set_size(MapperContext& c) {
  const Sets s = sparse_sets(c, 0);
  const Keys k = keys_of(c, s.groups, s.values);
  Value* count = c.product(s.dims);
  Value* sizes = segment_sizes(c, by, c.div(k.sorted, k.count), count);
  return {c.cast(c.reshape_to(sizes, s.dims), DType::i32)};
}

}  // namespace

void register_unique(OpRegistry& r) {
  r.op("Unique", "UniqueWithCounts").by(map_unique);
  r.op("UniqueV2", "UniqueWithCountsV2").by(map_unique);
  r.op("ListDiff").by(map_list_diff);
  const std::vector<std::string> checks = {"validate_indices"};
  r.op("DenseToDenseSetOperation").ignores(checks).by(map_dense_dense);
  r.op("DenseToSparseSetOperation").ignores(checks).by(map_dense_sparse);
  r.op("SparseToSparseSetOperation").ignores(checks).by(map_sparse_sparse);
  r.op("SetSize").ignores(checks).by(map_set_size<By::compare>);
  r.op("SetSize").since(16).ignores(checks).by(map_set_size<By::scatter>);
}

}  // namespace t2o::op_mappers
