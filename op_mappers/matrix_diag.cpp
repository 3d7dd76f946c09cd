#include <cstdint>
#include <optional>
#include <string>

#include "op_mappers/all.h"
#include "op_mappers/diag_band.h"
#include "op_mappers/numbers.h"

namespace t2o::op_mappers {
namespace {

struct Grid {
  Value *row, *column;  // [rows, 1] and [columns]
};
Grid grid(MapperContext& c, Value* rows, Value* columns) {
  Value* row = c.unsqueeze(iota(c, rows), {1});
  return {row, iota(c, columns)};
}

Value* on_diagonal(MapperContext& c, const Grid& g, std::int64_t k) {  // column - row == k
  return c.equal(k == 0 ? g.row : c.add(g.row, c.constant(k)), g.column);
}

// One element more, where there may be none to read.
Value* never_empty(MapperContext& c, Value* diagonal) {
  const Shape& s = diagonal->shape();
  if (s.ranked() && s.rank() > 0 && s[-1] > 0) return diagonal;
  Value* before = c.slice(c.shape_of(diagonal), {0}, {-1}, {0});
  Value* one = c.expand(c.scalar_like(diagonal, 0), c.concat({before, c.ints({1})}, 0));
  return c.concat({diagonal, one}, -1);
}

// The element of a diagonal that lies at (row, column): its min(row, column)th.
Value* spread(MapperContext& c, Value* diagonal, const Grid& g) {
  Value* length = c.dim(diagonal, -1);
  Value* last = c.sub(length, c.i64(1));
  diagonal = never_empty(c, diagonal);
  Value* at = c.minimum(c.minimum(g.row, g.column), last);
  return c.gather(diagonal, at, -1);
}

// One diagonal known at conversion time.
std::optional<std::int64_t> single_k(MapperContext& c, std::size_t input) {
  const auto k = c.maybe_ints(input);
  if (!k || k->empty() || k->size() > 2 || (k->size() == 2 && (*k)[0] != (*k)[1])) return std::nullopt;
  c.attr_or<std::string>("align", "");  // matters for several diagonals only
  return (*k)[0];
}

Value* place_diagonal(MapperContext& c, Value* diagonal, std::int64_t k, Value* rows, Value* columns,
                      Value* padding) {
  const Grid g = grid(c, rows, columns);
  Value* mask = on_diagonal(c, g, k);
  if (k == 0 && rows == columns) return c.where(mask, c.unsqueeze(diagonal, {-1}), padding);
  Value* values = spread(c, diagonal, g);
  return c.where(mask, values, padding);
}

Values map_matrix_diag(MapperContext& c) {
  Value* n = c.dim(c.in(0), -1);
  return {place_diagonal(c, c.in(0), 0, n, n, c.scalar_like(c.in(0), 0))};
}

Values map_matrix_diag_v3(MapperContext& c) {
  const auto single = single_k(c, 1);
  if (!single || !c.maybe_ints(2) || !c.maybe_ints(3)) return {band_to_matrix(c)};
  const std::int64_t k = *single, rows = c.const_int(2), columns = c.const_int(3);
  Value* n = c.dim(c.in(0), -1);
  const bool square = rows < 0 && columns < 0;  // else what is not given is as small as can be
  const std::int64_t offset = k < 0 ? -k : k;
  const auto side = [&](std::int64_t wanted, bool longer) {
    if (wanted >= 0) return c.constant(wanted);
    return longer && offset != 0 ? c.add(n, c.constant(offset)) : n;
  };
  Value* height = side(rows, square || k < 0);
  Value* width = square ? height : side(columns, k > 0);
  return {place_diagonal(c, c.in(0), k, height, width, c.in(4))};
}

// The diagonal's elements are columns + 1 apart in the flat matrix.
Value* take_diagonal(MapperContext& c, Value* x, std::int64_t k) {
  Value* rows = c.dim(x, -2);
  Value* columns = c.dim(x, -1);
  Value* one = c.i64(1);
  Value* offset = c.constant(k < 0 ? -k : k);
  Value* start = k < 0 ? c.mul(columns, offset) : offset;
  Value* length = c.minimum(k < 0 ? c.sub(rows, offset) : rows, k > 0 ? c.sub(columns, offset) : columns);
  Value* step = c.add(columns, one);
  Value* end = c.add(start, c.mul(length, step));
  Value* flat = c.reshape_to(x, c.concat({c.dims(x, 0, -2), c.unsqueeze(c.mul(rows, columns), {0})}, 0));
  const auto vector = [&](Value* v) { return c.unsqueeze(v, {0}); };
  Value* from = vector(start);
  Value* to = vector(end);
  return c.slice(flat, from, to, c.ints({-1}), vector(step));
}

Values map_matrix_diag_part(MapperContext& c) { return {take_diagonal(c, c.in(0), 0)}; }
Values map_matrix_diag_part_v3(MapperContext& c) {
  const auto k = single_k(c, 1);
  return {k ? take_diagonal(c, c.in(0), *k) : band_of_matrix(c)};
}

Value* set_diagonal(MapperContext& c, std::int64_t k) {
  Value* x = c.in(0);
  const Grid g = grid(c, c.dim(x, -2), c.dim(x, -1));
  Value* mask = on_diagonal(c, g, k);
  Value* values = spread(c, c.in(1), g);
  return c.where(mask, values, x);
}
Values map_matrix_set_diag(MapperContext& c) { return {set_diagonal(c, 0)}; }
Values map_matrix_set_diag_v3(MapperContext& c) {
  const auto k = single_k(c, 2);
  return {k ? set_diagonal(c, *k) : matrix_with_band(c)};
}

// in_band(m, n) = (lower < 0 or m - n <= lower) and (upper < 0 or n - m <= upper)
Values map_matrix_band_part(MapperContext& c) {
  Value* x = c.in(0);
  const Grid g = grid(c, c.dim(x, -2), c.dim(x, -1));
  Value* below = c.sub(g.row, g.column);
  const auto within = [&](Value* distance, std::size_t input) {
    Value* limit = c.cast(c.in(input), DType::i64);
    Value* all = c.less(limit, c.i64(0));
    return c.logical_or(all, c.less_equal(distance, limit));
  };
  Value* lower = within(below, 1);
  Value* upper = within(c.neg(below), 2);
  return {c.where(c.logical_and(lower, upper), x, c.scalar_like(x, 0))};
}

// Trilu's k counts diagonals upwards from the main one: keep from -lower on, then up to upper.
Values map_matrix_band_part_14(MapperContext& c) {
  Value* x = c.in(0);
  const auto lower = c.maybe_ints(1), upper = c.maybe_ints(2);
  if (!lower || !upper || lower->size() != 1 || upper->size() != 1) return map_matrix_band_part(c);
  if ((*lower)[0] >= 0) x = c.emit("Trilu", {x, c.constant(-(*lower)[0])}, {{"upper", 1}});
  if ((*upper)[0] >= 0) x = c.emit("Trilu", {x, c.constant((*upper)[0])}, {{"upper", 0}});
  return {x};
}

// Diag: a tensor of shape s becomes one of shape s + s; as a vector it is a MatrixDiag.
Values map_diag(MapperContext& c) {
  Value* shape = c.shape_of(c.in(0));
  Value* flat = c.reshape(c.in(0), {-1});
  Value* n = c.dim(flat, 0);
  Value* matrix = place_diagonal(c, flat, 0, n, n, c.scalar_like(flat, 0));
  return {c.reshape_to(matrix, c.concat({shape, shape}, 0))};
}

Value* first_half(MapperContext& c, Value* x) {  // of the dims
  if (x->shape().ranked()) return c.dims(x, 0, x->shape().rank() / 2);
  Value* half = c.unsqueeze(c.div(c.rank_of(x), c.i64(2)), {0});
  Value* first = c.ints({0});
  return c.slice(c.shape_of(x), first, half, c.ints({0}));
}

Values map_diag_part(MapperContext& c) {
  if (c.has_rank(0) && (c.rank(0) == 0 || c.rank(0) % 2 != 0))
    c.fail(Code::bad_model, "DiagPart wants an even rank");
  Value* shape = first_half(c, c.in(0));
  Value* n = c.emit("ReduceProd", {shape}, {{"keepdims", 1}});
  Value* matrix = c.reshape_to(c.in(0), c.concat({n, n}, 0));
  return {c.reshape_to(take_diagonal(c, matrix, 0), shape)};
}

}  // namespace

void register_matrix_diag(OpRegistry& r) {
  r.op("MatrixDiag", "BatchMatrixDiag").by(map_matrix_diag);
  r.op("MatrixDiagV2", "MatrixDiagV3").by(map_matrix_diag_v3);
  r.op("MatrixDiagPart", "BatchMatrixDiagPart").by(map_matrix_diag_part);
  r.op("MatrixDiagPartV2", "MatrixDiagPartV3").by(map_matrix_diag_part_v3);
  r.op("MatrixSetDiag", "BatchMatrixSetDiag").by(map_matrix_set_diag);
  r.op("MatrixSetDiagV2", "MatrixSetDiagV3").by(map_matrix_set_diag_v3);
  r.op("MatrixBandPart", "BatchMatrixBandPart").by(map_matrix_band_part);
  r.op("MatrixBandPart", "BatchMatrixBandPart").since(14).by(map_matrix_band_part_14);
  r.op("Diag").by(map_diag);
  r.op("DiagPart").by(map_diag_part);
}

}  // namespace t2o::op_mappers
