#pragma once
#include <optional>

#include "tflite/lowering.h"

namespace t2o::tflite {

// Which signature the options choose: its number. None: the model has no signatures, or the options name its tensors alone.
std::optional<std::size_t> choose_signature(const Model&, const tf2onnx::Options&);

// The part of the model that the options choose. Adds what is wrong with them to the diagnostics.
Request make_request(const Model&, std::optional<std::size_t> signature, const tf2onnx::Options&, Diagnostics&);

}  // namespace t2o::tflite
