#include <algorithm>
#include <limits>

#include "op_mappers/all.h"
#include "op_mappers/source_patterns.h"

namespace t2o::op_mappers {
namespace {

Value* reduced(MapperContext& c, const std::string& op, Value* x) {
  const bool keep = c.flag("keep_dims");
  if (const auto axes = c.maybe_ints(1)) return c.reduce(op, x, *axes, keep);
  if (is_all_axes(c.node().input(1), c.node().input(0))) return c.reduce_all(op, x, keep);
  return c.reduce(op, x, c.in(1), keep);
}

// ONNX Runtime's sums of integers saturate, TensorFlow's wrap around.
Values map_sum(MapperContext& c) {
  Value* x = c.in(0);
  if (x->dtype() != DType::i32 || x->known_elements()) return {reduced(c, "ReduceSum", x)};
  return {c.cast(reduced(c, "ReduceSum", c.cast(x, DType::i64)), x->dtype())};
}
Values map_prod(MapperContext& c) { return {reduced(c, "ReduceProd", c.in(0))}; }

bool surely_not_empty(MapperContext& c) {
  const Shape& s = c.in(0)->shape();
  const auto axes = c.maybe_ints(1);
  if (!s.ranked()) return false;
  for (int i = 0; i < s.rank(); ++i) {
    const bool is_reduced = !axes || std::any_of(axes->begin(), axes->end(),
                                                 [&](std::int64_t a) { return a == i || a == i - s.rank(); });
    if (is_reduced && s[i] < 1) return false;
  }
  return true;
}

// Runtimes ignore NaN in ReduceMax, or not, as it comes: Sum(Clip(x, 0, 0)) is 0, or NaN where x has one.
Value* float_extremum(MapperContext& c, const std::string& op) {
  const DType type = c.in(0)->dtype();
  Value* x = c.cast(c.in(0), type == DType::f64 ? DType::f64 : DType::f32);
  Value* m = reduced(c, op, x);
  if (m == x) return c.in(0);
  Value* zeros = c.clip(x, 0, 0);
  return c.cast(c.add(m, reduced(c, "ReduceSum", zeros)), type);
}

// Of nothing it is the type's own lowest or highest value, also where it is computed in a wider type.
Value* narrow_extremum(MapperContext& c, const std::string& op) {
  const double half = c.in(0)->dtype() == DType::i8 ? 128 : 32768;
  Value* m = reduced(c, op, c.cast(c.in(0), DType::i32));
  m = op == "ReduceMax" ? c.maximum(m, c.scalar_like(m, -half)) : c.minimum(m, c.scalar_like(m, half - 1));
  return c.cast(m, c.in(0)->dtype());
}

Value* extremum(MapperContext& c, const std::string& op) {
  const DType type = c.in(0)->dtype();
  if (is_float(type)) return float_extremum(c, op);
  const bool narrow = type == DType::i8 || type == DType::i16;
  return narrow && !surely_not_empty(c) ? narrow_extremum(c, op) : reduced(c, op, c.in(0));
}
Values map_max(MapperContext& c) { return {extremum(c, "ReduceMax")}; }
Values map_min(MapperContext& c) { return {extremum(c, "ReduceMin")}; }

// The mean of nothing is NaN in TensorFlow, 0 in ONNX Runtime: divide by min(elements, 1), which is 0 / 0 for
// nothing.
Value* nan_when_empty(MapperContext& c, Value* mean) {
  Value* elements = c.size_of(c.in(0));
  Value* one = c.constant<std::int64_t>(1);
  Value* divisor = c.cast(c.minimum(elements, one), mean->dtype());
  return c.div(mean, divisor);
}

Values map_mean(MapperContext& c) {
  Value* x = c.in(0);
  if (is_int(x->dtype())) return {c.cast(reduced(c, "ReduceMean", c.cast(x, DType::i64)), x->dtype())};
  Value* mean = reduced(c, "ReduceMean", x);
  return {mean == x || surely_not_empty(c) ? mean : nan_when_empty(c, mean)};
}

// Over no elements the minimum of int32 is its highest value (true), the maximum its lowest (not > 0: false).
Values map_all(MapperContext& c) {
  Value* ones = c.cast(c.in(0), DType::i32);
  return {c.cast(reduced(c, "ReduceMin", ones), DType::boolean)};
}
Values map_any(MapperContext& c) {
  Value* most = reduced(c, "ReduceMax", c.cast(c.in(0), DType::i32));
  return {c.greater(most, c.scalar_like(most, 0))};
}

// The sum of squares of integers wraps around.
Values map_euclidean_norm(MapperContext& c) {
  Value* x = c.in(0);
  if (is_int(x->dtype())) {
    Value* sum = reduced(c, "ReduceSum", c.mul(x, x));
    return {c.cast(c.sqrt(c.cast(sum, DType::f64)), x->dtype())};
  }
  Value* norm = reduced(c, "ReduceL2", x);
  return {norm == x ? c.abs(x) : norm};  // over no axes
}

// TensorFlow never picks NaN, ONNX Runtime does when it comes first.
Value* without_nan(MapperContext& c, Value* x, bool for_max) {
  if (!is_float(x->dtype())) return x->dtype() == DType::boolean ? c.cast(x, DType::i32) : x;
  const float worst =
      for_max ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
  Value* is_nan = c.emit("IsNaN", {x});
  return c.where(is_nan, c.cast(c.constant(worst), x->dtype()), x);
}

Values arg_extremum(MapperContext& c, const std::string& op) {
  const std::int64_t axis = c.const_int(1);
  Value* x = without_nan(c, c.in(0), op == "ArgMax");
  Value* index = c.emit(op, {x}, {{"axis", axis}, {"keepdims", std::int64_t{0}}});
  return {c.cast(index, c.output_dtype())};
}
Values map_arg_max(MapperContext& c) { return arg_extremum(c, "ArgMax"); }
Values map_arg_min(MapperContext& c) { return arg_extremum(c, "ArgMin"); }

}  // namespace

void register_reduction(OpRegistry& r) {
  const std::string empty = "below opset 18 no empty tensors of unknown rank over axes counted from the back";
  r.op("Sum").note("of 64-bit integers rounded beyond 2^53; " + empty).by(map_sum);
  r.op("Prod").note("of integers not wrapped around, rounded beyond 2^53; " + empty).by(map_prod);
  r.op("Mean").note("of 64-bit integers rounded beyond 2^53; " + empty).by(map_mean);
  r.op("Max").note(empty).by(map_max);
  r.op("Min").note(empty).by(map_min);
  r.op("All").note(empty).by(map_all);
  r.op("Any").note(empty).by(map_any);
  r.op("EuclideanNorm").note(empty).by(map_euclidean_norm);
  r.op("ArgMax").note("constant axis").by(map_arg_max);
  r.op("ArgMin").note("constant axis").by(map_arg_min);
}

}  // namespace t2o::op_mappers
