#pragma once
#include "op_mappers/xla.h"

namespace t2o::op_mappers {

// The coordinates of XlaGather and XlaScatter: [batch..., one for each axis] i64.
struct Coordinates {
  Value* values = nullptr;  // null if there are no axes
  Ints axes;                // axes of the operand
  int batch_rank = 0;
};

// indices: the tensor with the coordinates of `axes` along its axis `vector_axis`. The coordinates of the operand's `own_axes`
// count 0, 1, 2 ... along the axes `batch_axes` of the indices.
Coordinates read_coordinates(MapperContext&, Value* indices, const Ints& axes, std::int64_t vector_axis, const Ints& own_axes, const Ints& batch_axes);

// The coordinates of each element of slices that have these sizes along the coordinates' axes: [batch..., windows..., one for
// each axis]. `windows`: the axes that keep an axis of their own in the result. runtime: the sizes as a value, [axes] i64, if
// some are unknown.
Value* with_windows(MapperContext&, const Coordinates&, const Ints& sizes, Value* runtime, const std::vector<bool>& windows);

}  // namespace t2o::op_mappers
