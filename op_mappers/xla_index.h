#pragma once
#include "op_mappers/xla.h"

namespace t2o::op_mappers {

// The coordinates of XlaGather and XlaScatter: [batch..., one for each axis] i64.
struct Coordinates {
  Value* values = nullptr;  // null: no axis has one
  Ints axes;                // of the operand
  int batch_rank = 0;
};

// indices: the tensor with the coordinates of `axes` along its axis `vector_axis`; those of the operand's `own_axes` count along the axes
// `batch_axes` of the indices.
Coordinates read_coordinates(MapperContext&, Value* indices, const Ints& axes, std::int64_t vector_axis, const Ints& own_axes, const Ints& batch_axes);

// Of slices of these sizes along the coordinates' axes: the coordinates of each element, [batch..., windows..., one for each axis]. The axes of
// `windows` are those that keep an axis of their own. runtime: the sizes, [axes] i64, of which some may not be known.
Value* with_windows(MapperContext&, const Coordinates&, const Ints& sizes, Value* runtime, const std::vector<bool>& windows);

}  // namespace t2o::op_mappers
