#pragma once
#include <functional>
#include <string>

#include "op_mappers/registry.h"
#include "op_mappers/segments.h"

// With AVX, ONNX Runtime's Max and Min, and most of its ReduceMax and ReduceMin, compare only the lower 32 bits of an i64. Their
// results are wrong for numbers beyond 2^31. Sizes are smaller. For other tensors use these functions.
namespace t2o::op_mappers {

Value* larger(Emitter&, Value* a, Value* b);
Value* smaller(Emitter&, Value* a, Value* b);
// ReduceMax or ReduceMin of an i64 by ArgMax or ArgMin, which compare all bits. If the rank of x is unknown, the axes
// must count from the front and must not be empty.
Value* reduced_wide(Emitter&, const std::string& op, Value* x, const Ints& axes, bool keep_dims);

// A sum of integers that wraps around, as in TensorFlow. ONNX Runtime sums in doubles, which saturate, and round beyond 2^53.
// `sum` emits the sum of an i64. For other types the result is `sum` unchanged.
Value* wrapping_sum(Emitter&, Value* x, const std::function<Value*(Value* x)>& sum);
// A product that wraps around, over these axes of an i64 of known rank.
Value* wrapping_product(Emitter&, By, Value* x, Ints axes, bool keep_dims);
// A power that wraps around, of i64; exponents must not be negative.
Value* wrapping_power(Emitter&, Value* base, Value* exponent);
// Whether the elements are sizes, also moved or combined with each other and with constants. Their product is a size too.
bool is_made_of_sizes(const Value* x);  // false for a constant
bool are_flags(const Value* x);  // all elements are 0 or 1
// Whether all elements of an i64 are known to fit into 32 bits, like sizes, indices and counts.
bool has_few_bits(const Value* x);

}  // namespace t2o::op_mappers
