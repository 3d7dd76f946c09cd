#include <limits>

#include "op_mappers/all.h"
#include "op_mappers/coordinates.h"
#include "op_mappers/loop.h"
#include "op_mappers/segments.h"

// Levenshtein distances of the sequences along the last axis of two sparse tensors, all sequences at once.
namespace t2o::op_mappers {
namespace {

Value* one(Emitter& e) { return e.i64(1); }

struct Sequences {
  Value* lengths;  // [groups]
  Value* symbols;  // [groups, longest]
};

Value* outer(MapperContext& c, Value* v, std::int64_t axis) { return c.slice(v, {0}, {-1}, {axis}); }

// Numbers that are equal where the symbols are.
std::pair<Value*, Value*> comparable(MapperContext& c) {
  Value* a = c.in(1);
  Value* b = c.in(4);
  if (!is_float(a->dtype()) && a->dtype() != DType::string)
    return {c.cast(a, DType::i64), c.cast(b, DType::i64)};
  const Values u = c.emit_n("Unique", {c.concat({a, b}, 0)}, {{"sorted", 0}}, 4);
  Value* count = c.dims(a, 0, 1);
  return {head(c, u[2], count), after(c, u[2], count)};
}

Sequences sequences(MapperContext& c, By by, std::size_t first, Value* symbols, Value* dims, Value* count) {
  Value* ids = ravel(c, outer(c, c.in(first), 1), dims);
  Value* lengths = segment_sizes(c, by, ids, count);
  Value* longest = c.reduce("ReduceMax", c.concat({c.ints({0}), lengths}, 0), Ints{0}, true);
  Value* begins = c.cumsum(lengths, c.i64(0), true, false);
  Value* place = c.sub(iota(c, c.dim(ids, 0)), c.gather(begins, ids, 0));
  Value* at = c.concat({c.unsqueeze(ids, {1}), c.unsqueeze(place, {1})}, 1);
  Value* none = c.expand(c.i64(0), c.concat({count, longest}, 0));
  return {lengths, c.emit("ScatterND", {none, at, symbols})};
}

// d[j] for the next symbol: the minimum of d[j] + 1, d[j - 1] + (symbols differ), and the new d[j - 1] + 1.
// The last one is a running minimum of the values minus their places.
Value* next_row(Emitter& e, Value* d, Value* symbol, Value* truth, Value* places) {
  Value* differs = e.logical_not(e.equal(symbol, truth));
  Value* exchanged = e.add(e.slice(d, {0}, {-1}, {1}), e.cast(differs, DType::i64));
  Value* dropped = e.add(d, one(e));
  Value* rest = e.minimum(e.slice(dropped, {1}, {std::numeric_limits<std::int64_t>::max()}, {1}), exchanged);
  Value* row = e.concat({e.slice(dropped, {0}, {1}, {1}), rest}, 1);
  Value* lowered = e.unsqueeze(e.sub(row, places), {1});
  Value* is_left = e.less_equal(places, e.unsqueeze(places, {1}));
  Value* far = e.i64(std::numeric_limits<std::int32_t>::max());
  Value* least = e.reduce("ReduceMin", e.where(is_left, lowered, far), Ints{-1}, false);
  return e.add(least, places);
}

// Infinite where only the truth is empty, as a quotient by its length.
template <By by>
Values map_edit_distance(MapperContext& c) {
  Value* dims = c.maximum(outer(c, c.cast(c.in(2), DType::i64), 0), outer(c, c.cast(c.in(5), DType::i64), 0));
  Value* count = c.product(dims);
  const auto [a, b] = comparable(c);
  const Sequences made = sequences(c, by, 0, a, dims, count);
  const Sequences truth = sequences(c, by, 3, b, dims, count);
  Value* places = iota(c, c.add(c.dim(truth.symbols, 1), one(c)));
  Value* start = c.expand(places, c.concat({count, c.ints({1})}, 0));
  Value* lengths = c.unsqueeze(made.lengths, {1});
  const auto step = [&](Emitter& e, Value* k, const Values& state) -> Values {
    Value* symbol = e.gather(made.symbols, k, 1);
    Value* row = next_row(e, state[0], symbol, truth.symbols, places);
    return {e.where(e.less(k, lengths), row, state[0])};
  };
  Value* d = counted_loop(c, c.dim(made.symbols, 1), {start}, step)[0];
  Value* ends = c.unsqueeze(truth.lengths, {1});
  Value* last = c.squeeze(c.emit("GatherElements", {d, ends}, {{"axis", 1}}), {1});
  Value* distance = c.cast(last, DType::f32);
  if (c.attr_or<std::int64_t>("normalize", 1) != 0) {
    Value* quotient = c.div(distance, c.cast(truth.lengths, DType::f32));
    Value* zero = c.scalar(DType::f32, 0);
    distance = c.where(c.equal(distance, zero), zero, quotient);
  }
  return {c.reshape_to(distance, dims)};
}

}  // namespace

void register_edit_distance(OpRegistry& r) {
  const std::string note = "memory of the sequences times the square of the longest truth";
  r.op("EditDistance").note(note).by(map_edit_distance<By::compare>);
  r.op("EditDistance").since(16).note(note).by(map_edit_distance<By::scatter>);
}

}  // namespace t2o::op_mappers
