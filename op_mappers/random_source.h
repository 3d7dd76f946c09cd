#pragma once
#include "op_mappers/context.h"

namespace t2o::op_mappers {

// Emits uniform random numbers in [0, 1) or normal ones, for 1-D dims. They use the seeds of the node.
struct RandomSource {
  Value* (*uniform)(MapperContext&, Value* dims, DType);
  Value* (*normal)(MapperContext&, Value* dims, DType);
};
extern const RandomSource kRandomOperators;  // ONNX's own operators
extern const RandomSource kRandomBits;       // for a target without kernels for them: uses the mask of a Dropout in training mode
const RandomSource& random_source(const MapperContext&);  // the one of these that the target has kernels for

std::uint64_t seed_of(MapperContext&);
bool is_seeded(MapperContext&);
Value* with_axis(MapperContext&, std::int64_t size, Value* dims);  // another first axis

}  // namespace t2o::op_mappers
