#pragma once
#include <functional>

#include "ir/graph.h"

namespace t2o::op_mappers {

// Whether x holds sums weighted by numbers with full mantissas (a Conv or MatMul with trained weights), possibly after a
// bias, a ReLU or a MaxPool. Every runtime rounds such sums differently, so they lie on a threshold only by chance. Inputs of
// a model may lie on a threshold. Many elements may equal a bound of a Clip on the way: `harmless` returns whether that bound
// lies on no threshold.
bool is_rounded_sum(const Value* x, const std::function<bool(float)>& harmless);

}  // namespace t2o::op_mappers
