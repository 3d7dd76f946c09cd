#include <algorithm>
#include <optional>
#include <string>

#include "op_mappers/all.h"
#include "op_mappers/coordinates.h"
#include "op_mappers/segments.h"

namespace t2o::op_mappers {
namespace {

Value* one(MapperContext& c) { return c.i64(1); }

Value* splits_of(MapperContext& c, Value* lengths) {
  Value* ends = c.cumsum(lengths, c.i64(0), false, false);
  return c.concat({c.ints({0}), ends}, 0);
}

Value* last_of(MapperContext& c, Value* splits) {  // a scalar
  return c.gather(splits, c.i64(-1), 0);
}

Value* rows_of(MapperContext& c, Value* splits) {  // how many: [1]
  Value* one = c.ints({1});
  return c.sub(c.dims(splits, 0, 1), one);
}

// How far each value is from the beginning of its row.
Value* place_in_row(MapperContext& c, Value* splits, Value* rows, Value* count) {
  Value* begin = c.gather(splits, rows, 0);
  return c.sub(iota(c, count), begin);
}

// ---- RaggedRange: for each row start, start + delta ... before limit

Value* range_lengths(MapperContext& c, Value* start, Value* limit, Value* delta) {
  Value* zero = c.i64(0);
  Value* way = c.sub(limit, start);
  if (is_float(start->dtype())) {
    const DType work = is_half(start->dtype()) ? DType::f32 : start->dtype();
    Value* step = c.cast(delta, work);
    Value* quotient = c.ceil(c.div(c.cast(way, work), step));
    return c.maximum(c.cast(quotient, DType::i64), zero);
  }
  way = c.cast(way, DType::i64);
  delta = c.cast(delta, DType::i64);
  Value* sign = c.sign(delta);
  Value* size = c.abs(delta);
  Value* rounding = c.sub(size, one(c));
  Value* rounded = c.add(c.mul(way, sign), rounding);
  return c.div(c.maximum(rounded, zero), size);
}

Value* vector_of(MapperContext& c, Value* v) {
  return v->shape().ranked() && v->shape().rank() == 1 ? v : c.reshape(v, {-1});
}

Values map_range(MapperContext& c) {
  Value* start = vector_of(c, c.in(0));
  Value* delta = vector_of(c, c.in(2));
  Value* lengths = range_lengths(c, start, vector_of(c, c.in(1)), delta);
  Value* splits = splits_of(c, lengths);
  Value* count = last_of(c, splits);
  Value* rows = row_ids(c, splits, count);
  Value* step = c.cast_like(place_in_row(c, splits, rows, count), start);
  Value* shape = c.shape_of(lengths);
  Value* starts = c.gather(c.expand(start, shape), rows, 0);
  Value* deltas = c.gather(c.expand(delta, shape), rows, 0);
  return {c.cast(splits, c.output_dtype()), c.add(starts, c.mul(step, deltas))};
}

// ---- RaggedGather: rows by their numbers, level by level

struct Chosen {
  Value *splits, *values;  // of the rows that are taken; the numbers of what is in them, one level below
};

Chosen choose(MapperContext& c, Value* splits, Value* rows) {
  splits = c.cast(splits, DType::i64);
  Value* begin = c.gather(splits, rows, 0);
  Value* end = c.gather(splits, c.add(rows, one(c)), 0);
  Value* own = splits_of(c, c.sub(end, begin));
  Value* count = last_of(c, own);
  Value* row = row_ids(c, own, count);
  Value* place = place_in_row(c, own, row, count);
  return {own, c.add(c.gather(begin, row, 0), place)};
}

// Indices of several axes make rows of equal length above the ragged ones.
void add_outer_splits(MapperContext& c, Value* indices, int rank, Values& out) {
  const DType type = c.output_dtype();
  for (int i = 0; i + 1 < rank; ++i) {
    Value* rows = c.product(c.dims(indices, 0, i + 1));
    Value* length = c.dim(indices, i + 1);
    Value* count = c.squeeze(c.add(rows, c.ints({1})), {0});
    out.push_back(c.cast(c.mul(iota(c, count), length), type));
  }
}

// As many more as there are axes of indices, less the one that is gathered along.
int rank_of_indices(MapperContext& c, std::size_t levels) {
  const auto ragged_rank = c.attr<std::int64_t>("OUTPUT_RAGGED_RANK");
  const std::int64_t rank = ragged_rank - static_cast<std::int64_t>(levels) + 1;
  if (rank < 0 || rank > 254) c.fail(Code::bad_model, "OUTPUT_RAGGED_RANK does not fit the parameters");
  return static_cast<int>(rank);
}

Values map_gather(MapperContext& c) {
  const auto levels = static_cast<std::size_t>(c.attr<std::int64_t>("PARAMS_RAGGED_RANK"));
  Value* indices = c.cast(c.in(levels + 1), DType::i64);
  const Shape& shape = indices->shape();
  const int rank = shape.ranked() ? shape.rank() : rank_of_indices(c, levels);
  Values out;
  add_outer_splits(c, indices, rank, out);
  const bool single = rank == 0;
  Value* rows = vector_of(c, indices);
  for (std::size_t i = 0; i < levels; ++i) {
    const Chosen chosen = choose(c, c.in(i), rows);
    if (!single || i > 0) out.push_back(c.cast(chosen.splits, c.output_dtype()));
    rows = chosen.values;
  }
  out.push_back(c.gather(c.in(levels), rows, 0));
  if (out.size() != c.node().outputs().size())
    c.fail(Code::bad_model, "OUTPUT_RAGGED_RANK does not fit the indices");
  return out;
}

// ---- coordinates of ragged values

struct Level {
  Value *rows, *places;  // of each value: its row one level above, where it stands in it
};

Level level_of_splits(MapperContext& c, Value* splits) {
  splits = c.cast(splits, DType::i64);
  Value* count = last_of(c, splits);
  Value* rows = row_ids(c, splits, count);
  return {rows, place_in_row(c, splits, rows, count)};
}

Level level_of_rowids(MapperContext& c, Value* rows) {
  rows = c.cast(rows, DType::i64);
  const Values u = c.emit_n("Unique", {rows}, {{"sorted", 0}}, 4);
  Value* begin = c.gather(u[1], u[2], 0);
  return {rows, c.sub(iota(c, c.dim(rows, 0)), begin)};
}

Value* longest(MapperContext& c, const Level& l) {  // [1]
  Value* last = c.reduce("ReduceMax", c.concat({c.ints({-1}), l.places}, 0), Ints{0}, true);
  return c.add(last, c.ints({1}));
}

struct Ragged {
  Value* coordinates;  // [values, levels + 1]
  Value* dims;         // [levels + 1], as far as values reach
};

Ragged coordinates_of(MapperContext& c, Value* row_count, const std::vector<Level>& levels) {
  Values columns, dims{row_count};
  for (const Level& l : levels) {
    for (Value*& column : columns) column = c.gather(column, l.rows, 0);
    if (columns.empty()) columns.push_back(c.unsqueeze(l.rows, {1}));
    columns.push_back(c.unsqueeze(l.places, {1}));
    dims.push_back(longest(c, l));
  }
  return {c.concat(columns, 1), c.concat(dims, 0)};
}

struct Partition {
  Value* row_count;  // [1]
  std::vector<Level> levels;
};

Partition partition_of(MapperContext& c, std::size_t first) {
  const auto types = c.attr<Strings>("row_partition_types");
  const auto n = static_cast<std::size_t>(c.attr<std::int64_t>("num_row_partition_tensors"));
  if (types.size() != n || n == 0)
    c.fail(Code::bad_model, "row_partition_types does not fit the partition tensors");
  Partition p{};
  for (std::size_t i = 0; i < n; ++i) {
    Value* tensor = c.in(first + i);
    if (types[i] == "FIRST_DIM_SIZE" && i == 0) {
      p.row_count = as_vector(c, tensor);
    } else if (types[i] == "ROW_SPLITS") {
      if (i == 0) p.row_count = rows_of(c, tensor);
      p.levels.push_back(level_of_splits(c, tensor));
    } else if (types[i] == "VALUE_ROWIDS" && i > 0) {
      p.levels.push_back(level_of_rowids(c, tensor));
    } else {
      c.fail(Code::unsupported_attr, "row partition " + std::to_string(i) + " of type \"" + types[i] + "\"");
    }
  }
  return p;
}

// The sizes asked for where they are not -1. Those of the values themselves can only be what they are.
Value* wanted_dims(MapperContext& c, std::size_t ragged_axes, Value* natural) {
  Value* shape = c.cast(c.in(0), DType::i64);
  if (shape->shape().is_scalar()) return natural;  // nothing is known, not even the rank
  if (const auto known = constant_ints(shape)) {
    const auto end = known->begin() + static_cast<std::ptrdiff_t>(std::min(ragged_axes, known->size()));
    if (std::all_of(known->begin(), end, [](std::int64_t d) { return d < 0; })) return natural;
    if (std::ranges::all_of(*known, [](std::int64_t d) { return d >= 0; })) return shape;
  }
  Value* open = c.less(shape, c.i64(0));
  return c.where(open, natural, shape);
}

// Values beyond the sizes asked for are left out.
Values tensor_by_scatter(MapperContext& c) {
  Value* values = c.in(1);
  const Partition p = partition_of(c, 3);
  if (p.levels.empty()) c.fail(Code::unsupported_attr, "a ragged tensor without rows");
  const auto width = static_cast<std::int64_t>(p.levels.size()) + 1;
  const Ragged ragged = coordinates_of(c, p.row_count, p.levels);
  Value* natural = c.concat({ragged.dims, c.dims(values, 1, onnx::kToEnd)}, 0);
  Value* dims = wanted_dims(c, p.levels.size() + 1, natural);
  Value* blank = c.expand(c.in(2), dims);
  Value* coordinates = ragged.coordinates;
  if (dims != natural) {
    Value* outer = c.slice(dims, {0}, {width}, {0});
    Value* within = c.cast(c.less(coordinates, outer), DType::i32);
    Value* all = c.cast(c.reduce("ReduceMin", within, Ints{1}, false), DType::boolean);
    const Attrs axis{{"axis", 0}};
    coordinates = c.emit("Compress", {coordinates, all}, axis);
    values = c.emit("Compress", {values, all}, axis);
  }
  return {c.emit("ScatterND", {blank, coordinates, values})};
}

// Where the sizes asked for are known: all -1 where there is no shape.
std::optional<Ints> known_sizes(MapperContext& c, std::size_t ragged_axes) {
  const auto types = c.attr<Strings>("row_partition_types");
  const bool all_splits = std::ranges::all_of(types, [](const std::string& t) { return t == "ROW_SPLITS"; });
  if (!all_splits || types.empty()) return std::nullopt;
  if (c.in(0)->shape().is_scalar()) return Ints(ragged_axes, -1);
  auto sizes = c.maybe_ints(0);
  if (sizes && sizes->size() < ragged_axes)
    c.fail(Code::bad_model, "the shape has fewer axes than the ragged tensor");
  return sizes;
}

struct Bounds {
  Value *begin, *length;  // of rows, in the level below
};

// A row that is not there ends where it begins.
Bounds bounds_at(MapperContext& c, Value* splits, Value* rows) {
  Value* more = c.concat({splits, c.slice(splits, {-1}, {onnx::kToEnd}, {0})}, 0);
  Value* begin = c.gather(more, rows, 0);
  Value* end = c.gather(more, c.add(rows, one(c)), 0);
  return {begin, c.sub(end, begin)};
}

Bounds all_bounds(MapperContext& c, Value* splits) {
  Value* begin = c.slice(splits, {0}, {-1}, {0});
  Value* end = c.slice(splits, {1}, {onnx::kToEnd}, {0});
  return {begin, c.sub(end, begin)};
}

Value* longest_row(MapperContext& c, const Bounds& all) {
  return c.reduce("ReduceMax", c.concat({c.ints({0}), all.length}, 0), Ints{0}, false);
}

// The numbers of the values in the rows, `none` behind the last of each.
Value* padded_places(MapperContext& c, const Bounds& rows, Value* width, Value* none) {
  Value* place = iota(c, width);
  Value* there = c.less(place, c.unsqueeze(rows.length, {-1}));
  Value* number = c.add(c.unsqueeze(rows.begin, {-1}), place);
  return c.where(there, number, none);
}

// Level by level the number of what stands at each place; the default is a value behind all others. A size of
// -1 is that of the longest row, also when that is left out.
Values tensor_by_gather(MapperContext& c, const Ints& sizes) {
  Value* values = c.in(1);
  const auto levels = static_cast<std::size_t>(c.attr<std::int64_t>("num_row_partition_tensors"));
  Value* places = nullptr;
  for (std::size_t i = 0; i < levels; ++i) {
    Value* splits = c.cast(c.in(3 + i), DType::i64);
    if (i == 0 && sizes[0] >= 0) {
      Value* rows = iota(c, c.constant(sizes[0]));
      places = c.minimum(rows, rows_of(c, splits));
    }
    const bool open = sizes[i + 1] < 0;
    const Bounds all = open || !places ? all_bounds(c, splits) : Bounds{};
    Value* width = open ? longest_row(c, all) : c.constant(sizes[i + 1]);
    const Bounds rows = places ? bounds_at(c, splits, places) : all;
    Value* none = i + 1 == levels ? c.dim(values, 0) : last_of(c, splits);
    places = padded_places(c, rows, width, none);
  }
  Value* fill = segment_blank(c, values, c.ints({1}), c.in(2));
  return {c.gather(c.concat({values, fill}, 0), places, 0)};
}

Values map_to_tensor(MapperContext& c) {
  const auto levels = static_cast<std::size_t>(c.attr<std::int64_t>("num_row_partition_tensors"));
  const auto sizes = known_sizes(c, levels + 1);
  return sizes ? tensor_by_gather(c, *sizes) : tensor_by_scatter(c);
}

// Values that are tensors themselves have further coordinates, of all their elements.
Values map_to_sparse(MapperContext& c) {
  const auto n = static_cast<std::size_t>(c.attr<std::int64_t>("RAGGED_RANK"));
  Value* values = c.in(n);
  std::vector<Level> levels;
  for (std::size_t i = 0; i < n; ++i) levels.push_back(level_of_splits(c, c.in(i)));
  Value* row_count = rows_of(c, c.in(0));
  const Ragged ragged = coordinates_of(c, row_count, levels);
  if (values->shape().ranked() && values->shape().rank() == 1)
    return {ragged.coordinates, values, ragged.dims};
  Value* inner = c.dims(values, 1, onnx::kToEnd);
  Value* elements = c.squeeze(c.product(inner), {0});
  Value* all = iota(c, c.size_of(values));
  Value* per_value = c.maximum(elements, one(c));
  Value* outer = c.gather(ragged.coordinates, c.div(all, per_value), 0);
  Value* within = unravel(c, c.mod(all, per_value), inner);
  return {c.concat({outer, within}, 1), c.reshape(values, {-1}), c.concat({ragged.dims, inner}, 0)};
}

}  // namespace

void register_ragged(OpRegistry& r) {
  r.op("RaggedRange").by(map_range);
  r.op("RaggedGather").ignores({"OUTPUT_RAGGED_RANK"}).by(map_gather);
  r.op("RaggedTensorToTensor").by(map_to_tensor);
  r.op("RaggedTensorToSparse").by(map_to_sparse);
}

}  // namespace t2o::op_mappers
