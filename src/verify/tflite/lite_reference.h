#pragma once
#include "verify/reference.h"

// LiteRT as the reference of .tflite models.
namespace t2o::verify {

std::unique_ptr<Reference> lite_reference(const tf2onnx::Options&, Ports, const EngineOptions&);

}  // namespace t2o::verify
