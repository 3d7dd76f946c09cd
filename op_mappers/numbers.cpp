#include "op_mappers/numbers.h"

#include <cmath>
#include <limits>

namespace t2o::op_mappers {

Value* zero_of(Emitter& c, DType type) {
  if (type == DType::string)
    return c.constant(std::make_shared<Tensor>(Ints{}, std::vector<std::string>{""}));
  return c.scalar(type, 0);
}

// The addend is the number below 0.5: 0.49999997 + 0.5 would be 1.
Value* round_away(Emitter& e, Value* x) {
  Value* half = e.constant(std::nextafter(0.5F, 0.0F));
  Value* size = e.add(e.abs(x), half);
  Value* sign = e.sign(x);
  return e.mul(sign, e.floor(size));
}

Value* with_ones_before(Emitter& c, Value* dims, Value* length) {
  Value* missing = c.sub(length, c.size_of(dims));
  Value* ones = c.expand(c.i64(1), c.unsqueeze(missing, {0}));
  return c.concat({ones, dims}, 0);
}

bool is_half(DType t) { return t == DType::f16 || t == DType::bf16; }

Value* head(Emitter& c, Value* x, Value* count, std::int64_t axis) {
  Value* zero = c.ints({0});
  Value* along = c.ints({axis});
  return c.slice(x, zero, count, along);
}

Value* after(Emitter& c, Value* x, Value* first, std::int64_t axis) {
  Value* end = c.ints({std::numeric_limits<std::int64_t>::max()});
  Value* along = c.ints({axis});
  return c.slice(x, first, end, along);
}

Value* as_vector(Emitter& c, Value* scalar) { return c.reshape(c.cast(scalar, DType::i64), {1}); }

Value* iota(Emitter& c, Value* count) {
  Value* zero = c.i64(0);
  Value* one = c.i64(1);
  return c.range(zero, count, one);
}

Value* highest(Emitter& c, DType t) {
  switch (t) {
    case DType::f16:
      return c.scalar(t, 65504);
    case DType::bf16:
      return c.scalar(t, 0x1.FEp127);
    case DType::f32:
      return c.constant(std::numeric_limits<float>::max());
    case DType::f64:
      return c.constant(std::numeric_limits<double>::max());
    case DType::i64:
      return c.i64(std::numeric_limits<std::int64_t>::max());
    case DType::u64:
      return c.constant(std::numeric_limits<std::uint64_t>::max());
    default:
      return c.scalar(t, std::numeric_limits<double>::max());
  }
}

Value* lowest(Emitter& c, DType t) {
  switch (t) {
    case DType::f16:
      return c.scalar(t, -65504);
    case DType::bf16:
      return c.scalar(t, -0x1.FEp127);
    case DType::f32:
      return c.constant(std::numeric_limits<float>::lowest());
    case DType::f64:
      return c.constant(std::numeric_limits<double>::lowest());
    case DType::i64:
      return c.i64(std::numeric_limits<std::int64_t>::lowest());
    case DType::u64:
      return c.constant(std::uint64_t{0});
    default:
      return c.scalar(t, std::numeric_limits<double>::lowest());
  }
}

}  // namespace t2o::op_mappers
