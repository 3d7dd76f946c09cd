#pragma once
#include <optional>

#include "ir/graph.h"
#include "onnx/numbers.h"

// What is known of the values of an ONNX graph. Facts follow from the operators (number_rules.cpp has a row for each) and from
// constants. They hold for all inputs that the model can be given, NaN and infinities included, unless the comment says otherwise.
// A fact is found when it is first asked for, and kept until the graph changes.
namespace t2o::onnx {

// ---- the elements. A value whose elements are no real numbers (strings, complex numbers) may hold anything.
Numbers numbers_of(const Value*);               // looks at small constants alone
Numbers numbers_with_weights(const Value*);     // looks at weights too, if what they meet is bounded
bool is_finite(const Value*);                          // no element is NaN or infinite; looks at weights too
bool is_never_negative(const Value*);                  // no element is below zero; NaN comes from NaN and infinities alone
std::optional<double> uniform_number(const Value*);    // of floats: the number that all elements are
bool are_flags(const Value*);                          // integers: all elements are -1, 0 or 1
bool has_few_bits(const Value*);                       // integers: all elements lie within +-2^32
bool fits_i32(const Value*);                           // integers that fit into an i32, like sizes, indices and counts
// Integers that are sizes, moved or combined with each other and with constants of at most 24 bits. Their product counts as a size
// (docs/fidelity.md). False for a constant.
bool is_made_of_sizes(const Value*);
double magnitude_of(const Value*);                     // infinity: it may be any, or NaN; looks at weights too
// The magnitude of constant weights in f32. Infinity if it is unknown or beyond 1e30, where rounding may lead out of f32.
double largest(const Value* weights);

// ---- their origin
bool is_fed(const Value*);  // some are those of an input, moved at most

// ---- their number
// Whether the sizes of the value may be computed from data, as those of NonZero's result: such a size may be 0. The sizes of the
// graph's inputs, and what is computed from them, count as 1 or more (docs/fidelity.md). An element count that is known answers too.
bool has_dims_of_data(const Value*);
bool may_be_empty(const Value*, bool strict);  // strict: the sizes of the inputs may be 0
bool has_size(const Value*, int axis);         // this axis is not 0 wherever ONNX Runtime, which refuses some empty images, runs on

}  // namespace t2o::onnx
