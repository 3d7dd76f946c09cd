#pragma once
#include "onnx/proto.h"
#include "pipeline.h"
#include "tf/source.h"

namespace t2o {

std::string describe(const tf::Source&);                             // "saved_model, signature serving_default, TensorFlow 2.21.0"
onnx::ModelInfo model_info(const Conversion&, const Options&);  // what the file says besides its graph

}  // namespace t2o
