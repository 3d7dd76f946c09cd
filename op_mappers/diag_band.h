#pragma once
#include "op_mappers/context.h"

// Bands of diagonals, k = (lower, upper). A single k is a band of one diagonal. k may be known only at run time.
namespace t2o::op_mappers {

Value* band_to_matrix(MapperContext&);    // MatrixDiagV2, V3
Value* band_of_matrix(MapperContext&);    // MatrixDiagPartV2, V3
Value* matrix_with_band(MapperContext&);  // MatrixSetDiagV2, V3

}  // namespace t2o::op_mappers
