#pragma once
#include "op_mappers/context.h"

namespace t2o::op_mappers {

// Where uniform numbers in [0, 1) and normal ones of a type come from, for 1-D dims. The node's seeds are theirs.
struct RandomSource {
  Value* (*uniform)(MapperContext&, Value* dims, DType);
  Value* (*normal)(MapperContext&, Value* dims, DType);
};
extern const RandomSource kRandomOperators;  // ONNX's own operators
extern const RandomSource kRandomBits;       // for a runtime that has no kernel for those: the mask of a Dropout in training mode

std::uint64_t seed_of(MapperContext&);
bool is_seeded(MapperContext&);
Value* with_axis(MapperContext&, std::int64_t size, Value* dims);  // another first axis

}  // namespace t2o::op_mappers
