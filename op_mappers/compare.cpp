#include <algorithm>

#include "op_mappers/all.h"
#include "op_mappers/wide_integers.h"

namespace t2o::op_mappers {
namespace {

bool surely_incompatible(const Shape& a, const Shape& b) {
  if (!a.ranked() || !b.ranked()) return false;
  for (int i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    const Dim x = a[-i], y = b[-i];
    if (is_known(x) && is_known(y) && x != y && x != 1 && y != 1) return true;
  }
  return false;
}

// The number that each string has among all different ones, in the shape of x; `from` is where x begins.
Value* numbers_of(MapperContext& c, Value* all, Value* x, Value* from) {
  Value* to = c.add(from, c.unsqueeze(c.size_of(x), {0}));
  return c.reshape_to(c.slice(all, from, to, c.ints({0})), c.shape_of(x));
}

// Where Equal takes no strings: equal ones have one number.
Value* equal_strings(MapperContext& c, Value* x, Value* y) {
  Value* first = c.reshape(x, {-1});
  Value* second = c.reshape(y, {-1});
  Value* all = c.emit_n("Unique", {c.concat({first, second}, 0)}, {}, 3)[2];
  Value* a = numbers_of(c, all, x, c.ints({0}));
  Value* b = numbers_of(c, all, y, c.unsqueeze(c.size_of(x), {0}));
  return c.equal(a, b);
}

enum class Texts : std::uint8_t { by_number, plain };

// tf.Tensor.__eq__ sets incompatible_shape_error=False: shapes that do not broadcast are unequal as a whole.
template <Texts form>
Value* equal(MapperContext& c, bool negated) {
  Value *x = c.in(0), *y = c.in(1);
  const bool error = c.attr_or<std::int64_t>("incompatible_shape_error", 1) != 0;
  if (!error && surely_incompatible(x->shape(), y->shape())) return c.constant(Tensor::scalar(negated));
  const bool numbered = form == Texts::by_number && x->dtype() == DType::string;
  Value* same = numbered ? equal_strings(c, x, y) : c.equal(x, y);
  return negated ? c.logical_not(same) : same;
}

template <Texts form>
Values map_equal(MapperContext& c) {
  return {equal<form>(c, false)};
}
template <Texts form>
Values map_not_equal(MapperContext& c) {
  return {equal<form>(c, true)};
}
Values map_less_equal(MapperContext& c) { return {c.less_equal(c.in(0), c.in(1))}; }
Values map_greater_equal(MapperContext& c) { return {c.greater_equal(c.in(0), c.in(1))}; }

Values map_approximate_equal(MapperContext& c) {
  Value* distance = c.abs(c.sub(c.in(0), c.in(1)));
  return {c.less_equal(distance, c.scalar_like(distance, double{c.attr<float>("tolerance")}))};
}

// -1 - x in two's complement, max - x without a sign
Value* inverted(MapperContext& c, Value* x) {
  const DType type = x->dtype();
  if (!is_unsigned_int(type)) return c.sub(c.scalar_like(x, -1), x);
  Value* ones = c.cast(c.i64(-1), type);
  return c.sub(ones, x);
}

Values map_invert_by_sub(MapperContext& c) { return {inverted(c, c.in(0))}; }

DType shifted_as(DType t) {
  switch (t) {
    case DType::i8:
      return DType::u8;
    case DType::i16:
    case DType::i32:
      return DType::u32;
    case DType::i64:
      return DType::u64;
    default:
      return t;
  }
}

// TensorFlow clamps the amount to [0, bits - 1].
Value* shifted(MapperContext& c, Value* x, const char* direction) {
  Value* amount = c.in(1);
  const DType type = x->dtype(), bits = shifted_as(type);
  const auto highest = static_cast<double>(bit_width(type) - 1);
  amount = smaller(c, amount, c.scalar_like(amount, highest));
  if (is_signed_int(type)) amount = larger(c, amount, c.scalar_like(amount, 0));
  Value* raw = c.cast(x, bits);
  Value* by = c.cast(amount, bits);
  return c.cast(c.emit("BitShift", {raw, by}, {{"direction", std::string(direction)}}), type);
}

Values map_left_shift(MapperContext& c) { return {shifted(c, c.in(0), "LEFT")}; }

Values map_right_shift(MapperContext& c) {  // of a negative x: ~(~x >> n), which shifts in ones
  Value* x = c.in(0);
  if (is_unsigned_int(x->dtype())) return {shifted(c, x, "RIGHT")};
  Value* negative = c.less(x, c.scalar_like(x, 0));
  Value* magnitude = c.where(negative, inverted(c, x), x);
  Value* moved = shifted(c, magnitude, "RIGHT");
  return {c.where(negative, inverted(c, moved), moved)};
}

}  // namespace

void register_compare(OpRegistry& r) {
  r.op("Equal").by(map_equal<Texts::by_number>);
  r.op("Equal").since(19).by(map_equal<Texts::plain>);
  r.op("NotEqual").by(map_not_equal<Texts::by_number>);
  r.op("NotEqual").since(19).by(map_not_equal<Texts::plain>);
  r.op("Less").to("Less");
  r.op("LessEqual").by(map_less_equal);
  r.op("Greater").to("Greater");
  r.op("GreaterEqual").by(map_greater_equal);
  r.op("ApproximateEqual").by(map_approximate_equal);
  r.op("LogicalAnd").to("And");
  r.op("LogicalOr").to("Or");
  r.op("LogicalNot").to("Not");
  const std::string table = "below opset 18 by a table, four bits at a time";
  r.op("BitwiseAnd").note(table).to("BitwiseAnd");
  r.op("BitwiseOr").note(table).to("BitwiseOr");
  r.op("BitwiseXor").note(table).to("BitwiseXor");
  r.op("Invert").by(map_invert_by_sub);
  r.op("Invert").since(18).to("BitwiseNot");
  r.op("LeftShift").by(map_left_shift);
  r.op("RightShift").by(map_right_shift);
}

}  // namespace t2o::op_mappers
