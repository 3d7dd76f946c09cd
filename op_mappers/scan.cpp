#include <functional>
#include <limits>
#include <numbers>

#include "onnx/reshape.h"
#include "op_mappers/all.h"
#include "op_mappers/loop.h"
#include "op_mappers/numbers.h"
#include "op_mappers/three_axes.h"

namespace t2o::op_mappers {
namespace {

using Combine = std::function<Value*(Emitter&, Value*, Value*)>;

Values map_cumsum(MapperContext& c) {
  if (const auto axis = c.maybe_ints(1); axis && c.has_rank(0)) c.front_axis(c.const_int(1), c.rank(0));
  return {c.cumsum(c.in(0), c.in(1), c.flag("exclusive"), c.flag("reverse"))};
}

Values map_cumprod(MapperContext& c) {
  Value* axis = c.cast(c.in(1), DType::i64);
  return {c.emit("CumProd", {c.in(0), axis},
                 {{"exclusive", c.flag("exclusive")}, {"reverse", c.flag("reverse")}})};
}

// x moved by `by` places along the axis, `fill` where nothing comes from.
Value* moved(MapperContext& c, Value* x, int axis, std::int64_t by, bool reverse, Value* fill) {
  const auto rank = static_cast<std::size_t>(x->shape().rank());
  Ints pads(2 * rank, 0);
  const auto a = static_cast<std::size_t>(axis);
  pads[a] = reverse ? -by : by;
  pads[a + rank] = reverse ? by : -by;
  return c.pad(x, c.ints(pads), fill);
}

// An inclusive scan in log2(n) steps: after the step of width w each element combines the 2w elements up to
// it.
Value* scan_of_known_size(MapperContext& c, Value* x, Value* unit, const Combine& combine) {
  const int rank = c.rank(0);
  const int at = static_cast<int>(c.front_axis(c.const_int(1), rank));
  const std::int64_t size = c.dim_of(0, at);
  const bool reverse = c.flag("reverse");
  if (c.flag("exclusive") && size > 0) x = moved(c, x, at, 1, reverse, unit);
  for (std::int64_t w = 1; w < size; w *= 2) {
    Value* earlier = moved(c, x, at, w, reverse, unit);
    x = combine(c, earlier, x);
  }
  return x;
}

// x, of three axes, moved by `by` ([1]) places along the second.
Value* moved_at_run_time(Emitter& e, Value* x, Value* by, bool reverse, Value* unit) {
  Value* size = e.dims(x, 1, 2);
  Value* lost = e.minimum(by, size);
  Value* along = e.ints({1});
  Value* from = reverse ? lost : e.ints({0});
  Value* to = reverse ? size : e.sub(size, lost);
  Value* kept = e.slice(x, from, to, along);
  Value* dims = e.concat({e.dims(x, 0, 1), lost, e.dims(x, 2, 3)}, 0);
  Value* filler = e.expand(unit, dims);
  return reverse ? e.concat({kept, filler}, 1) : e.concat({filler, kept}, 1);
}

// The same steps in a Loop.
Value* scan_of_any_size(MapperContext& c, Value* x, Value* unit, const Combine& combine) {
  const bool reverse = c.flag("reverse"), exclusive = c.flag("exclusive");
  const DType type = x->dtype(), work = is_half(type) ? DType::f32 : type;
  x = c.cast(x, work);
  unit = c.cast(unit, work);
  Ints powers;
  for (int k = 0; k < 62; ++k) powers.push_back(std::int64_t{1} << k);
  const Sides s = sides(c, x, counted_from_front(c, c.in(1), x));
  Value* three = as_three(c, x, s);
  Value* one = c.ints({1});
  if (exclusive) three = moved_at_run_time(c, three, one, reverse, unit);
  Value* steps = c.reduce("ReduceSum", c.cast(c.less(c.ints(powers), s.size), DType::i64), Ints{0}, false);
  Value* y = counted_loop(c, steps, {three, one}, [&](Emitter& e, Value*, const Values& state) -> Values {
    Value* earlier = moved_at_run_time(e, state[0], state[1], reverse, unit);
    return {combine(e, earlier, state[0]), e.add(state[1], state[1])};
  })[0];
  return c.cast(reshape_even_if_empty(c, y, c.shape_of(x)), type);
}

Value* scan(MapperContext& c, Value* x, Value* unit, const Combine& combine) {
  const auto axis = c.maybe_ints(1);
  const Shape& s = x->shape();
  const auto is_axis = [&](std::int64_t a) { return s.ranked() && a >= -s.rank() && a < s.rank(); };
  const bool known =
      axis && axis->size() == 1 && is_axis(axis->front()) && is_known(s[static_cast<int>(axis->front())]);
  return known || (axis && s.ranked() && !is_axis(axis->front())) ? scan_of_known_size(c, x, unit, combine)
                                                                  : scan_of_any_size(c, x, unit, combine);
}

Values map_cumprod_by_steps(MapperContext& c) {
  Value* x = c.in(0);
  return {scan(c, x, c.scalar_like(x, 1), [](Emitter& m, Value* a, Value* b) { return m.mul(a, b); })};
}

// log(exp(a) + exp(b)) = max(a, b) + log(1 + exp(-|a - b|)); both -inf: -inf
Value* log_add_exp(Emitter& c, Value* a, Value* b, bool of_infinities) {
  Value* most = c.maximum(a, b);
  Value* difference = c.abs(c.sub(a, b));
  Value* rest = c.log(c.add(c.exp(c.neg(difference)), c.scalar_like(a, 1)));
  if (!of_infinities) return c.add(most, rest);
  Value* equal = c.equal(a, b);  // also of two infinities, whose difference is NaN
  Value* two = c.emit("Log", {c.scalar_like(a, 2)});
  return c.add(most, c.where(equal, two, rest));
}

// In TensorFlow a NaN counts as much as all before it: it doubles the sum. With n, the number of NaN so far,
// as a running sum: y = log(sum of exp(x - n log 2)) + n log 2, over the x that are numbers.
Values map_cumulative_logsumexp(MapperContext& c) {
  Value* x = c.in(0);
  const bool exclusive = c.flag("exclusive"), reverse = c.flag("reverse");
  Value* nothing = c.cast(c.constant(-std::numeric_limits<float>::infinity()), x->dtype());
  if (!c.strict())  // what is moved in is infinite; behind an exclusive sum it meets itself
    return {
        scan(c, x, nothing, [=](Emitter& e, Value* a, Value* b) { return log_add_exp(e, a, b, exclusive); })};
  const auto add = [](Emitter& e, Value* a, Value* b) { return log_add_exp(e, a, b, true); };
  Value* is_nan = c.is_nan(x);
  Value* twos = c.where(is_nan, c.scalar_like(x, std::numbers::ln2), c.scalar_like(x, 0));
  Value* doubled = c.cumsum(twos, c.in(1), false, reverse);
  Value* rest = c.sub(c.where(is_nan, nothing, x), doubled);
  Value* y = scan(c, rest, nothing, add);
  return {c.add(y, exclusive ? c.cumsum(twos, c.in(1), true, reverse) : doubled)};
}

}  // namespace

void register_scan(OpRegistry& r) {
  r.op("Cumsum").by(map_cumsum);
  r.op("Cumprod").by(map_cumprod_by_steps);
  r.op("Cumprod").since(26).by(map_cumprod);
  r.op("CumulativeLogsumexp").note("a NaN after an infinity is ignored").by(map_cumulative_logsumexp);
}

}  // namespace t2o::op_mappers
