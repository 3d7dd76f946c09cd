#include <algorithm>

#include "op_mappers/all.h"
#include "op_mappers/numbers.h"
#include "op_mappers/xla_index.h"

// XlaGather, and slices at places that are known when the model runs. An index beyond the tensor is brought
// to its edge.
namespace t2o::op_mappers {
namespace {

Ints picked(const Ints& all, const Ints& at) {
  Ints some;
  for (const std::int64_t i : at) some.push_back(nth(all, i));
  return some;
}

// x[start : start + size] along these axes, the whole slice inside of x.
Value* sliced(MapperContext& c, Value* x, Value* starts, Value* sizes, const Ints& axes) {
  Value* room = c.sub(sizes_of(c, x, axes), sizes);
  Value* from = clamped(c, starts, room);
  Value* to = c.add(from, sizes);
  Value* y = c.slice(x, from, to, c.ints(axes));
  const auto known = constant_ints(sizes);
  if (known && x->shape().ranked() && !y->constant()) {
    Ints dims = x->shape().dims();
    for (std::size_t i = 0; i < axes.size(); ++i) nth(dims, axes[i]) = (*known)[i];
    c.graph().set_type(y, y->dtype(), Shape(dims));
  }
  return y;
}

// ---- XlaGather

struct GatherNumbers {
  Ints offset, collapsed, mapped, own, batch;
  std::int64_t vector_axis;
  Ints kept;  // the operand's axes that the result has
};

GatherNumbers gather_numbers(MapperContext& c, std::int64_t rank) {
  const XlaMessage m(c, "dimension_numbers", {1, 2, 3, 4, 5, 6});
  GatherNumbers n{m.list(1), m.list(2), m.list(3), m.list(5), m.list(6), m.number(4), {}};
  check_axes(c, joined(n.collapsed, n.own), rank, "dimension_numbers");
  check_axes(c, joined(n.mapped, n.own), rank, "dimension_numbers");
  for (std::int64_t a = 0; a < rank; ++a)
    if (!has_axis(n.collapsed, a) && !has_axis(n.own, a)) n.kept.push_back(a);
  if (n.offset.size() != n.kept.size())
    c.fail(Code::bad_model, "offset_dims and collapsed_slice_dims do not make up the operand's axes");
  return n;
}

// Of a slice along each axis of the operand; a batch that is not known may be one of them.
struct SliceSizes {
  Ints known;      // as in a Shape
  Value* runtime;  // i64
  Value* at(MapperContext& c, const Ints& axes) const {
    const Ints sizes = picked(known, axes);
    return std::ranges::all_of(sizes, is_known) ? c.ints(sizes) : c.gather(runtime, c.ints(axes), 0);
  }
};

SliceSizes slice_sizes(MapperContext& c) {
  Value* sizes = c.in(2);
  constexpr std::int64_t kHighestRank = 64;
  const bool has_rank =
      sizes->shape().is_static() && sizes->shape().rank() == 1 && sizes->shape()[0] <= kHighestRank;
  Ints known(has_rank ? static_cast<std::size_t>(sizes->shape()[0]) : 0, kUnknownDim);
  if (c.maybe_ints(2))
    known = const_entries(c, 2, c.has_rank(0) ? static_cast<std::size_t>(c.rank(0)) : c.const_ints(2).size(),
                          0, "slice_sizes");
  else if (sizes->known_elements())
    known = *sizes->known_elements();
  if (known.empty() && !sizes->constant()) known = c.const_ints(2);
  if (c.has_rank(0) && static_cast<std::size_t>(c.rank(0)) != known.size())
    c.fail(Code::bad_model, "slice_sizes needs one entry for each axis of the operand");
  return {known, c.cast(sizes, DType::i64)};
}

// What is not indexed is cut to its size from the front.
Value* front(MapperContext& c, Value* x, const SliceSizes& sizes, const Ints& indexed) {
  Ints axes;
  for (std::size_t a = 0; a < sizes.known.size(); ++a) {
    const auto axis = static_cast<std::int64_t>(a);
    const bool whole = x->shape().ranked() && x->shape()[static_cast<int>(a)] == sizes.known[a] &&
                       sizes.known[a] != kUnknownDim;
    if (!whole && !has_axis(indexed, axis)) axes.push_back(axis);
  }
  if (axes.empty()) return x;
  Value* zeros = c.ints(Ints(axes.size(), 0));
  Value* ends = sizes.at(c, axes);
  return c.slice(x, zeros, ends, c.ints(axes));
}

// The gathered tensor and what its axes are: those of the operand, and -1, -2 ... of the batch.
struct Gathered {
  Value* value;
  Ints axes;
};

Gathered gather_along_one(MapperContext& c, Value* x, const Coordinates& at, Value* places, bool window,
                          std::int64_t rank) {
  const std::int64_t axis = at.axes[0];
  Gathered g{c.gather(x, c.squeeze(places, {-1}), axis), {}};
  for (std::int64_t a = 0; a < axis; ++a) g.axes.push_back(a);
  for (int b = 1; b <= at.batch_rank; ++b) g.axes.push_back(-b);
  if (window) g.axes.push_back(axis);
  for (std::int64_t a = axis + 1; a < rank; ++a) g.axes.push_back(a);
  return g;
}

Gathered gather_along_several(MapperContext& c, Value* x, const Coordinates& at, Value* places,
                              const std::vector<bool>& windows, std::int64_t rank) {
  Ints rest;
  for (std::int64_t a = 0; a < rank; ++a)
    if (!has_axis(at.axes, a)) rest.push_back(a);
  Value* first = c.transpose(x, joined(at.axes, rest));
  Gathered g{c.emit("GatherND", {first, places}), {}};
  for (int b = 1; b <= at.batch_rank; ++b) g.axes.push_back(-b);
  for (std::size_t i = 0; i < at.axes.size(); ++i)
    if (windows[i]) g.axes.push_back(at.axes[i]);
  g.axes = joined(g.axes, rest);
  return g;
}

Value* arranged(MapperContext& c, const Gathered& g, const GatherNumbers& n) {
  Ints perm;
  std::size_t kept = 0;
  std::int64_t batch = -1;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(g.axes.size()); ++i) {
    const std::int64_t axis = has_axis(n.offset, i) ? n.kept[kept++] : batch--;
    perm.push_back(std::ranges::find(g.axes, axis) - g.axes.begin());
  }
  check_axes(c, perm, static_cast<std::int64_t>(g.axes.size()), "offset_dims");
  return c.transpose(g.value, perm);
}

Values map_gather(MapperContext& c) {
  const SliceSizes sizes = slice_sizes(c);
  const auto rank = static_cast<std::int64_t>(sizes.known.size());
  const GatherNumbers n = gather_numbers(c, rank);
  for (const std::int64_t a : joined(n.collapsed, n.own))
    if (const Dim size = nth(sizes.known, a); is_known(size) && size != 1)
      c.fail(Code::bad_model, "a slice of a size other than 1 loses its axis");
  check_axes(c, n.offset, rank + (c.has_rank(1) ? c.rank(1) : 0) + 1, "offset_dims");
  Coordinates at = read_coordinates(c, c.in(1), n.mapped, n.vector_axis, n.own, n.batch);
  Value* x = front(c, c.in(0), sizes, at.axes);
  if (!at.values) {
    if (at.batch_rank != 0) c.fail(Code::unsupported_attr, "indices without coordinates have no ONNX form");
    return {c.squeeze(x, n.collapsed)};
  }
  Value* extents = sizes.at(c, at.axes);
  if (at.batch_rank == 0) {
    Value* y = sliced(c, x, at.values, extents, at.axes);
    return {n.collapsed.empty() ? y : c.squeeze(y, n.collapsed)};
  }
  Value* own = sizes_of(c, x, at.axes);
  Value* room = c.sub(own, extents);
  at.values = clamped(c, at.values, room);
  std::vector<bool> windows;
  for (const std::int64_t a : at.axes) windows.push_back(has_axis(n.kept, a));
  Value* places = with_windows(c, at, picked(sizes.known, at.axes), extents, windows);
  const Gathered g = at.axes.size() == 1 ? gather_along_one(c, x, at, places, windows[0], rank)
                                         : gather_along_several(c, x, at, places, windows, rank);
  return {arranged(c, g, n)};
}

// ---- XlaDynamicSlice, XlaDynamicUpdateSlice

Value* at_axes(MapperContext& c, Value* per_axis, const Ints& axes, std::size_t rank) {
  Value* all = c.cast(per_axis, DType::i64);
  return axes.size() == rank ? all : c.gather(all, c.ints(axes), 0);
}

Values map_dynamic_slice(MapperContext& c) {
  Value* x = c.in(0);
  if (!c.maybe_ints(2)) {
    Value* all = c.cast(c.in(2), DType::i64);
    Value* room = c.sub(c.shape_of(x), all);
    Value* from = clamped(c, c.cast(c.in(1), DType::i64), room);
    Value* to = c.add(from, all);
    Value* axes = iota(c, c.size_of(all));
    return {c.slice(x, from, to, axes)};
  }
  const Ints sizes = const_entries(
      c, 2, c.has_rank(0) ? static_cast<std::size_t>(c.rank(0)) : c.const_ints(2).size(), 0, "size_indices");
  Ints axes;
  for (std::size_t a = 0; a < sizes.size(); ++a)
    if (!c.has_rank(0) || x->shape()[static_cast<int>(a)] != sizes[a])
      axes.push_back(static_cast<std::int64_t>(a));
  if (axes.empty()) return {c.identity(x)};
  Value* starts = at_axes(c, c.in(1), axes, sizes.size());
  return {sliced(c, x, starts, c.ints(picked(sizes, axes)), axes)};
}

// Along one axis: what is before, what is put in place of the slice, what is behind.
Value* updated(MapperContext& c, Value* x, Value* update, Value* starts, const Ints& axes, std::size_t next) {
  if (next == axes.size()) return update;
  const std::int64_t axis = axes[next], at = static_cast<std::int64_t>(next);
  Value* from = axes.size() == 1 ? starts : c.slice(starts, {at}, {at + 1}, {0});
  Value* to = c.add(from, sizes_of(c, update, {axis}));
  Value* before = head(c, x, from, axis);
  Value* middle = next + 1 == axes.size()
                      ? update
                      : updated(c, c.slice(x, from, to, c.ints({axis})), update, starts, axes, next + 1);
  Value* behind = after(c, x, to, axis);
  return c.concat({before, middle, behind}, axis);
}

Values map_dynamic_update_slice(MapperContext& c) {
  Value *x = c.in(0), *update = c.in(1);
  const int rank = c.has_rank(0) ? c.rank(0) : c.rank(1);
  if (c.has_rank(0) && c.has_rank(1) && c.rank(1) != rank)
    c.fail(Code::bad_model, "its update has another rank than its input");
  Ints axes;
  for (int a = 0; a < rank; ++a) {
    const bool whole =
        c.has_rank(0) && c.has_rank(1) && x->shape()[a] == update->shape()[a] && x->shape()[a] != kUnknownDim;
    if (!whole) axes.push_back(a);
  }
  if (axes.empty()) return {c.identity(update)};
  Value* own = sizes_of(c, x, axes);
  Value* room = c.sub(own, sizes_of(c, update, axes));
  Value* starts = clamped(c, at_axes(c, c.in(2), axes, static_cast<std::size_t>(rank)), room);
  return {updated(c, x, update, starts, axes, 0)};
}

}  // namespace

void register_xla_gather(OpRegistry& r) {
  r.op("XlaGather").ignores({"indices_are_sorted"}).note("rank of the indices known").by(map_gather);
  r.op("XlaDynamicSlice").by(map_dynamic_slice);
  r.op("XlaDynamicUpdateSlice").note("rank known").by(map_dynamic_update_slice);
}

}  // namespace t2o::op_mappers
