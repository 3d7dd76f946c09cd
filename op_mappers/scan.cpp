#include <functional>
#include <limits>

#include "op_mappers/all.h"

namespace t2o::op_mappers {
namespace {

using Combine = std::function<Value*(MapperContext&, Value*, Value*)>;

Values map_cumsum(MapperContext& c) {
  return {c.cumsum(c.in(0), c.in(1), c.flag("exclusive"), c.flag("reverse"))};
}

Values map_cumprod(MapperContext& c) {
  Value* axis = c.cast(c.in(1), DType::i64);
  return {c.emit(
      "CumProd", {c.in(0), axis},
      {{"exclusive", std::int64_t{c.flag("exclusive")}}, {"reverse", std::int64_t{c.flag("reverse")}}})};
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
Value* scan(MapperContext& c, Value* unit, const Combine& combine) {
  Value* x = c.in(0);
  const int rank = c.rank(0);
  std::int64_t axis = c.const_int(1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank) c.fail(Code::bad_model, "axis " + std::to_string(axis) + " is out of range");
  const int at = static_cast<int>(axis);
  const std::int64_t size = c.dim_of(0, at);
  const bool reverse = c.flag("reverse");
  if (c.flag("exclusive") && size > 0) x = moved(c, x, at, 1, reverse, unit);
  for (std::int64_t w = 1; w < size; w *= 2) {
    Value* earlier = moved(c, x, at, w, reverse, unit);
    x = combine(c, earlier, x);
  }
  return x;
}

Values map_cumprod_by_steps(MapperContext& c) {
  return {
      scan(c, c.scalar_like(c.in(0), 1), [](MapperContext& m, Value* a, Value* b) { return m.mul(a, b); })};
}

// log(exp(a) + exp(b)) = max(a, b) + log(1 + exp(-|a - b|)); both -inf: -inf
Value* log_add_exp(MapperContext& c, Value* a, Value* b) {
  Value* most = c.maximum(a, b);
  Value* difference = c.abs(c.sub(a, b));
  Value* rest = c.log(c.add(c.exp(c.neg(difference)), c.scalar_like(a, 1)));
  Value* equal = c.equal(a, b);  // also of two infinities, whose difference is NaN
  Value* two = c.emit("Log", {c.scalar_like(a, 2)});
  return c.add(most, c.where(equal, two, rest));
}

Values map_cumulative_logsumexp(MapperContext& c) {
  Value* nothing = c.cast(c.constant(-std::numeric_limits<float>::infinity()), c.in(0)->dtype());
  return {scan(c, nothing, log_add_exp)};
}

}  // namespace

void register_scan(OpRegistry& r) {
  r.op("Cumsum").by(map_cumsum);
  r.op("Cumprod").note("constant axis of known size below opset 26").by(map_cumprod_by_steps);
  r.op("Cumprod").since(26).by(map_cumprod);
  r.op("CumulativeLogsumexp").note("constant axis of known size").by(map_cumulative_logsumexp);
}

}  // namespace t2o::op_mappers
