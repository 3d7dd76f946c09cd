#include <algorithm>
#include <limits>

#include "op_mappers/all.h"
#include "op_mappers/loop.h"
#include "op_mappers/numbers.h"
#include "op_mappers/three_axes.h"

namespace t2o::op_mappers {
namespace {

constexpr std::int64_t kMostAxes = 254;  // that a tensor of TensorFlow can have
constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min(),
                       kLast = std::numeric_limits<std::int64_t>::max();

Value* reversed(MapperContext& c, const Ints& axes) {
  if (axes.empty()) return c.in(0);
  const std::size_t n = axes.size();
  return c.slice(c.in(0), Ints(n, kLast), Ints(n, kFirst), axes, Ints(n, -1));
}

Value* reversed_at_run_time(MapperContext& c, Value* axes) {  // 1-D i64
  Value* count = c.shape_of(axes);
  Value* starts = c.expand(c.constant(kLast), count);
  Value* ends = c.expand(c.constant(kFirst), count);
  Value* steps = c.expand(c.i64(-1), count);
  return c.slice(c.in(0), starts, ends, axes, steps);
}

Values map_reverse(MapperContext& c) {
  const auto flags = c.maybe_ints(1);
  if (c.in(0)->shape().is_scalar()) return {c.in(0)};
  if (!flags) return {reversed_at_run_time(c, c.reshape(c.emit("NonZero", {c.in(1)}), {-1}))};
  Ints axes;
  for (std::size_t i = 0; i < flags->size(); ++i)
    if ((*flags)[i] != 0) axes.push_back(static_cast<std::int64_t>(i));
  return {reversed(c, axes)};
}

Values map_reverse_v2(MapperContext& c) {
  const auto axes = c.maybe_ints(1);
  if (axes && axes->empty()) return {c.in(0)};
  if (axes) return {reversed(c, *axes)};
  if (c.in(0)->shape().is_scalar()) return {c.in(0)};
  return {reversed_at_run_time(c, c.cast(c.in(1), DType::i64))};
}

// Without a rank the axes around time and batch are three: [before, one, between, other, behind].
Value* reverse_of_any_rank(MapperContext& c, std::int64_t time, std::int64_t batch, Value* lengths) {
  const int low = static_cast<int>(std::min(time, batch)), high = static_cast<int>(std::max(time, batch));
  const auto product = [&](Value* dims) { return c.product(dims); };
  Value* x = c.in(0);
  Value* before = product(c.dims(x, 0, low));
  Value* between = product(c.dims(x, low + 1, high));
  Value* behind = product(c.dims(x, high + 1, std::numeric_limits<int>::max()));
  Value* dims = c.concat({before, c.dims(x, low, low + 1), between, c.dims(x, high, high + 1), behind}, 0);
  const Ints perm = time < batch ? Ints{3, 1, 0, 2, 4} : Ints{1, 3, 0, 2, 4};  // batch, time, the others
  const Ints back = time < batch ? Ints{2, 1, 3, 0, 4} : Ints{2, 0, 3, 1, 4};
  Value* five = c.transpose(c.reshape_to(x, dims), perm);
  Value* y = c.emit("ReverseSequence", {five, lengths}, {{"batch_axis", 0}, {"time_axis", 1}});
  return c.reshape_to(c.transpose(y, back), c.shape_of(x));
}

// ONNX wants time and batch on the first two axes.
Values map_reverse_sequence(MapperContext& c) {
  Value* lengths = c.cast(c.in(1), DType::i64);
  const auto time = c.attr<std::int64_t>("seq_dim"), batch = c.attr<std::int64_t>("batch_dim");
  const std::int64_t axes = c.has_rank(0) ? c.rank(0) : kMostAxes;
  if (time == batch || std::min(time, batch) < 0 || std::max(time, batch) >= axes)
    c.fail(Code::bad_model, "seq_dim and batch_dim are not two axes of the input");
  const auto reverse = [&](Value* x, std::int64_t time_axis, std::int64_t batch_axis) {
    return c.emit("ReverseSequence", {x, lengths}, {{"batch_axis", batch_axis}, {"time_axis", time_axis}});
  };
  if (time + batch == 1 && time * batch == 0) return {reverse(c.in(0), time, batch)};
  if (!c.has_rank(0)) return {reverse_of_any_rank(c, time, batch, lengths)};
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
Value* rolled(Emitter& c, Value* x, Value* shift, std::int64_t axis) {
  Value* size = c.gather(c.shape_of(x), c.ints({axis}), 0);
  Value* one = c.ints({1});
  Value* divisor = c.maximum(size, one);  // an empty axis
  Value* cut = c.mod(c.neg(shift), divisor);
  Value* axes = c.ints({axis});
  Value* tail = c.slice(x, cut, c.ints({kLast}), axes);
  Value* head = c.slice(x, c.ints({0}), cut, axes);
  return c.concat({tail, head}, axis);
}

// One axis after the other, each as the middle one of three.
Value* rolled_at_run_time(MapperContext& c, Value* whole, Value* shifts, Value* axes) {
  Value* x = is_half(whole->dtype()) ? c.cast(whole, DType::f32) : whole;
  axes = counted_from_front(c, axes, x);
  Value* y = counted_loop_of_any_size(
      c, c.size_of(axes), {x}, [&](Emitter& e, Value* k, const Values& state) -> Values {
        const Sides s = sides(e, state[0], e.gather(axes, k, 0));
        return {from_three(e, rolled(e, as_three(e, state[0], s), e.gather(shifts, k, 0), 1), s)};
      })[0];
  return c.cast_like(y, whole);
}

Values map_roll(MapperContext& c) {
  Value* shifts = c.reshape(c.cast(c.in(1), DType::i64), {-1});
  Value* x = c.in(0);
  const auto axes = c.maybe_ints(2);
  if (!axes) return {rolled_at_run_time(c, x, shifts, c.in(2))};
  for (std::size_t i = 0; i < axes->size(); ++i) {
    Value* shift = c.gather(shifts, c.ints({static_cast<std::int64_t>(i)}), 0);
    x = rolled(c, x, shift, (*axes)[i]);
  }
  return {x};
}

}  // namespace

void register_reverse(OpRegistry& r) {
  r.op("Reverse").by(map_reverse);
  r.op("ReverseV2").by(map_reverse_v2);
  r.op("ReverseSequence").by(map_reverse_sequence);
  r.op("Roll").by(map_roll);
}

}  // namespace t2o::op_mappers
