#include <algorithm>
#include <functional>
#include <limits>
#include <optional>

#include "onnx/facts.h"
#include "op_mappers/all.h"
#include "op_mappers/loop.h"
#include "op_mappers/meaning.h"
#include "op_mappers/numbers.h"
#include "op_mappers/segments.h"
#include "op_mappers/source_patterns.h"
#include "op_mappers/three_axes.h"
#include "op_mappers/wide_integers.h"
#include "tfgraph/internal_ops.h"

namespace t2o::op_mappers {
namespace {

// Whether axes may be an input: of ReduceSum since opset 13, of the others since 18.
enum class Axes : std::uint8_t { attribute, input };

// Reduces the middle one of three axes, which stays as 1.
using Middle = std::function<Value*(Emitter&, Value* three)>;

// One axis after the other, each by a reshape that makes it the middle one.
Value* reduced_in_turn(MapperContext& c, Value* whole, Value* axes, bool keep, const Middle& reduce) {
  Value* x = is_half(whole->dtype()) ? c.cast(whole, DType::f32) : whole;
  axes = counted_from_front(c, axes, x);
  Value* y = counted_loop_of_any_size(
      c, c.size_of(axes), {x}, [&](Emitter& e, Value* k, const Values& state) -> Values {
        const Sides s = sides(e, state[0], e.gather(axes, k, 0));
        Value* three = reduce(e, as_three(e, state[0], s));
        return {e.reshape_to(three, e.concat({s.before, e.ints({1}), s.after}, 0))};
      })[0];
  y = c.cast_like(y, whole);
  if (keep) return y;
  Value* one = c.i64(1);
  Value* rank = c.unsqueeze(c.rank_of(x), {0});
  Value* kept = c.expand(one, rank);
  Value* none = c.expand(c.i64(0), c.shape_of(axes));
  Value* mask = c.emit("ScatterElements", {kept, axes, none}, {{"axis", 0}});
  Value* sizes = c.emit("Compress", {c.shape_of(y), c.cast(mask, DType::boolean)}, {{"axis", 0}});
  return c.reshape_to(y, sizes);
}

bool has_elements(const Value* x) {
  return x->shape().ranked() && std::ranges::all_of(x->shape().dims(), [](Dim d) { return d > 0; });
}

// TensorFlow's maximum of floats is NaN where one of them is, and its mean of no real numbers is NaN (that of
// no complex ones is 0). ONNX leaves both open.
Value* with_meaning(MapperContext& c, Emitter& e, const std::string& op, Value* x, Value* y) {
  if (op == "ReduceProd") return exact_product(e, y, x);
  if (x->dtype() == DType::i64 && contains({"ReduceMax", "ReduceMin", "ReduceSum"}, op))
    return all_bits(e, y, x);
  if (!is_float(x->dtype()) || y == x) return y;
  if (op == "ReduceMax" || op == "ReduceMin") return meaning(e, y, onnx::kNan, onnx::kKeeps);
  const bool is_mean = op == "ReduceMean" && !has_elements(x) && !is_complex(c.node().output(0)->dtype());
  return is_mean ? meaning(e, y, onnx::kEmpty, onnx::kIsNan) : y;
}

Value* with_rank(Emitter& e, Value* three) {
  return three->shape().ranked() ? three : e.reshape(three, {0, 0, 0});
}

Value* reduced_in_turn(MapperContext& c, const std::string& op, Value* x, Value* axes, bool keep) {
  return reduced_in_turn(c, x, axes, keep, [&](Emitter& e, Value* three) {
    Value* ranked = three->dtype() == DType::i64 ? with_rank(e, three) : three;
    return with_meaning(c, e, op, ranked, e.reduce(op, ranked, Ints{1}, true));
  });
}

template <Axes form>
Value* reduced(MapperContext& c, const std::string& op, Value* x, bool keep) {
  const auto axes = c.maybe_ints(1);
  if (axes && x->shape().ranked())
    for (const std::int64_t a : *axes) c.front_axis(a, x->shape().rank());
  if (axes) return with_meaning(c, c, op, x, c.reduce(op, x, *axes, keep));
  if (is_all_axes(c.node().input(1), c.node().input(0)))
    return with_meaning(c, c, op, x, c.reduce_all(op, x, keep));
  return form == Axes::attribute ? reduced_in_turn(c, op, x, c.in(1), keep)
                                 : with_meaning(c, c, op, x, c.reduce(op, x, c.in(1), keep));
}

template <Axes form>
Value* reduced(MapperContext& c, const std::string& op, Value* x) {
  return reduced<form>(c, op, x, c.flag("keep_dims"));
}

template <Axes form>
Value* summed(MapperContext& c, Value* x) {
  if (is_made_of_sizes(x)) return reduced<form>(c, "ReduceSum", x);
  return wrapping_sum(c, x, [&](Value* numbers) { return reduced<form>(c, "ReduceSum", numbers); });
}
template <Axes form>
Values map_sum(MapperContext& c) {
  return {summed<form>(c, c.in(0))};
}

// The product of integers wraps around.
template <Axes form>
Values map_prod(MapperContext& c) {
  Value* x = c.in(0);
  if (!is_int(x->dtype()) || is_made_of_sizes(x) || are_flags(x)) return {reduced<form>(c, "ReduceProd", x)};
  const bool all = is_all_axes(c.node().input(1), c.node().input(0)), keep = c.flag("keep_dims");
  Value* wide = c.cast(x, DType::i64);
  Value* y = nullptr;
  if (x->shape().ranked() && (all || c.maybe_ints(1)))
    y = reduced<form>(c, "ReduceProd", wide);
  else if (all && !keep)
    y = exact_product(c, c.reduce("ReduceProd", c.reshape(wide, {-1}), Ints{0}, false), wide);
  else
    y = reduced_in_turn(c, "ReduceProd", wide, c.in(1), keep);
  return {c.cast_like(y, x)};
}

bool surely_not_empty(MapperContext& c) {
  const Shape& s = c.in(0)->shape();
  const auto axes = c.maybe_ints(1);
  if (!s.ranked()) return false;
  for (int i = 0; i < s.rank(); ++i) {
    const bool is_reduced =
        !axes || std::ranges::any_of(*axes, [&](std::int64_t a) { return a == i || a == i - s.rank(); });
    if (is_reduced && s[i] < 1) return false;
  }
  return true;
}

bool may_be_nothing(MapperContext& c) {
  return !surely_not_empty(c) && onnx::may_be_empty(c.in(0), c.strict());
}

// Of nothing it is the type's own lowest or highest value, also where it is computed in a wider type.
template <Axes form>
Value* narrow_extremum(MapperContext& c, const std::string& op) {
  const double half = c.in(0)->dtype() == DType::i8 ? 128 : 32768;
  Value* m = reduced<form>(c, op, c.cast(c.in(0), DType::i32));
  m = op == "ReduceMax" ? c.maximum(m, c.scalar_like(m, -half)) : c.minimum(m, c.scalar_like(m, half - 1));
  return c.cast(m, c.in(0)->dtype());
}

// Without the highest bit 64-bit numbers without a sign have the order of those with one.
Value* half_of_unsigned(MapperContext& c) { return c.i64(std::numeric_limits<std::int64_t>::min()); }
Value* with_sign(MapperContext& c, Value* x, Value* half) { return c.add(c.cast(x, DType::i64), half); }

template <Axes form>
Value* unsigned_extremum(MapperContext& c, const std::string& op) {
  Value* half = half_of_unsigned(c);
  Value* m = reduced<form>(c, op, with_sign(c, c.in(0), half));
  return c.cast(c.add(m, half), DType::u64);
}

template <Axes form>
Value* extremum(MapperContext& c, const std::string& op) {
  const DType type = c.in(0)->dtype();
  if (type == DType::u64) return unsigned_extremum<form>(c, op);
  if (type == DType::u32) return c.cast(reduced<form>(c, op, c.cast(c.in(0), DType::i64)), type);
  const bool narrow = type == DType::i8 || type == DType::i16;
  return narrow && may_be_nothing(c) ? narrow_extremum<form>(c, op) : reduced<form>(c, op, c.in(0));
}
template <Axes form>
Values map_max(MapperContext& c) {
  return {extremum<form>(c, "ReduceMax")};
}
template <Axes form>
Values map_min(MapperContext& c) {
  return {extremum<form>(c, "ReduceMin")};
}

// Not the means of means, which would be rounded in between.
template <Axes form>
Value* mean_of_integers(MapperContext& c, Value* x) {
  Value* sum = summed<form>(c, x);
  Value* one = c.i64(1);
  Value* results = c.maximum(c.size_of(sum), one);
  Value* count = c.maximum(c.div(c.size_of(x), results), one);
  return c.div(sum, c.cast_like(count, sum));
}

template <Axes form>
Values map_mean(MapperContext& c) {
  Value* x = c.in(0);
  const auto axes = c.maybe_ints(1);
  const bool in_turn = form == Axes::attribute && !axes;
  if (x->dtype() == DType::u64) return {mean_of_integers<form>(c, x)};
  if (is_int(x->dtype()) && (in_turn || !has_few_bits(x)))
    return {c.cast(mean_of_integers<form>(c, c.cast(x, DType::i64)), x->dtype())};
  if (is_int(x->dtype())) return {c.cast(reduced<form>(c, "ReduceMean", c.cast(x, DType::i64)), x->dtype())};
  return {reduced<form>(c, "ReduceMean", x)};
}

// Over no elements the minimum of int32 is its highest value (true), the maximum its lowest (not > 0: false).
template <Axes form>
Values map_all(MapperContext& c) {
  Value* ones = c.cast(c.in(0), DType::i32);
  return {c.cast(reduced<form>(c, "ReduceMin", ones), DType::boolean)};
}
template <Axes form>
Values map_any(MapperContext& c) {
  Value* most = reduced<form>(c, "ReduceMax", c.cast(c.in(0), DType::i32));
  return {c.greater(most, c.scalar_like(most, 0))};
}

// The sum of squares of integers wraps around.
template <Axes form>
Values map_euclidean_norm(MapperContext& c) {
  Value* x = c.in(0);
  if (is_int(x->dtype())) {
    Value* sum = summed<form>(c, c.mul(x, x));
    return {c.cast(c.sqrt(c.cast(sum, DType::f64)), x->dtype())};
  }
  Value* norm = reduced<form>(c, "ReduceL2", x);
  if (norm == x) return {c.sqrt(c.mul(x, x))};  // over no axes
  return {c.maybe_ints(1) ? norm : c.abs(norm)};
}

// TensorFlow never picks a NaN.
Value* index_of(Emitter& e, const std::string& op, Value* x, std::int64_t axis) {
  Value* index = e.emit(op, {x}, {{"axis", axis}, {"keepdims", 0}});
  return is_float(x->dtype()) ? meaning(e, index, onnx::kNan, onnx::kSkips) : index;
}

// Along an axis that is known at run time only.
Value* index_along(MapperContext& c, const std::string& op, Value* x) {
  const Sides s = sides(c, x, counted_from_front(c, c.in(1), x));
  Value* three = as_three(c, x, s);
  Value* index = index_of(c, op, three, 1);
  return c.reshape_to(index, c.concat({s.before, s.after}, 0));
}

Values arg_extremum(MapperContext& c, const std::string& op) {
  const auto axis = c.maybe_ints(1);
  if (axis && c.has_rank(0)) c.front_axis(c.const_int(1), c.rank(0));
  Value* x = c.in(0)->dtype() == DType::boolean ? c.cast(c.in(0), DType::i32) : c.in(0);
  if (x->dtype() == DType::u64) x = with_sign(c, x, half_of_unsigned(c));
  if (!axis) return {c.cast(index_along(c, op, x), c.output_dtype())};
  return {c.cast(index_of(c, op, x, c.const_int(1)), c.output_dtype())};
}

template <Axes form>
Values map_log_sum_exp(MapperContext& c) {
  return {reduced<form>(c, "ReduceLogSumExp", c.in(0))};
}

Values map_arg_max(MapperContext& c) { return arg_extremum(c, "ArgMax"); }
Values map_arg_min(MapperContext& c) { return arg_extremum(c, "ArgMin"); }

}  // namespace

void register_reduction(OpRegistry& r) {
  constexpr Axes attribute = Axes::attribute, input = Axes::input;
  r.op("Sum").by(map_sum<attribute>);
  r.op("Sum").since(13).by(map_sum<input>);
  r.op("Prod").by(map_prod<attribute>);
  r.op("Prod").since(18).by(map_prod<input>);
  r.op("Mean").by(map_mean<attribute>);
  r.op("Mean").since(18).by(map_mean<input>);
  r.op("Max").by(map_max<attribute>);
  r.op("Max").since(18).by(map_max<input>);
  r.op("Min").by(map_min<attribute>);
  r.op("Min").since(18).by(map_min<input>);
  r.op("All").by(map_all<attribute>);
  r.op("All").since(18).by(map_all<input>);
  r.op("Any").by(map_any<attribute>);
  r.op("Any").since(18).by(map_any<input>);
  r.op("EuclideanNorm").by(map_euclidean_norm<attribute>);
  r.op("EuclideanNorm").since(18).by(map_euclidean_norm<input>);
  r.op(tfgraph::kLogSumExp).by(map_log_sum_exp<attribute>);
  r.op(tfgraph::kLogSumExp).since(18).by(map_log_sum_exp<input>);
  r.op("ArgMax").by(map_arg_max);
  r.op("ArgMin").by(map_arg_min);
}

}  // namespace t2o::op_mappers
