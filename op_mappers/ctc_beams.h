#pragma once
#include "op_mappers/context.h"

namespace t2o::op_mappers {

Values map_beam_decoder(MapperContext&);  // CTCBeamSearchDecoder

// Moves the kept labels of each row of [batch, positions] together: {indices, values, shape} of a sparse matrix.
Values sparse_labels(MapperContext&, Value* labels, Value* keep);

}  // namespace t2o::op_mappers
