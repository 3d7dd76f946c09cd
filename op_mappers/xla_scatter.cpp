#include <algorithm>

#include "onnx/facts.h"
#include "op_mappers/all.h"
#include "op_mappers/numbers.h"
#include "op_mappers/scatter.h"
#include "op_mappers/xla_index.h"

// XlaScatter. An update that does not lie inside the operand as a whole is left out.
namespace t2o::op_mappers {
namespace {

struct ScatterNumbers {
  Ints window, inserted, mapped, own, batch;
  std::int64_t vector_axis, rank;
  Ints kept;  // the operand's axes that the updates have: kept[i] is window[i] there
};

ScatterNumbers scatter_numbers(MapperContext& c) {
  const XlaMessage m(c, "dimension_numbers", {1, 2, 3, 4, 5, 6});
  ScatterNumbers n{m.list(1), m.list(2), m.list(3), m.list(5), m.list(6), m.number(4), 0, {}};
  n.rank = static_cast<std::int64_t>(n.window.size() + n.inserted.size() + n.own.size());
  if (c.has_rank(0) && c.rank(0) != n.rank)
    c.fail(Code::bad_model, "dimension_numbers does not make up the operand's axes");
  check_axes(c, joined(n.inserted, n.own), n.rank, "dimension_numbers");
  check_axes(c, joined(n.mapped, n.own), n.rank, "dimension_numbers");
  for (std::int64_t a = 0; a < n.rank; ++a)
    if (!has_axis(n.inserted, a) && !has_axis(n.own, a)) n.kept.push_back(a);
  return n;
}

// Of the updates along an axis of the operand.
Dim window_size(const ScatterNumbers& n, const Value* updates, std::int64_t axis) {
  for (std::size_t i = 0; i < n.kept.size(); ++i)
    if (n.kept[i] == axis)
      return updates->shape().ranked() ? updates->shape()[static_cast<int>(n.window[i])] : kUnknownDim;
  return 1;
}

// Axes without coordinates begin at 0; where the updates do not have them as a whole that is a coordinate
// too.
void add_beginnings(MapperContext& c, const ScatterNumbers& n, Coordinates& at) {
  for (std::int64_t a = 0; a < n.rank; ++a) {
    if (has_axis(at.axes, a)) continue;
    const Dim own = c.has_rank(0) ? c.in(0)->shape()[static_cast<int>(a)] : kUnknownDim;
    if (own != kUnknownDim && own == window_size(n, c.in(2), a)) continue;
    Value* dims = at.values ? c.dims(at.values, 0, at.batch_rank) : nullptr;
    if (!dims) c.fail(Code::unsupported_attr, "indices without coordinates have no ONNX form");
    Value* zero = c.i64(0);
    Value* zeros = c.expand(zero, c.concat({dims, c.ints({1})}, 0));
    at.values = c.concat({at.values, zeros}, -1);
    at.axes.push_back(a);
  }
}

struct Sizes {  // of an update along the coordinates' axes
  Ints known;
  Value* runtime;
};

Sizes update_sizes(MapperContext& c, const ScatterNumbers& n, const Coordinates& at) {
  Sizes s{{}, nullptr};
  Values each;
  for (const std::int64_t a : at.axes) {
    const Dim known = window_size(n, c.in(2), a);
    s.known.push_back(known);
    const auto kept = static_cast<std::size_t>(std::ranges::find(n.kept, a) - n.kept.begin());
    each.push_back(is_known(known) ? c.ints({known}) : sizes_of(c, c.in(2), {n.window[kept]}));
  }
  s.runtime = each.size() == 1 ? each[0] : c.concat(each, 0);
  return s;
}

// [batch..., 1]: some coordinate is below 0, or too high for the update to fit; null where that is known
// never to be.
Value* outside(MapperContext& c, const Coordinates& at, Value* sizes) {
  Value* room = c.sub(sizes_of(c, c.in(0), at.axes), sizes);
  Value* below = c.less(at.values, c.i64(0));
  Value* above = c.greater(at.values, room);
  Value* any = c.logical_or(below, above);
  if (at.axes.size() != 1)
    any = c.cast(c.reduce("ReduceMax", c.cast(any, DType::i32), Ints{at.batch_rank}, true), DType::boolean);
  return onnx::numbers_of(any).high > 0 ? any : nullptr;
}

// As [batch..., windows..., the operand's other axes].
Value* arranged_updates(MapperContext& c, const ScatterNumbers& n, const Coordinates& at) {
  const auto rank = static_cast<std::int64_t>(at.batch_rank) + static_cast<std::int64_t>(n.window.size());
  if (c.has_rank(2) && c.rank(2) != rank)
    c.fail(Code::bad_model, "update_window_dims and the indices do not make up the updates' axes");
  check_axes(c, n.window, rank, "update_window_dims");
  Ints perm;
  for (std::int64_t a = 0; a < rank; ++a)
    if (!has_axis(n.window, a)) perm.push_back(a);
  const auto add = [&](std::int64_t axis) {
    for (std::size_t i = 0; i < n.kept.size(); ++i)
      if (n.kept[i] == axis) perm.push_back(n.window[i]);
  };
  for (const std::int64_t a : at.axes) add(a);
  for (const std::int64_t a : n.kept)
    if (!has_axis(at.axes, a)) add(a);
  return c.transpose(c.in(2), perm);
}

Reduction reduction(Combiner how) {
  if (how == Combiner::add) return Reduction::add;
  if (how == Combiner::mul) return Reduction::mul;
  return how == Combiner::max || how == Combiner::logical_or ? Reduction::max : Reduction::min;
}

struct Ways {  // which the opset has for sums and products, and for the highest and the lowest
  By sums, extrema;
};

Value* scattered(MapperContext& c, Combiner how, Ways ways, Value* x, Value* places, Value* updates) {
  if (how == Combiner::second) return c.emit("ScatterND", {x, places, updates});
  const Reduction r = reduction(how);
  const bool sums = r == Reduction::add || r == Reduction::mul;
  if (x->dtype() == DType::boolean) {
    Value* from = c.cast(updates, DType::i32);
    Value* to = c.cast(x, DType::i32);
    return c.cast(scatter_combined(c, ways.extrema, r, to, places, from), DType::boolean);
  }
  return scatter_combined(c, sums ? ways.sums : ways.extrema, r, x, places, updates);
}

template <By sums, By extrema>
Values map_scatter(MapperContext& c) {
  const Combiner how = combiner(c, *c.attr<GraphPtr>("update_computation"));
  const ScatterNumbers n = scatter_numbers(c);
  Coordinates at = read_coordinates(c, c.in(1), n.mapped, n.vector_axis, n.own, n.batch);
  add_beginnings(c, n, at);
  Value* updates = arranged_updates(c, n, at);
  if (!at.values) {
    if (at.batch_rank != 0) c.fail(Code::unsupported_attr, "indices without coordinates have no ONNX form");
    return {how == Combiner::second ? c.identity(updates) : combine(c, how, c.in(0), updates)};
  }
  const Sizes sizes = update_sizes(c, n, at);
  std::vector<bool> windows;
  Ints order = at.axes, fresh, back(static_cast<std::size_t>(n.rank));
  for (const std::int64_t a : at.axes) {
    windows.push_back(has_axis(n.kept, a));
    if (windows.back()) fresh.push_back(at.batch_rank + static_cast<std::int64_t>(fresh.size()));
  }
  for (const std::int64_t a : n.kept)
    if (!has_axis(at.axes, a)) order.push_back(a);
  for (std::size_t i = 0; i < order.size(); ++i) nth(back, order[i]) = static_cast<std::int64_t>(i);
  Value* x = c.transpose(c.in(0), order);
  Value* places = with_windows(c, at, sizes.known, sizes.runtime, windows);
  Value* lost = outside(c, at, sizes.runtime);
  if (!lost) return {c.transpose(scattered(c, how, {sums, extrema}, x, places, updates), back)};
  // one more row takes what is outside
  Value* rows = c.dims(x, 0, 1);
  Ints pads(2 * static_cast<std::size_t>(n.rank), 0);
  nth(pads, n.rank) = 1;
  Value* nothing = zero_of(c, x->dtype());
  Value* longer = c.pad(x, c.ints(pads), nothing);
  Value* there = at.axes.size() == 1 ? rows : c.concat({rows, c.ints(Ints(at.axes.size() - 1, 0))}, 0);
  if (!fresh.empty()) lost = c.unsqueeze(lost, fresh);
  places = c.where(lost, there, places);
  Value* y = scattered(c, how, {sums, extrema}, longer, places, updates);
  return {c.transpose(head(c, y, rows), back)};
}

}  // namespace

void register_xla_scatter(OpRegistry& r) {
  const std::string note =
      "the update replaces, or is added, multiplied, the highest, the lowest, a logical and or or; the rank "
      "of the indices known; a NaN among the updates of a maximum or minimum is ignored";
  r.op("XlaScatter").ignores({"indices_are_sorted"}).note(note).by(map_scatter<By::compare, By::compare>);
  r.op("XlaScatter")
      .since(16)
      .ignores({"indices_are_sorted"})
      .note(note)
      .by(map_scatter<By::scatter, By::compare>);
  r.op("XlaScatter")
      .since(18)
      .ignores({"indices_are_sorted"})
      .note(note)
      .by(map_scatter<By::scatter, By::scatter>);
}

}  // namespace t2o::op_mappers
