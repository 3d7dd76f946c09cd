#pragma once
#include "op_mappers/context.h"

// Patterns that TensorFlow's Python code writes if a rank or a size is unknown.
namespace t2o::op_mappers {

bool is_all_axes(const ir::Value* axes,
                 const ir::Value* of);  // range(0, rank(of)): the default axes of a reduction
bool is_reversed_axes(const ir::Value* perm,
                      const ir::Value* of);  // rank(of) - 1 - range(0, rank(of)): the default perm
// shape(image)[1:3] * factors: the size of an image enlarged by integer factors.
std::optional<Ints> factors_of_size(const ir::Value* size, const ir::Value* image);

}  // namespace t2o::op_mappers
