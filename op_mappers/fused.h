#pragma once
#include "op_mappers/context.h"

namespace t2o::op_mappers {

// y + bias along the channels; a channels-first y may have any rank.
Value* add_bias(MapperContext&, Value* y, Value* bias, Layout);

// What grappler fused behind a convolution or a MatMul: the attribute fused_ops over y and the inputs from
// first_argument on.
Value* apply_fused_ops(MapperContext&, Value* y, std::size_t first_argument, Layout);

}  // namespace t2o::op_mappers
