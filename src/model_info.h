#pragma once
#include "onnx/proto.h"
#include "pipeline.h"

namespace t2o {

onnx::ModelInfo model_info(const Conversion&, const Options&);  // what the file says besides its graph

}  // namespace t2o
