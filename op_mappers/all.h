#pragma once
#include "op_mappers/registry.h"

// One function for each family file; all.cpp lists them.
namespace t2o::op_mappers {

void register_elementwise(OpRegistry&);    // unary and binary arithmetic, comparison, logic, casts, activations
void register_reduction(OpRegistry&);
void register_matmul(OpRegistry&);
void register_conv(OpRegistry&);
void register_pool(OpRegistry&);
void register_norm(OpRegistry&);
void register_softmax(OpRegistry&);
void register_shape(OpRegistry&);          // Shape, Reshape, ExpandDims, Squeeze, Transpose, BroadcastTo, Identity ...
void register_slice(OpRegistry&);          // Slice, StridedSlice, Split, Unpack, Reverse
void register_gather(OpRegistry&);         // Gather*, Scatter*, OneHot, Where, boolean masks
void register_join(OpRegistry&);           // Concat, Pack, Pad, Tile, space/depth, batch/space
void register_resize(OpRegistry&);
void register_select(OpRegistry&);         // Select, SelectV2, Where, TopK, ArgMax ...
void register_generate(OpRegistry&);       // Range, Fill, ZerosLike, LinSpace, random

}  // namespace t2o::op_mappers
