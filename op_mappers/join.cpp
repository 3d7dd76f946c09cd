#include "op_mappers/all.h"
#include "op_mappers/numbers.h"
#include "op_mappers/three_axes.h"

namespace t2o::op_mappers {
namespace {

std::optional<std::int64_t> concat_axis(MapperContext& c, std::size_t axis_input, const Values& values) {
  if (auto axis = c.maybe_ints(axis_input); axis && axis->size() == 1) return (*axis)[0];
  for (const Value* v : values)
    if (v->shape().ranked() && v->shape().rank() == 1) return 0;  // the only axis there is
  return std::nullopt;
}

Value* concatenate(MapperContext& c, Values values, std::int64_t axis) {
  if (values.empty()) c.fail(Code::bad_model, "there is nothing to concatenate");
  return values.size() == 1 ? c.identity(values[0]) : c.concat(std::move(values), axis);
}

// An axis that is known at run time only is the middle one of three.
Value* concatenate_at_run_time(MapperContext& c, Value* axis, const Values& values) {
  Value* at = counted_from_front(c, axis, values[0]);
  const Sides s = sides(c, values[0], at);
  Values threes;
  for (Value* v : values) threes.push_back(as_three(c, v, v == values[0] ? s : sides(c, v, at)));
  return from_three(c, c.concat(threes, 1), s);
}

Value* concatenate_along(MapperContext& c, std::size_t axis_input, const Values& values) {
  const auto axis = concat_axis(c, axis_input, values);
  if (axis || values.size() < 2) return concatenate(c, values, axis.value_or(0));
  return concatenate_at_run_time(c, c.in(axis_input), values);
}

Values map_concat(MapperContext& c) {
  const Values values(c.inputs().begin() + 1, c.inputs().end());
  return {concatenate_along(c, 0, values)};
}
Values map_concat_v2(MapperContext& c) {
  if (c.input_count() == 0) c.fail(Code::bad_model, "there is nothing to concatenate");
  const Values values(c.inputs().begin(), c.inputs().end() - 1);
  return {concatenate_along(c, c.input_count() - 1, values)};
}

// offset i: along concat_dim the sum of the sizes before i, elsewhere 0
Values map_concat_offset(MapperContext& c) {
  Value* rank = c.size_of(c.in(1));
  Value* axes = iota(c, rank);
  Value* axis = c.cast(c.in(0), DType::i64);
  Value* wrapped = c.where(c.less(axis, c.scalar(DType::i64, 0)), c.add(axis, rank), axis);
  Value* on_axis = c.equal(axes, wrapped);
  Value* zeros = c.scalar_like(c.in(1), 0);
  Value* sum = c.mul(c.in(1), zeros);
  Values offsets;
  for (std::size_t i = 1; i < c.input_count(); ++i) {
    offsets.push_back(c.where(on_axis, sum, zeros));
    sum = c.add(sum, c.in(i));
  }
  return offsets;
}

Values map_pack(MapperContext& c) {
  const auto axis = c.attr_or<std::int64_t>("axis", 0);
  Values parts;
  for (Value* v : c.inputs()) parts.push_back(c.unsqueeze(v, {axis}));
  return {concatenate(c, parts, axis)};
}

// Each input is one row of the result already: [1, ...]
Values map_parallel_concat(MapperContext& c) { return {concatenate(c, c.inputs(), 0)}; }

Values map_tile(MapperContext& c) { return {c.tile(c.in(0), c.cast(c.in(1), DType::i64))}; }

}  // namespace

void register_join(OpRegistry& r) {
  r.op("Concat").ignores({"N"}).by(map_concat);
  r.op("ConcatV2").ignores({"N"}).by(map_concat_v2);
  r.op("ConcatOffset").ignores({"N"}).by(map_concat_offset);
  r.op("Pack").ignores({"N"}).by(map_pack);
  r.op("ParallelConcat").ignores({"N", "shape"}).by(map_parallel_concat);
  r.op("Tile").by(map_tile);
}

}  // namespace t2o::op_mappers
