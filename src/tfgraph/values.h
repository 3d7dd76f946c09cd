#pragma once
#include <string_view>

#include "ir/graph.h"

// How a value of a TensorFlow graph is computed. The facts depend on the graph alone; no function recurses over its depth.
namespace t2o::tfgraph {

bool is_op(const Value* v, std::string_view op);
bool is_number(const Value* v, std::int64_t n);  // a constant integer of one element
std::int64_t int_attr(const ir::Node&, std::string_view name, std::int64_t fallback = 0);
bool has_same_attrs(const ir::Node&, const ir::Node&);  // files keep them in any order

bool is_identity(const ir::Node&);  // an Identity or an op with the same effect; not IdentityN
Value* through_identities(Value*);  // the value before identities, IdentityN included
const Value* through_identities(const Value*);

// Whether two values are equal because the same moves and shape arithmetic compute them. `steps` limits how many pairs of
// values are compared.
bool computed_alike(const Value*, const Value*, int steps = 64);

}  // namespace t2o::tfgraph
