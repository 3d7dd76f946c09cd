#pragma once
#include "engines/onnxruntime.h"
#include "verify/inputs.h"
#include "verify/verify.h"

namespace t2o::verify {

// Walks through the tensors that both models have, in the order of execution, to the first that differs. ONNX
// values keep the names of the TensorFlow tensors that they stand for. Throws ConversionError when one of the
// models cannot be run that way.
Divergence bisect(const VerifyOptions& options, const engines::Feeds& onnx_feeds,
                  const std::vector<TensorPtr>& inputs);

}  // namespace t2o::verify
