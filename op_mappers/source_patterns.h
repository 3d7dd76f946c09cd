#pragma once
#include "op_mappers/context.h"

// What TensorFlow's Python writes for a default argument when it does not know a rank.
namespace t2o::op_mappers {

bool is_all_axes(const ir::Value* axes,
                 const ir::Value* of);  // range(0, rank(of)): the default axes of a reduction
bool is_reversed_axes(const ir::Value* perm,
                      const ir::Value* of);  // rank(of) - 1 - range(0, rank(of)): the default perm

}  // namespace t2o::op_mappers
