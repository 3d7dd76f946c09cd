#include <algorithm>

#include "drawer.h"

namespace t2o::random_graphs {
namespace {

using enum DType;

Ints indices(Drawer& d, const Ints& dims, std::int64_t below) {
  if (below == 0) throw Dropped();
  Ints v(static_cast<std::size_t>(element_count(dims)));
  for (std::int64_t& i : v) i = d.below(below);
  return v;
}

void draw_gather(Drawer& d) {
  const Ref x = d.pick(kAll, 1, 4);
  const std::int64_t axis = d.axis(x), at = axis < 0 ? axis + d.rank(x) : axis;
  const std::int64_t batch = d.chance(0.25) ? d.between(0, at) : 0;
  Ints dims(d.dims(x).begin(), d.dims(x).begin() + batch);
  const Ints rest = d.dims(0, 2);
  dims.insert(dims.end(), rest.begin(), rest.end());
  const Ref i = d.index(dims, indices(d, dims, d.dims(x)[static_cast<std::size_t>(at)]), 0.5);
  const Ref a = d.index({}, {axis}, 0);
  d.op("GatherV2", {x, i, a}, {{"batch_dims", batch}});
}

// Rows of indices into the first dims of a shape.
Ref rows(Drawer& d, const Ints& shape, const Ints& outer, std::int64_t depth, bool unique, double fed) {
  Ints dims = outer, values;
  dims.push_back(depth);
  std::vector<Ints> seen;
  for (std::int64_t n = element_count(outer); n > 0; --n) {
    Ints row;
    for (int tries = 0; tries < 20; ++tries) {
      row.clear();
      for (std::int64_t k = 0; k < depth; ++k) row.push_back(indices(d, {1}, shape[static_cast<std::size_t>(k)])[0]);
      if (!unique || std::find(seen.begin(), seen.end(), row) == seen.end()) break;
      if (tries == 19) throw Dropped();
    }
    seen.push_back(row);
    values.insert(values.end(), row.begin(), row.end());
  }
  return d.index(dims, values, fed);
}

void draw_gather_nd(Drawer& d) {
  const Ref x = d.pick(kAll, 1, 4);
  const Ref i = rows(d, d.dims(x), d.dims(1, 2), d.between(1, d.rank(x)), false, 0.5);
  d.op("GatherNd", {x, i});
}

void draw_scatter(Drawer& d) {
  const Ref x = d.pick(kReals, 1, 3);
  const std::int64_t depth = d.between(1, d.rank(x));
  static const Strings ops = {"TensorScatterUpdate", "TensorScatterAdd", "TensorScatterSub", "TensorScatterMax", "TensorScatterMin", "ScatterNd"};
  const std::string& op = d.one_of(ops);
  const Ints outer = {d.between(1, 3)};
  const Ref i = rows(d, d.dims(x), outer, depth, op == "TensorScatterUpdate", 0.4);
  Ints updates = outer;
  updates.insert(updates.end(), d.dims(x).begin() + depth, d.dims(x).end());
  const Rounding rounding = op.ends_with("Add") || op.ends_with("Sub") || op == "ScatterNd" ? Rounding::once : Rounding::moves;
  if (op != "ScatterNd") {
    d.op(op, {x, i, d.leaf(d.dtype(x), updates)}, {}, rounding);
    return;
  }
  const bool wide = d.dtype(i) == i64;
  const std::vector<double> dims(d.dims(x).begin(), d.dims(x).end());
  const TensorPtr shape = verify::tensor_of(wide ? i64 : i32, {d.rank(x)}, dims);
  const Ref u = d.leaf(d.dtype(x), updates);
  d.op(op, {i, u, d.chance(0.2) ? d.leaf(shape) : d.constant(shape)}, {}, rounding);
}

void draw_one_hot(Drawer& d) {
  const Ref i = d.chance(0.4) ? d.pick({i32, i64, u8}, 0, 3) : d.leaf(d.dtype(kIndices), d.dims(0, 3), Domain::small);
  const Ref depth = d.leaf(Tensor::scalar<std::int32_t>(static_cast<std::int32_t>(d.between(1, 6))));
  const DType t = d.dtype(kAll);
  const Ref on = d.leaf(t, {}), off = d.leaf(t, {});
  d.op("OneHot", {i, depth, on, off}, {{"axis", d.between(-1, d.rank(i))}});
}

void draw_where(Drawer& d) {
  const Ref x = d.pick(d.chance(0.7) ? DTypes{boolean} : kReals, 1, 3);
  const Ref at = d.op("Where", {x});
  if (d.chance(0.5)) d.op("GatherNd", {d.chance(0.5) ? x : d.leaf(d.dtype(kAll), d.dims(x)), at});
}

void draw_stitch(Drawer& d) {
  const Ref x = d.pick(kAll, 1, 3);
  const std::int64_t n = d.dims(x)[0];
  if (n < 1) throw Dropped();
  if (d.chance(0.5)) {
    std::vector<std::int32_t> parts;
    for (std::int64_t i = 0; i < n; ++i) parts.push_back(static_cast<std::int32_t>(d.below(2)));
    d.op("DynamicPartition", {x, d.leaf(Tensor::of<std::int32_t>({n}, parts))}, {{"num_partitions", std::int64_t{2}}});
    return;
  }
  std::vector<std::int32_t> first, second;
  for (std::int64_t i = 0; i < n; ++i) first.push_back(static_cast<std::int32_t>(2 * i)), second.push_back(static_cast<std::int32_t>(2 * i + 1));
  const Ref a = d.leaf(Tensor::of<std::int32_t>({n}, first)), b = d.leaf(Tensor::of<std::int32_t>({n}, second));
  d.op("DynamicStitch", {In(std::vector<Ref>{a, b}), In(std::vector<Ref>{x, d.like(x)})});
}

void draw_unique(Drawer& d) {
  const Ref x = d.chance(0.5) ? d.pick({i32, i64, f32, u8}, 1, 1) : d.leaf(d.dtype({i32, i64, f32}), {d.between(2, 9)}, Domain::small);
  if (!d.exact(x)) throw Dropped();
  if (d.chance(0.5)) d.op("Unique", {x}, {{"out_idx", d.chance(0.5) ? i32 : i64}});
  else d.op("UniqueWithCounts", {x}, {{"out_idx", d.chance(0.5) ? i32 : i64}});
}

void draw_invert(Drawer& d) {
  const std::int64_t n = d.between(1, 6);
  std::vector<std::int32_t> p;
  for (std::int64_t i = 0; i < n; ++i) p.insert(p.begin() + d.below(i + 1), static_cast<std::int32_t>(i));
  const Ref x = d.leaf(Tensor::of<std::int32_t>({n}, p));
  d.op("InvertPermutation", {x});
}

void draw_sorted(Drawer& d) {
  Ints v = {d.between(-5, 5)};
  for (std::int64_t n = d.between(1, 5); n > 0; --n) v.push_back(v.back() + d.below(3));
  const DType t = d.dtype({f32, i32, i64});
  const TensorPtr sorted = verify::tensor_of(t, {1, static_cast<std::int64_t>(v.size())}, std::vector<double>(v.begin(), v.end()));
  const Ref s = d.leaf(sorted);
  d.op(d.chance(0.5) ? "LowerBound" : "UpperBound", {s, d.leaf(t, {1, d.between(1, 5)}, Domain::small)}, {{"out_type", d.chance(0.5) ? i32 : i64}});
}

}  // namespace

void add_indexing(std::vector<Maker>& m) {
  m.push_back({"gather", 9, draw_gather});
  m.push_back({"gather_nd", 4, draw_gather_nd});
  m.push_back({"scatter", 6, draw_scatter});
  m.push_back({"one_hot", 4, draw_one_hot});
  m.push_back({"where", 2, draw_where});
  m.push_back({"stitch", 2, draw_stitch});
  m.push_back({"unique", 1, draw_unique});
  m.push_back({"invert", 1, draw_invert});
  m.push_back({"sorted", 1, draw_sorted});
}

}  // namespace t2o::random_graphs
