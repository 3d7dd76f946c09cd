#include "op_mappers/numbers.h"

#include <cmath>
#include <limits>

namespace t2o::op_mappers {

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

}  // namespace t2o::op_mappers
