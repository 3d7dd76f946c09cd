#pragma once
#include <functional>

#include "ir/graph.h"

namespace t2o::op_mappers {

// True when x holds sums weighted by numbers with full mantissas (a Conv or MatMul by trained weights), or what a bias,
// a ReLU or a MaxPool leaves of them. Every runtime rounds such sums in its own way: whether one of them falls on this
// or on that side of a threshold an ulp away is chance already, while inputs of the model may well lie on one.
// `harmless` tells of a bound of a Clip on the way, a value that many elements have, that it is on no threshold.
bool is_rounded_sum(const Value* x, const std::function<bool(float)>& harmless);

}  // namespace t2o::op_mappers
