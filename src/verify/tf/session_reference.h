#pragma once
#include "ir/graph.h"
#include "verify/reference.h"

// TensorFlow as a reference, through its C API.
namespace t2o::verify {

std::unique_ptr<Reference> tf_reference(const tf2onnx::Options&, Ports, const EngineOptions&);
std::unique_ptr<Intermediates> tf_intermediates(const ir::Graph& prepared, const std::vector<TensorPtr>& inputs,
                                                const EngineOptions&);

}  // namespace t2o::verify
