#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "op_mappers/all.h"
#include "op_mappers/random_source.h"
#include "op_mappers/special.h"

// Random numbers of distributions with parameters. TensorFlow rejects draws; here there are so many draws at
// once that with a probability below 1e-9 none of them fits.
namespace t2o::op_mappers {
namespace {

Value* wide(Emitter& e, double v) { return e.scalar(DType::f64, v); }

// The dims that are asked for, and behind them those of the parameter.
Value* sample_dims(MapperContext& c, Value* parameter) {
  Value* asked = c.cast(c.in(0), DType::i64);
  return c.concat({asked, c.shape_of(parameter)}, 0);
}

// Uniform numbers along a first axis, in parts. Drawn at once: two draws with one seed would be the same
// numbers.
Values draws(MapperContext& c, const RandomSource& from, Value* dims, const Ints& parts) {
  const std::int64_t count = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  return c.split(from.uniform(c, with_axis(c, count, dims), DType::f64), parts, 0);
}

// sqrt(-2 log(1 - u)) cos(2 pi v)
Value* normals(MapperContext& c, Value* u, Value* v) {
  Value* radius = c.sqrt(c.mul(c.log(c.sub(wide(c, 1), u)), wide(c, -2)));
  return c.mul(radius, c.cos(c.mul(v, wide(c, 2 * std::numbers::pi))));
}

// Of the attempts, along the first axis, the first that fits, or the last one.
Value* first_fitting(MapperContext& c, Value* values, Value* fits) {
  Value* first = c.emit("ArgMax", {c.cast(fits, DType::i32)}, {{"axis", 0}, {"keepdims", 1}});
  Value* taken = c.emit("GatherElements", {values, first}, {{"axis", 0}});
  return c.squeeze(taken, {0});
}

// Marsaglia and Tsang: d v, v = (1 + x / sqrt(9 d))^3, where log u < x^2 / 2 + d (1 - v + log v). For alpha <
// 1 that of alpha + 1, times u^(1 / alpha).
Values map_gamma(MapperContext& c, const RandomSource& from) {
  constexpr std::int64_t kTries = 8;
  Value* alpha = c.cast(c.in(1), DType::f64);
  Value* dims = sample_dims(c, alpha);
  Value* is_small = c.less(alpha, wide(c, 1));
  Value* d = c.sub(c.where(is_small, c.add(alpha, wide(c, 1)), alpha), wide(c, 1.0 / 3));
  const Values u = draws(c, from, dims, {kTries, kTries, kTries, 1});
  Value* x = normals(c, u[0], u[1]);
  Value* root = c.add(c.div(x, c.sqrt(c.mul(d, wide(c, 9)))), wide(c, 1));
  Value* v = c.mul(c.mul(root, root), root);
  Value* rest = c.sub(wide(c, 1), v);
  Value* bend = c.mul(d, c.add(rest, c.log(c.abs(v))));
  Value* bound = c.add(c.mul(c.mul(x, x), wide(c, 0.5)), bend);
  Value* below = c.less(c.log(u[2]), bound);
  Value* fits = c.logical_and(below, c.greater(v, wide(c, 0)));
  Value* y = c.mul(first_fitting(c, v, fits), d);
  Value* power = c.emit("Pow", {c.squeeze(u[3], {0}), c.div(wide(c, 1), alpha)});
  return {c.cast(c.where(is_small, c.mul(y, power), y), c.output_dtype())};
}

// How many steps, each -log u long, end before the rate.
Value* poisson_of_few(MapperContext& c, Value* rate, Value* u) {
  Value* time = c.cumsum(c.neg(c.log(u)), c.i64(0), false, false);
  return c.reduce("ReduceSum", c.cast(c.less(time, rate), DType::f64), Ints{0}, false);
}

// Hormann: k = floor((2 a / s + b) u + rate + 0.43) with s = 1/2 - |u| fits where
// log(v q / (a / s^2 + b)) <= k log(rate) - rate - log(k!).
Value* poisson_of_many(MapperContext& c, Value* rate, Value* first, Value* v) {
  Value* u = c.sub(first, wide(c, 0.5));
  Value* b = c.add(c.mul(c.sqrt(rate), wide(c, 2.53)), wide(c, 0.931));
  Value* a = c.sub(c.mul(b, wide(c, 0.02483)), wide(c, 0.059));
  Value* q = c.add(c.div(wide(c, 1.1328), c.sub(b, wide(c, 3.4))), wide(c, 1.1239));
  Value* s = c.sub(wide(c, 0.5), c.abs(u));
  Value* slope = c.add(c.div(c.mul(a, wide(c, 2)), s), b);
  Value* middle = c.add(rate, wide(c, 0.43));
  Value* k = c.floor(c.add(c.mul(slope, u), middle));
  Value* density = c.add(c.div(a, c.mul(s, s)), b);
  Value* left = c.log(c.div(c.mul(v, q), density));
  Value* not_less = c.maximum(k, wide(c, 0));
  Value* log_power = c.sub(c.mul(not_less, c.log(rate)), rate);
  Value* right = c.sub(log_power, lgamma(c, c.add(not_less, wide(c, 1))));
  Value* is_below = c.less_equal(left, right);
  Value* fits = c.logical_and(is_below, c.greater_equal(k, wide(c, 0)));
  return first_fitting(c, k, fits);
}

Values map_poisson(MapperContext& c, const RandomSource& from) {
  Value* rate = c.cast(c.in(1), DType::f64);
  const Values u = draws(c, from, sample_dims(c, rate), {64, 16, 16});
  Value* few = poisson_of_few(c, c.minimum(rate, wide(c, 10)), u[0]);
  Value* many = poisson_of_many(c, c.maximum(rate, wide(c, 10)), u[1], u[2]);
  return {c.cast(c.where(c.less(rate, wide(c, 10)), few, many), c.output_dtype())};
}

// Phi(x) of a normal number
Value* normal_share(MapperContext& c, Value* x) {
  return c.mul(erfc(c, c.mul(x, wide(c, -std::sqrt(0.5)))), wide(c, 0.5));
}

// The quantile of a uniform number between the bounds' shares; above the mean of its mirror image, which
// keeps the digits.
Values map_bounded_normal(MapperContext& c, const RandomSource& from) {
  const Shape& shape = c.in(0)->shape();
  if (!shape.is_static())
    c.fail(Code::not_constant, "the rank of the random numbers is not known",
           "give the graph a constant shape");
  Ints along = repeated(1, std::max<std::int64_t>(*shape.elements(), 1));
  along[0] = -1;
  const auto parameter = [&](std::size_t i) { return c.reshape(c.cast(c.in(i), DType::f64), along); };
  Value* mean = parameter(1);
  Value* deviation = parameter(2);
  Value* low = c.div(c.sub(parameter(3), mean), deviation);
  Value* high = c.div(c.sub(parameter(4), mean), deviation);
  Value* is_above = c.greater(low, wide(c, 0));
  Value* first = normal_share(c, c.where(is_above, c.neg(high), low));
  Value* last = normal_share(c, c.where(is_above, c.neg(low), high));
  Value* u = from.uniform(c, c.cast(c.in(0), DType::i64), DType::f64);
  Value* x = ndtri(c, c.add(first, c.mul(u, c.sub(last, first))));
  Value* mirrored = c.where(is_above, c.neg(x), x);
  Value* bounded = c.minimum(c.maximum(mirrored, low), high);
  return {c.cast(c.add(c.mul(bounded, deviation), mean), c.output_dtype())};
}

using SourcedMapper = Values (*)(MapperContext&, const RandomSource&);

}  // namespace

void register_random_shapes(OpRegistry& r) {
  const std::string note = "other numbers of the same distribution";
  const auto rows = [&](const std::vector<std::string>& ops, SourcedMapper map,
                        const std::string& more = "") {
    r.ops(ops).note(note + more).by([map](MapperContext& c) { return map(c, kRandomOperators); });
    r.ops(ops).since(22).note(note + more).by([map](MapperContext& c) { return map(c, random_source(c)); });
  };
  rows({"RandomGamma"}, map_gamma);
  rows({"RandomPoisson", "RandomPoissonV2"}, map_poisson, "; 96 uniform numbers are drawn for each");
  rows({"ParameterizedTruncatedNormal"}, map_bounded_normal);
}

}  // namespace t2o::op_mappers
