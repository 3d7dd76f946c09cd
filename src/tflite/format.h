#pragma once
#include <vector>

#include "formats/operators.h"
#include "formats/source.h"

// TensorFlow Lite's files behind the front door.
namespace t2o::tflite {

bool reads(const tf2onnx::Options&);
std::string file_of(const tf2onnx::Options&);
SourcePtr open(const tf2onnx::Options&);
SourcePtr open_bytes(const tf2onnx::Options&, Bytes, Owner);
std::vector<FormatOp> operators();

}  // namespace t2o::tflite
