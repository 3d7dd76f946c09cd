#include "op_mappers/wide_integers.h"

#include "op_mappers/loop.h"
#include "op_mappers/meaning.h"

namespace t2o::op_mappers {
namespace {

constexpr int kWide = 64;

Value* is_odd(Emitter& e, Value* x) {
  Value* rest = e.mod(x, e.i64(2));
  return e.equal(rest, e.i64(1));
}

constexpr int kMostUnrolled = 6;  // bits of a constant exponent; more are counted when the model runs

// How many bits the highest of the exponents has above its lowest: as many as there are 2^k - 1 below it.
Value* higher_bits(Emitter& e, Value* exponent) {
  Ints below;
  for (int k = 1; k < 63; ++k) below.push_back((std::int64_t{1} << k) - 1);
  Value* all = e.reshape(exponent, {-1});
  Value* highest = all_bits(e, e.reduce("ReduceMax", all, Ints{0}, true), all);
  return e.reduce("ReduceSum", e.cast(e.greater(highest, e.ints(below)), DType::i64), Ints{0}, false);
}

}  // namespace

Value* all_bits(Emitter& e, Value* y, const Value* x) {
  const bool counts = y != x && y->dtype() == DType::i64 && !onnx::fits_i32(x);
  return counts ? meaning(e, y, onnx::kBits, onnx::kAll) : y;
}

Value* exact_product(Emitter& e, Value* y, const Value* x) {
  return y != x && y->dtype() == DType::i64 ? meaning(e, y, onnx::kBits, onnx::kAll) : y;
}

Value* wrapping_sum(Emitter& e, Value* x, const std::function<Value*(Value*)>& sum) {
  if (!is_int(x->dtype())) return sum(x);
  Value* wide = e.cast(x, DType::i64);
  return e.cast_like(all_bits(e, sum(wide), wide), x);
}

Value* larger(Emitter& e, Value* a, Value* b) {
  return all_bits(e, e.maximum(a, b), onnx::fits_i32(a) ? b : a);
}
Value* smaller(Emitter& e, Value* a, Value* b) {
  return all_bits(e, e.minimum(a, b), onnx::fits_i32(a) ? b : a);
}

// Of each bit of the exponent that is set, the base squared as often as bits are below it.
Value* wrapping_power(Emitter& e, Value* base, Value* exponent) {
  const auto next = [](Emitter& in, const Values& state) -> Values {
    Value* square = in.mul(state[1], state[1]);
    Value* rest = in.div(state[2], in.i64(2));
    Value* product = in.mul(state[0], square);
    return {in.where(is_odd(in, rest), product, state[0]), square, rest};
  };
  Value* lowest_bit = is_odd(e, exponent);
  Values state{e.where(lowest_bit, base, e.i64(1)), base, exponent};
  const int bits = exponent->constant() ? std::ilogb(onnx::numbers_of(exponent).high) + 1 : kWide;
  if (bits > kMostUnrolled)
    return counted_loop(e, higher_bits(e, exponent), state,
                        [&](Emitter& in, Value*, const Values& now) { return next(in, now); })[0];
  for (int k = 1; k < bits; ++k) state = next(e, state);
  return state[0];
}

}  // namespace t2o::op_mappers
