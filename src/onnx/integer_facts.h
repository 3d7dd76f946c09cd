#pragma once
#include "ir/graph.h"

// What is known of the elements of an integer value of an ONNX graph. For values that are no integers all answers are false.
namespace t2o::onnx {

// Whether the elements are sizes, also moved or combined with each other and with constants. Their product is a size too.
bool is_made_of_sizes(const Value* x);  // false for a constant
bool are_flags(const Value* x);         // all elements are -1, 0 or 1
bool has_few_bits(const Value* x);      // all elements lie within +-2^32
bool fits_i32(const Value* x);          // all elements are known to fit into an i32, like sizes, indices and counts
int bits_of(const Tensor&);     // how many bits its numbers have beside the sign

}  // namespace t2o::onnx
