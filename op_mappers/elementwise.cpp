#include <algorithm>
#include <numbers>

#include "op_mappers/all.h"
#include "op_mappers/bitcast.h"
#include "op_mappers/meaning.h"
#include "op_mappers/numbers.h"
#include "op_mappers/special.h"
#include "op_mappers/wide_integers.h"
#include "tfgraph/internal_ops.h"

namespace t2o::op_mappers {
namespace {

Values map_sign(MapperContext& c) {
  Value* x = c.in(0);
  Value* y = c.sign(x);
  return {is_half(x->dtype()) ? meaning(c, y, onnx::kNan, onnx::kKeeps) : all_bits(c, y, x)};
}

Values map_round(MapperContext& c) {  // half to even, as in TensorFlow
  if (is_int(c.in(0)->dtype()))
    c.fail(Code::unsupported_type,
           "TensorFlow's Round of integers gives zeros on CPUs, which the model hardly intends",
           "remove the Round: integers are round");
  return {c.round(c.in(0))};
}

Values map_square(MapperContext& c) { return {c.mul(c.in(0), c.in(0))}; }

Values map_rsqrt(MapperContext& c) { return {c.reciprocal(c.sqrt(c.in(0)))}; }

Values map_reciprocal(MapperContext& c) {
  Value* x = c.in(0);
  if (is_int(x->dtype())) return {c.div(c.scalar_like(x, 1), x)};
  return {c.reciprocal(x)};
}

// expm1(x) = tanh(x / 2) * (exp(x) + 1): exp(x) - 1 would lose the digits of a small x
Values map_expm1(MapperContext& c) {
  Value* x = c.in(0);
  Value* half = c.emit("Tanh", {c.mul(x, c.scalar_like(x, 0.5))});
  return {c.mul(half, c.add(c.exp(x), c.scalar_like(x, 1)))};
}

Values map_log1p(MapperContext& c) { return {log1p(c, c.in(0), c.strict())}; }

Values map_erf(MapperContext& c) { return {erf(c, c.in(0))}; }
// A Gelu is x * erfc(-x / sqrt(2)) / 2: of it absolute errors matter, and its time.
bool is_only_factor(const ir::Value* v) {
  return v->is_used() && !v->is_graph_output() &&
         std::ranges::all_of(v->uses(), [](const ir::Use& u) { return u.node->op() == "Mul"; });
}

Values map_erfc(MapperContext& c) {
  Value* x = c.in(0);
  if (is_only_factor(c.node().output())) return {c.sub(c.scalar_like(x, 1), c.emit("Erf", {x}))};
  return {erfc(c, x)};
}

Values map_relu(MapperContext& c) {
  Value* x = c.in(0);
  if (is_unsigned_int(x->dtype())) return {x};
  return {is_int(x->dtype()) ? larger(c, x, c.scalar_like(x, 0)) : c.emit("Relu", {x})};
}

Values map_relu6(MapperContext& c) {
  Value* x = c.in(0);
  if (!is_int(x->dtype())) return {c.clip(x, 0, 6)};
  Value* positive = larger(c, x, c.scalar_like(x, 0));
  return {smaller(c, positive, c.scalar_like(x, 6))};
}

Values map_is_finite(MapperContext& c) {  // x - x is NaN for NaN and for both infinities
  return {c.logical_not(c.is_nan(c.sub(c.in(0), c.in(0))))};
}

Values map_cast(MapperContext& c) {
  Value* x = c.in(0);
  const DType to = c.output_dtype();
  if (c.flag("Truncate") && is_float(to) && is_float(x->dtype()) && bit_width(to) < bit_width(x->dtype()))
    c.fail(Code::unsupported_attr,
           "a Cast between floats that rounds toward zero (Truncate) has no ONNX form",
           "remove truncate=True: the cast then rounds to nearest");
  return {c.cast(x, to)};
}

// IEEE's sign bit: less than 0, or -0.
Value* is_negative(MapperContext& c, Value* x) {
  Value* zero = c.scalar_like(x, 0);
  Value* is_zero = c.equal(x, zero);
  Value* signed_inf = c.reciprocal(x);
  return c.less(c.where(is_zero, signed_inf, x), zero);
}

// The angle of |y| / |x| in the first quadrant, then unfolded: pi - a where x is negative, -a where y is.
Values map_atan2(MapperContext& c) {
  const DType type = c.in(0)->dtype();
  const DType work = type == DType::f64 ? DType::f64 : DType::f32;
  Value* y = c.cast(c.in(0), work);
  Value* x = c.cast(c.in(1), work);
  Value* ay = c.abs(y);
  Value* ax = c.abs(x);
  // 0/0 stands for the angle 0, inf/inf for 45 degrees
  Value* same = c.equal(ay, ax);
  Value* sign = c.sign(ay);
  Value* ratio = c.where(same, sign, c.div(ay, ax));
  Value* a = c.emit("Atan", {ratio});
  Value* mirrored = c.sub(c.scalar(work, std::numbers::pi), a);
  Value* upper = c.where(is_negative(c, x), mirrored, a);
  Value* lower = c.neg(upper);
  return {c.cast(c.where(is_negative(c, y), lower, upper), type)};
}

Values map_leaky_relu(MapperContext& c) {
  return {c.emit("LeakyRelu", {c.in(0)}, {{"alpha", c.attr_or<float>("alpha", 0.2F)}})};
}

Values map_l2_loss(MapperContext& c) {
  Value* sum = c.reduce_all("ReduceSumSquare", c.in(0), false);
  return {c.mul(sum, c.scalar_like(sum, 0.5))};
}

}  // namespace

void register_elementwise(OpRegistry& r) {
  for (const char* op : {"Abs",   "Neg",   "Floor", "Ceil",    "Sqrt", "Exp",  "Log",      "Sin",
                         "Cos",   "Tan",   "Asin",  "Acos",    "Atan", "Sinh", "Cosh",     "Tanh",
                         "Asinh", "Acosh", "Atanh", "Sigmoid", "Elu",  "Selu", "Softplus", "Softsign"})
    r.op(op).to(op);
  r.op("LeakyRelu").by(map_leaky_relu);
  r.op(tfgraph::kPRelu).to("PRelu");
  r.op("Rint").to("Round");
  r.op("IsNan").to("IsNaN");
  r.op("IsInf").to("IsInf");
  r.op("IsFinite").by(map_is_finite);
  r.op("Sign").by(map_sign);
  r.op("Round").note("floats").by(map_round);
  r.op("Square").by(map_square);
  r.op("Rsqrt").by(map_rsqrt);
  r.op("Reciprocal", "Inv").by(map_reciprocal);
  r.op("Expm1").by(map_expm1);
  r.op("Log1p").by(map_log1p);
  r.op("Erf").by(map_erf);
  r.op("Erfc").by(map_erfc);
  r.op("Relu").by(map_relu);
  r.op("Relu6").by(map_relu6);
  r.op("Atan2").by(map_atan2);
  r.op("L2Loss").by(map_l2_loss);
  r.op("Cast")
      .note(
          "Truncate between floats is refused; floats beyond the integers' range give any number, as in "
          "TensorFlow; a denormal is true")
      .by(map_cast);
  const auto bits = [](Bits how) { return [how](MapperContext& c) { return map_bitcast(c, how); }; };
  r.op("Bitcast").note("f64 needs opset 26; below, any NaN is the common one").by(bits(Bits::by_arithmetic));
  r.op("Bitcast").since(26).by(bits(Bits::by_bitcast));
  const auto next = [](Bits how) { return [how](MapperContext& c) { return map_next_after(c, how); }; };
  r.op("NextAfter").note("f64 needs opset 26").by(next(Bits::by_arithmetic));
  r.op("NextAfter").since(26).by(next(Bits::by_bitcast));
}

}  // namespace t2o::op_mappers
