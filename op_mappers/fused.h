#pragma once
#include "op_mappers/context.h"

namespace t2o::op_mappers {

// y + bias along the channels. A channels-first y may have any rank.
Value* add_bias(MapperContext&, Value* y, Value* bias, Layout);

// Applies the ops that grappler fused into a convolution or a MatMul (attribute fused_ops) to its result y. Their other
// inputs are the node's inputs from first_argument on.
Value* apply_fused_ops(MapperContext&, Value* y, std::size_t first_argument, Layout);

}  // namespace t2o::op_mappers
