#pragma once
#include <functional>
#include <string>

#include "op_mappers/registry.h"
#include "op_mappers/segments.h"

// Max, Min and most of ReduceMax and ReduceMin of ONNX Runtime compare only the lower 32 bits of an i64 with AVX: numbers beyond
// 2^31 come out wrong. Shapes are smaller; tensors of the model take these.
namespace t2o::op_mappers {

Value* larger(Emitter&, Value* a, Value* b);
Value* smaller(Emitter&, Value* a, Value* b);
// ReduceMax or ReduceMin of an i64 by ArgMax or ArgMin, which compare all bits. Without a rank the axes
// count from the front and are not empty.
Value* reduced_wide(Emitter&, const std::string& op, Value* x, const Ints& axes, bool keep_dims);

// A sum of integers that wraps around, as TensorFlow's do. ONNX Runtime's are sums of doubles: they saturate, and are rounded
// beyond 2^53. sum: the sum of an i64. Of numbers that are not integers it is that sum as it is.
Value* wrapping_sum(Emitter&, Value* x, const std::function<Value*(Value* x)>& sum);
// Likewise a product over these axes of an i64 of known rank.
Value* wrapping_product(Emitter&, By, Value* x, Ints axes, bool keep_dims);
// Likewise a power of i64, the exponents not negative.
Value* wrapping_power(Emitter&, Value* base, Value* exponent);
// Whether the numbers are sizes, moved or combined with each other and with constants: their product is a size too.
bool is_made_of_sizes(const Value* x);  // no constant
bool are_flags(const Value* x);  // 0 and 1
// Whether all numbers of an i64 are known to have 32 bits at most, as sizes, places and what counts have.
bool has_few_bits(const Value* x);

}  // namespace t2o::op_mappers
