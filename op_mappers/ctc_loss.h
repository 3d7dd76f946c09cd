#pragma once
#include "op_mappers/context.h"

namespace t2o::op_mappers {

Values map_ctc_loss(
    MapperContext&);  // CTCLoss, whose blank is the last class, and CTCLossV2, whose blank is the first

}  // namespace t2o::op_mappers
