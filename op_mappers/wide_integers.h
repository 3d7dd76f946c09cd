#pragma once
#include <functional>
#include <string>

#include "onnx/facts.h"
#include "op_mappers/registry.h"
#include "op_mappers/segments.h"

// Integers of 64 bits, which wrap around in TensorFlow.
namespace t2o::op_mappers {

using onnx::are_flags;
using onnx::has_few_bits;
using onnx::is_made_of_sizes;

// A power that wraps around, of i64; exponents must not be negative.
Value* wrapping_power(Emitter&, Value* base, Value* exponent);
// Max, Min and the sum of integers, of which all bits count. `sum` emits a ReduceSum of an i64; for other types the result is
// `sum` unchanged.
Value* larger(Emitter&, Value* a, Value* b);
Value* smaller(Emitter&, Value* a, Value* b);
Value* wrapping_sum(Emitter&, Value* x, const std::function<Value*(Value* x)>& sum);
// States of the node that has just computed y from x, both of i64, that all bits count, unless x is known to be small. Returns y.
Value* all_bits(Emitter&, Value* y, const Value* x);
Value* exact_product(Emitter&, Value* y, const Value* x);  // the same of a ReduceProd, however small the numbers are

}  // namespace t2o::op_mappers
