#pragma once
#include <string_view>

#include "ir/graph.h"

// What a value of a TensorFlow graph is made by. Facts depend on the graph alone; none recurses over its depth.
namespace t2o::tfgraph {

bool is_op(const Value* v, std::string_view op);
bool is_number(const Value* v, std::int64_t n);  // a constant integer of one element
std::int64_t int_attr(const ir::Node&, std::string_view name, std::int64_t fallback = 0);
bool has_same_attrs(const ir::Node&, const ir::Node&);  // files keep them in any order

bool is_identity(const ir::Node&);  // or something as harmless; not IdentityN
Value* through_identities(Value*);  // what they hand on, and IdentityN
const Value* through_identities(const Value*);

// The same by the way they are made, of moves and of the arithmetic on shapes. `steps` bounds how many pairs of
// values are compared.
bool computed_alike(const Value*, const Value*, int steps = 64);

}  // namespace t2o::tfgraph
