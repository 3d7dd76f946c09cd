#include <limits>

#include "op_mappers/all.h"

namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min(),
                       kLast = std::numeric_limits<std::int64_t>::max();

Value* reversed(MapperContext& c, const Ints& axes) {
  if (axes.empty()) return c.in(0);
  const std::size_t n = axes.size();
  return c.slice(c.in(0), Ints(n, kLast), Ints(n, kFirst), axes, Ints(n, -1));
}

Values map_reverse(MapperContext& c) {
  const Ints flags = c.const_ints(1);
  Ints axes;
  for (std::size_t i = 0; i < flags.size(); ++i)
    if (flags[i] != 0) axes.push_back(static_cast<std::int64_t>(i));
  return {reversed(c, axes)};
}

Values map_reverse_v2(MapperContext& c) {
  if (const auto axes = c.maybe_ints(1)) return {reversed(c, *axes)};
  if (c.in(0)->shape().is_scalar()) return {c.in(0)};
  Value* axes = c.cast(c.in(1), DType::i64);
  Value* count = c.shape_of(axes);
  Value* starts = c.expand(c.constant(kLast), count);
  Value* ends = c.expand(c.constant(kFirst), count);
  Value* steps = c.expand(c.constant<std::int64_t>(-1), count);
  return {c.slice(c.in(0), starts, ends, axes, steps)};
}

// ONNX wants time and batch on the first two axes.
Values map_reverse_sequence(MapperContext& c) {
  Value* lengths = c.cast(c.in(1), DType::i64);
  const auto time = c.attr<std::int64_t>("seq_dim"), batch = c.attr<std::int64_t>("batch_dim");
  const auto reverse = [&](Value* x, std::int64_t time_axis, std::int64_t batch_axis) {
    return c.emit("ReverseSequence", {x, lengths}, {{"batch_axis", batch_axis}, {"time_axis", time_axis}});
  };
  if (time + batch == 1 && time * batch == 0) return {reverse(c.in(0), time, batch)};
  const int rank = c.rank(0);
  Ints perm{batch, time}, back(static_cast<std::size_t>(rank));
  for (std::int64_t i = 0; i < rank; ++i)
    if (i != batch && i != time) perm.push_back(i);
  for (std::size_t i = 0; i < perm.size(); ++i)
    back.at(static_cast<std::size_t>(perm[i])) = static_cast<std::int64_t>(i);
  Value* x = c.transpose(c.in(0), perm);
  return {c.transpose(reverse(x, 1, 0), back)};
}

// The last `shift` elements of the axis come first.
Value* rolled(MapperContext& c, Value* x, Value* shift, std::int64_t axis) {
  Value* size = c.gather(c.shape_of(x), c.ints({axis}), 0);
  Value* one = c.ints({1});
  Value* divisor = c.maximum(size, one);  // an empty axis
  Value* cut = c.emit("Mod", {c.neg(shift), divisor});
  Value* axes = c.ints({axis});
  Value* tail = c.slice(x, cut, c.ints({kLast}), axes);
  Value* head = c.slice(x, c.ints({0}), cut, axes);
  return c.concat({tail, head}, axis);
}

Values map_roll(MapperContext& c) {
  const Ints axes = c.const_ints(2);
  Value* shifts = c.reshape(c.cast(c.in(1), DType::i64), {-1});
  Value* x = c.in(0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    Value* shift = c.gather(shifts, c.ints({static_cast<std::int64_t>(i)}), 0);
    x = rolled(c, x, shift, axes[i]);
  }
  return {x};
}

}  // namespace

void register_reverse(OpRegistry& r) {
  r.op("Reverse").note("constant dims").by(map_reverse);
  r.op("ReverseV2").by(map_reverse_v2);
  r.op("ReverseSequence").by(map_reverse_sequence);
  r.op("Roll").note("constant axis").by(map_roll);
}

}  // namespace t2o::op_mappers
