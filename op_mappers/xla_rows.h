#pragma once
#include "op_mappers/registry.h"

namespace t2o::op_mappers {

void register_xla_dot(OpRegistry&);      // XlaDot, XlaConv
void register_xla_gather(OpRegistry&);   // XlaGather, XlaDynamicSlice ...
void register_xla_scatter(OpRegistry&);
void register_xla_reduce(OpRegistry&);   // XlaReduce, XlaReduceWindow ...
void register_xla_sort(OpRegistry&);
void register_xla_misc(OpRegistry&);     // XlaPad, XlaSharding ...

}  // namespace t2o::op_mappers
